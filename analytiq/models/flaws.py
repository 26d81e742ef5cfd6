"""Flaws: ranges of a text that do not read as the page does."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analytiq.models.stored import Stored


class FlawKind(StrEnum):
    """The nature of a flaw."""

    NOISE = "noise"
    """Symbols or letters without sense: characters without a Unicode map, shifted fonts, failed recognition."""
    MISDECODED = "misdecoded"
    """Text decoded by a wrong charset, such as UTF-8 decoded twice."""
    MACHINE_TEXT = "machine_text"
    """Text that only programs read: base64, hex dumps, keys, minified scripts, lists of identifiers."""
    VISUAL_ORDER = "visual_order"
    """Right-to-left words spelt from their ends."""
    NOT_READ = "not_read"
    """A page that shows a picture or a drawing and has no text. Its range is empty."""


SKIPPABLE = (FlawKind.NOISE, FlawKind.MISDECODED, FlawKind.MACHINE_TEXT, FlawKind.VISUAL_ORDER)
"""The kinds with a range that an organization can leave out of its knowledge bases."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw of `text[start:end]`, in characters."""

    kind: FlawKind
    start: int
    end: int
    reason: str = ""

    def moved(self, distance: int) -> "Flaw":
        """Return the same flaw in a text that has `distance` more characters before it."""
        return replace(self, start=self.start + distance, end=self.end + distance)


def sound_flaws(flaws: Iterable[Flaw], length: int) -> Iterator[Flaw]:
    """Yield the flaws that are ranges of a text of `length` characters, in order and without overlap."""
    position = 0
    for flaw in flaws:
        if position <= flaw.start <= flaw.end <= length:
            yield flaw
            position = flaw.end


class FlawCount(Stored):
    """The extent of one kind of flaw in a document's text: its words, and the pages with one."""

    kind: FlawKind
    word_count: int
    page_count: int


def ranges_of(flaws: Sequence[Flaw], kinds: Collection[FlawKind]) -> list[tuple[int, int]]:
    """Return the ranges of the flaws of these kinds, in order, adjacent ones joined."""
    ranges: list[tuple[int, int]] = []
    for flaw in flaws:
        if flaw.kind not in kinds or flaw.start == flaw.end:
            continue
        if ranges and ranges[-1][1] == flaw.start:
            ranges[-1] = (ranges[-1][0], flaw.end)
        else:
            ranges.append((flaw.start, flaw.end))
    return ranges
