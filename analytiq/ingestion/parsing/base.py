"""The port that every parser implements."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from analytiq.models.text import ParsedDocument

ReportProgress = Callable[[int, int], None]
"""Called with the numbers of finished pages and of all pages."""


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The options and limits of a parser."""

    max_pages: int = 10_000
    ocr_languages: tuple[str, ...] = ("eng",)
    """Tesseract's names of languages, the likeliest first."""
    charset_hint: str | None = None
    """The sender's declaration for a text file; the bytes win if they contradict it."""
    ocr_engine: str = "tesseract"
    ocr_data_dir: Path | None = None
    """Directory of the OCR engine's language data; None: that of Debian's packages."""
    word_changes: Literal["accepted", "original", "all"] = "accepted"
    """Tracked changes of Word documents: insertions, deletions, or both are read."""
    word_comments: bool = True


@dataclass(frozen=True, slots=True)
class TypeHints:
    """Hints at a file's content type from its name and its sender."""

    extension: str
    """With the dot, lower case."""
    named: str | None
    """The content type of the extension."""
    claimed: str | None
    """The sender's content type."""


class Parser(Protocol):
    """A reader of one format.

    It runs in a child process that may be killed at any time, on bytes chosen by an attacker. It raises
    the errors of `analytiq.errors` (CorruptFileError, EncryptedFileError, LimitExceededError,
    EmptyDocumentError, UnsupportedFormatError); any other error counts as a corrupt file.
    """

    content_types: tuple[str, ...]
    """MIME types of the format, the preferred one first."""
    extensions: tuple[str, ...]
    """File name endings with the dot, lower case."""

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the file at `path`."""
        ...
