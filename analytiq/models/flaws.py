"""Flaws: ranges of a text that do not read as the page does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


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
"""The kinds with a range that knowledge bases can leave out."""


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


def kinds_of(flaws: Sequence[Flaw]) -> tuple[FlawKind, ...]:
    """Return the kinds that occur, sorted."""
    return tuple(sorted({flaw.kind for flaw in flaws}))
