"""The port that every parser implements."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from analytiq.models.page_reading import PageReading
from analytiq.models.text import ParsedDocument

ReportProgress = Callable[[int, int], None]
"""Called with the numbers of finished pages and of all pages."""


@dataclass(frozen=True, slots=True)
class ParserEntry:
    """A parser that may be loaded."""

    reference: str
    """`module:Class`."""
    content_types: tuple[str, ...]
    extensions: tuple[str, ...]


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
    file_name: str = ""
    """The file's name, for parts that have none of their own."""
    max_parts: int | None = None
    """Most parts to unpack; 0: the document lies too deep in others. None: parts are named only."""
    installed_parsers: tuple[ParserEntry, ...] = ()
    """Parsers of other packages, which read parts too."""
    password: str | None = field(default=None, repr=False)
    """Opens an encrypted file."""
    describes_figures: bool = False
    """Return the pictures of figures, for a vision model."""
    reads_scans: bool = False
    """Return the pictures of pages that OCR reads badly, for a vision model."""
    page_reading: PageReading = PageReading.AUTO
    """The pages of a PDF with text of their own that OCR reads all the same."""
    reread_seconds: float = 360.0
    """Time for the OCR of such pages; the others keep their text."""


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


class PartSink(Protocol):
    """Takes the parts of a document from its parser; see `analytiq.ingestion.parsing.parts`."""

    def add(self, path: str, content: Iterable[bytes], *, declared: str | None = None) -> None:
        """Take in a part, or note the reason against it; `declared` is its content type by the container."""
        ...

    def refuse(self, path: str, reason: str) -> None:
        """Note a part that cannot be unpacked, with the reason as it follows a name in brackets."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """The cleaned paths of all parts so far, in order."""
        ...

    def warnings(self) -> Sequence[str]:
        """Return a sentence for each kind of part that was not taken in."""
        ...


@runtime_checkable
class ContainerParser(Protocol):
    """A parser of a format whose files hold other files; `parse` names them only."""

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Read the file, and hand over its parts; the caller adds the warnings of `parts`."""
        ...
