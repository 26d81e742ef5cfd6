"""Words of right-to-left writing: their letters and their runs in reading order.

pdfium gives the letters of a right-to-left line in reading order, but parts of addresses (`example.port@info`) and
brackets come out reversed. The places of the words tell the order.
"""

import re
from collections.abc import Sequence

from analytiq.ingestion.parsing.pdf_layout.model import Word
from analytiq.ingestion.parsing.pdf_layout.rows import CHUNK_BLANK, rows_of

LEAST_SHARE = 0.05
"""Least share of right-to-left letters in a page that is arranged by this module."""
TOUCHING = 0.12
"""Widest blank inside of a word, in heights of letters."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LATIN = re.compile(r"[^\W\d_]")
_ALL_BRACKETS = "()[]{}"
_TO_OPENING, _TO_CLOSING = str.maketrans(")]}", "([{"), str.maketrans("([{", ")]}")
_SIGNS_AT_END = ".,:;!?\u061f\u060c\u061b"


def is_right_to_left(text: str) -> bool:
    """Return True if the text has a letter of a right-to-left script."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def share_of(words: Sequence[Word]) -> tuple[float, bool]:
    """Return the share of right-to-left letters, and True if they are most of all letters."""
    letters = right = 0
    for word in words:
        is_right = is_right_to_left(word.text)
        count = sum(map(str.isalpha, word.text))
        letters += count
        right += count if is_right else 0
    return right / max(letters, 1), right > 0.5 * letters


def arranged(words: Sequence[Word], *, is_mirrored: bool) -> list[Word]:
    """Return the words of a page with the runs of each line in reading order.

    Words of the other direction that stand together become one word with blanks. On a mirrored page, these are the
    Latin ones; else the right-to-left ones.
    """
    rows = rows_of(words)
    joined = (word for row in rows for word in _joined_runs(row, is_mirrored=is_mirrored))
    return [_with_brackets(word) if is_mirrored or is_right_to_left(word.text) else word for word in joined]


def _with_brackets(word: Word) -> Word:
    """Set the brackets at a word's ends by their place: pdfium mirrors those beside right-to-left letters alone."""
    text = word.text
    first = len(text) - len(text.lstrip(_ALL_BRACKETS))
    last = len(text.rstrip(_SIGNS_AT_END))
    begin = len(text[:last].rstrip(_ALL_BRACKETS))
    if first < begin:
        word.text = text[:first].translate(_TO_OPENING) + text[first:begin] + text[begin:].translate(_TO_CLOSING)
    return word


def _joined_runs(row: Sequence[Word], *, is_mirrored: bool) -> list[Word]:
    """Join the words of a line that touch, and those of the other direction, which run against the line."""
    out: list[Word] = []
    run: list[Word] = []
    for word in row:
        if run and not _goes_on(run, word, is_mirrored=is_mirrored):
            out += _closed(run, is_mirrored=is_mirrored)
            run = []
        run.append(word)
    return out + _closed(run, is_mirrored=is_mirrored)


def _goes_on(run: Sequence[Word], word: Word, *, is_mirrored: bool) -> bool:
    last = run[-1]
    blank = word.x0 - last.x1
    if blank < TOUCHING * word.size:
        return True
    if blank > CHUNK_BLANK * word.size:
        return False
    against = _runs_against(word, is_mirrored=is_mirrored)
    return against and any(_runs_against(other, is_mirrored=is_mirrored) for other in run[-2:])


def _runs_against(word: Word, *, is_mirrored: bool) -> bool:
    """Return True for a word of the direction that the line has not; numbers and signs follow the line."""
    if is_right_to_left(word.text):
        return not is_mirrored
    return is_mirrored and _LATIN.search(word.text) is not None


def _closed(run: list[Word], *, is_mirrored: bool) -> list[Word]:
    if len(run) < 2:
        return run
    parts = _in_reading_order(run, is_mirrored=is_mirrored)
    text = ""
    for index, word in enumerate(parts):
        before = parts[index - 1] if index else word
        text += word.text if not index or _is_one_word(before, word) else f" {word.text}"
    first = run[0]
    first.text = text
    for word in run[1:]:
        first.x0, first.x1 = min(first.x0, word.x0), max(first.x1, word.x1)
        first.y0, first.y1 = min(first.y0, word.y0), max(first.y1, word.y1)
    return [first]


def _is_one_word(before: Word, word: Word) -> bool:
    """Return True for parts that touch, unless they are letters of two scripts: their blank has no width."""
    blank = max(word.x0, before.x0) - min(word.x1, before.x1)
    scripts = {is_right_to_left(part.text) for part in (before, word) if _LATIN.search(part.text)}
    return blank < TOUCHING * word.size and len(scripts) < 2


def _in_reading_order(run: Sequence[Word], *, is_mirrored: bool) -> list[Word]:
    """Turn the parts of a run that go against the line, signs at their ends excepted."""
    out: list[Word] = []
    turned: list[Word] = []
    for word in run:
        if is_right_to_left(word.text) == is_mirrored:
            out += _turned(turned)
            out.append(word)
            turned = []
        else:
            turned.append(word)
    return out + _turned(turned)


def _turned(words: list[Word]) -> list[Word]:
    begin, end = 0, len(words)
    while begin < end and not any(map(str.isalnum, words[begin].text)):
        begin += 1
    while end > begin and not any(map(str.isalnum, words[end - 1].text)):
        end -= 1
    return words[:begin] + words[begin:end][::-1] + words[end:]
