"""The port that every OCR engine implements."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from analytiq.models.boxes import PlacedText


@dataclass(frozen=True, slots=True)
class GreyImage:
    """A page as rows of 8-bit grey, white 255, top row first; `pixels` has `width * height` bytes."""

    pixels: bytes
    width: int
    height: int
    dots_per_inch: int


@dataclass(frozen=True, slots=True)
class RecognizedText:
    """The text read by an engine, with its confidence from 0 to 100."""

    text: str
    confidence: int
    words: tuple[PlacedText, ...] = ()
    """In the order of the text; only if requested."""


class OcrEngine(Protocol):
    """Reads images of pages; created and used in the child process that parses one document."""

    languages: tuple[str, ...]
    """The requested languages whose data is installed."""
    missing_data: str | None
    """A sentence that names the packages to install, if a requested language has no data."""

    def recognize(self, image: GreyImage, *, with_words: bool = False) -> RecognizedText:
        """Read one page, upright or rotated by a quarter turn; only if `languages` is not empty."""
        ...

    def close(self) -> None:
        """Free the engine's memory."""
        ...


class OcrEngineFactory(Protocol):
    """An engine's class, as `analytiq.ingestion.ocr.registry` returns it."""

    def __call__(self, languages: Sequence[str], *, data_dir: Path | None) -> OcrEngine:
        """Create an engine for `languages`; the engine reports missing data instead of raising an error."""
        ...
