"""OCR of pages that have text of their own, on their owner's request: fonts may map to the wrong characters."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from analytiq.ingestion.parsing.base import ReportProgress
from analytiq.ingestion.quality.judging import flaws_of
from analytiq.models.flaws import FlawKind
from analytiq.models.page_reading import PageReading
from analytiq.models.text import ParsedPage, TextSource

_MENDED_BY_OCR = frozenset({FlawKind.NOISE, FlawKind.MISDECODED, FlawKind.VISUAL_ORDER})
MOST_NAMED = 20


@dataclass(slots=True)
class RereadPages:
    """The pages that OCR has read, by number, and those for which the time was too short."""

    pages: dict[int, ParsedPage] = field(default_factory=dict[int, ParsedPage])
    left: list[int] = field(default_factory=list[int])

    def warnings(self) -> tuple[str, ...]:
        """Return a sentence about the pages that were left."""
        if not self.left:
            return ()
        named = ", ".join(map(str, self.left[:MOST_NAMED])) + (", …" if len(self.left) > MOST_NAMED else "")
        noun = "Page" if len(self.left) == 1 else "Pages"
        return (f"{noun} {named} kept the text in the file: OCR took too long. Split the document.",)


def read_again(
    pages: Mapping[int, ParsedPage],
    choice: PageReading,
    read_page: Callable[[int], ParsedPage],
    *,
    seconds: float,
    report_progress: ReportProgress,
) -> RereadPages:
    """Read the chosen pages by OCR, until `seconds` have passed.

    A page in which OCR finds no word keeps its own text.
    """
    wanted = [number for number, page in sorted(pages.items()) if _is_wanted(page, choice)]
    read = RereadPages()
    deadline = time.monotonic() + seconds
    for done, number in enumerate(wanted, 1):
        if time.monotonic() > deadline:
            read.left = wanted[done - 1 :]
            break
        found = _taken(pages[number], read_page(number))
        if found is not None:
            read.pages[number] = found
        report_progress(done, len(wanted))
    return read


def _is_wanted(page: ParsedPage, choice: PageReading) -> bool:
    if page.source is not TextSource.EMBEDDED:
        return False
    if choice is PageReading.OCR or not page.text.strip():
        return True
    return any(flaw.kind in _MENDED_BY_OCR for flaw in flaws_of(page))


def _taken(own: ParsedPage, read: ParsedPage) -> ParsedPage | None:
    if not read.text.strip():
        # A vision model may still read the page.
        return replace(own, scan=read.scan) if read.scan else None
    figures = tuple(replace(figure, position=len(read.text)) for figure in own.figures)
    return replace(read, name=own.name, figures=figures)
