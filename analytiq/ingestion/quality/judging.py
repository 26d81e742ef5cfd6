"""The judgement of pages: the flaws of their text."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from analytiq.ingestion.quality.machine_text import machine_ranges
from analytiq.ingestion.quality.misdecoded import misdecoded
from analytiq.ingestion.quality.noise import NoiseJudge, reads
from analytiq.ingestion.quality.stretches import stretches
from analytiq.ingestion.quality.visual_order import order_signs, reversed_among
from analytiq.models.blocks import BlockKind
from analytiq.models.flaws import Flaw, FlawKind
from analytiq.models.text import ParsedDocument, ParsedPage, TextSource

_PARAGRAPH = re.compile(r"[^\n]+(?:\n[^\n]+)*")


def judged(document: ParsedDocument) -> ParsedDocument:
    """Return the document with the flaws of its pages."""
    return replace(document, pages=tuple(replace(page, flaws=flaws_of(page)) for page in document.pages))


def flaws_of(page: ParsedPage) -> tuple[Flaw, ...]:
    """Return the flaws of a page, in order and without overlap; ranges of its text."""
    if not page.text.strip():
        is_unread = page.source is not TextSource.EMBEDDED
        return (Flaw(FlawKind.NOT_READ, 0, 0),) if is_unread else page.flaws
    machine = machine_ranges(page.text)
    found = [Flaw(FlawKind.MACHINE_TEXT, one.start, one.end, one.reason) for one in machine]
    # Patterns, escapes and tables of code read as noise, and are what the file means to say.
    left_out = [(one.start, one.end) for one in machine]
    left_out += [(block.start, block.end) for block in page.blocks if block.kind is BlockKind.CODE]
    parts = [*_outside(stretches(page.text), sorted(left_out))]
    found += _joined([*_unreadable(page.text, parts)])
    return tuple(_apart(sorted(found, key=lambda flaw: (flaw.start, flaw.end))))


def _unreadable(text: str, parts: Sequence[tuple[int, int]]) -> Iterator[Flaw]:
    noise = NoiseJudge()
    reversed_parts = reversed_among([order_signs(text[start:end]) for start, end in parts])
    for (start, end), is_reversed in zip(parts, reversed_parts, strict=True):
        stretch = text[start:end]
        if (reason := misdecoded(stretch)) is not None:
            yield _narrowed(text, Flaw(FlawKind.MISDECODED, start, end, reason), str.isascii)
        elif is_reversed:
            yield Flaw(FlawKind.VISUAL_ORDER, start, end)
        elif (reason := noise.judge(stretch)) is not None:
            yield _narrowed(text, Flaw(FlawKind.NOISE, start, end, reason), reads)


def _narrowed(text: str, flaw: Flaw, is_sound: Callable[[str], bool]) -> Flaw:
    """Return a flaw without the sound paragraphs at its ends: short ones are judged together with the next one."""
    paragraphs = [(flaw.start + one.start(), flaw.start + one.end()) for one in _paragraphs(text, flaw)]
    flawed = [(start, end) for start, end in paragraphs if not is_sound(text[start:end])]
    if not flawed or len(flawed) == len(paragraphs):
        return flaw
    start = flaw.start if flawed[0] == paragraphs[0] else flawed[0][0]
    return replace(flaw, start=start, end=flaw.end if flawed[-1] == paragraphs[-1] else flawed[-1][1])


def _paragraphs(text: str, flaw: Flaw) -> Iterator[re.Match[str]]:
    return _PARAGRAPH.finditer(text[flaw.start : flaw.end])


def _outside(parts: Iterable[tuple[int, int]], left_out: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of which less than half lies in the ranges to leave out, which are in order."""
    first = 0
    for start, end in parts:
        while first < len(left_out) and left_out[first][1] <= start:
            first += 1
        covered, index = 0, first
        while index < len(left_out) and left_out[index][0] < end:
            covered += min(end, left_out[index][1]) - max(start, left_out[index][0])
            index += 1
        if 2 * covered < end - start:
            yield start, end


def _joined(flaws: Sequence[Flaw]) -> list[Flaw]:
    """Join neighbours of one kind."""
    joined: list[Flaw] = []
    for flaw in flaws:
        if joined and joined[-1].kind is flaw.kind and joined[-1].end == flaw.start:
            joined[-1] = replace(joined[-1], end=flaw.end)
        else:
            joined.append(flaw)
    return joined


def _apart(flaws: Sequence[Flaw]) -> Iterator[Flaw]:
    """Cut each flaw short at the beginning of the next."""
    for index, flaw in enumerate(flaws):
        end = min(flaw.end, flaws[index + 1].start) if index + 1 < len(flaws) else flaw.end
        if end > flaw.start:
            yield replace(flaw, end=end)
