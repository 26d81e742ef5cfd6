"""The lines of a page that its laid out text lacks, by pdfium's own text of the page."""

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from analytiq.ingestion.parsing.completeness import lost_words, squeezed
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedPage

_WORD = re.compile(r"[^\W_]+")
_LINE_HYPHEN = re.compile("[-\u00ad\u2010]\r?\n|[\x02\ufffe](?:\r?\n)?")
_HALVES = re.compile(f"(?<![^\\W_])([^\\W_]++)(?:{_LINE_HYPHEN.pattern})([^\\W_]++)")
MOST_SEARCHED = 200
"""Most words of a page that are searched for inside of others: a search takes as long as the text."""


def with_lost_lines(page: ParsedPage, raw: str, hidden: Sequence[str]) -> tuple[ParsedPage, int]:
    """Add the lines whose words the page lacks at its end, and return the number of those words.

    Args:
        page: the page as laid out.
        raw: all of its characters in the file's order.
        hidden: its words that no reader sees.
    """
    normal = unicodedata.normalize("NFKC", raw)
    source = _LINE_HYPHEN.sub("", normal)
    lost = lost_words([source], [page.text, *hidden])
    if lost:
        _drop_parted_otherwise(lost, page.text, hidden)
    if lost:
        _drop_halved(lost, normal, squeezed(page.text))
    if not lost:
        return page, 0
    count = lost.total()
    builder = TextBuilder()
    builder.include(page)
    for line in _lines_with(source, lost):
        builder.paragraph(line)
    return builder.page(page.page_number, name=page.name, source=page.source), count


def _drop_parted_otherwise(lost: Counter[str], text: str, hidden: Sequence[str]) -> None:
    """Drop words that the page holds inside of others, or in pieces: letters set apart, hyphens, raised digits."""
    # Symbols of private use and Greek or Arabic forms differ between the readers of one glyph.
    letters = Counter(squeezed("".join([text, *hidden])))
    whole = squeezed("".join([text, *hidden]))
    for number, word in enumerate(list(lost)):
        is_in_others = number < MOST_SEARCHED and word in whole
        if (
            is_in_others
            or (len(word) <= 2 and all(word.count(letter) <= letters[letter] for letter in word))
            or not word.isprintable()
        ):
            del lost[word]


def _drop_halved(lost: Counter[str], raw: str, text: str) -> None:
    """Drop words of which the end of a column or page keeps the halves apart."""
    in_halves = (halves for halves in _HALVES.finditer(raw) if lost[halves[1] + halves[2]])
    for halves in itertools.islice(in_halves, MOST_SEARCHED):
        if halves[1] in text and halves[2] in text:
            del lost[halves[1] + halves[2]]


def _lines_with(source: str, lost: Counter[str]) -> Iterator[str]:
    for line in source.splitlines():
        words = [word for word in _WORD.findall(line) if lost[word] > 0]
        if words:
            lost.subtract(words)
            yield line
