"""Messages of the sandbox's three processes: JSON, because a document may control the child.

    caller ──ForkRequest + two descriptors──▶ server            (one socket for all documents)
    caller ◀──Started, Progress…, Ended────── server and child  (one socket for each document)
    caller ◀──Outcome──────────────────────── child             (one file for each document)

Pickle would run the sender's code in the caller; JSON checked against these types cannot.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from analytiq.errors import (
    CorruptFileError,
    EmptyDocumentError,
    EncryptedFileError,
    InvalidInputError,
    LimitExceededError,
    MemoryLimitError,
    ParserUnavailableError,
    PermanentError,
    UnsupportedFormatError,
    WrongPasswordError,
)
from analytiq.ingestion.parsing.base import ParseOptions, TypeHints
from analytiq.ingestion.parsing.isolation import Examination, Isolation
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.registry import cannot_import
from analytiq.models.boxes import PageWords
from analytiq.models.tables import DocumentTable, QueryAnswer, TableQuery, TablesRead, WorkbookRows
from analytiq.models.text import ParsedDocument

MAX_MESSAGE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The page whose words are to be located; see `analytiq.ingestion.parsing.placing`."""

    content_type: str
    page_number: int
    is_image: bool


@dataclass(frozen=True, slots=True)
class ParseTask:
    """Read the whole document."""

    path: Path
    parser: str
    """`module:Class`."""
    options: ParseOptions
    kind: Literal["parse"] = "parse"


@dataclass(frozen=True, slots=True)
class PlaceTask:
    """Place the words of one page."""

    path: Path
    parser: str
    options: ParseOptions
    page: PageRequest
    kind: Literal["place"] = "place"


@dataclass(frozen=True, slots=True)
class DetectTask:
    """Detect the content type of a file."""

    path: Path
    hints: TypeHints
    kind: Literal["detect"] = "detect"

    @property
    def parser(self) -> str:
        """Return the code that reads the file."""
        return "analytiq.ingestion.parsing.formats:detect"


@dataclass(frozen=True, slots=True)
class ExamineTask:
    """Test the isolation of parsers, and import each."""

    parsers: tuple[str, ...]
    kind: Literal["examine"] = "examine"


@dataclass(frozen=True, slots=True)
class TablesTask:
    """Read the tables of a document; their rows are written in front of the outcome."""

    path: Path
    parser: str
    """`module:Class`."""
    options: ParseOptions
    needs_header: bool
    kind: Literal["tables"] = "tables"


@dataclass(frozen=True, slots=True)
class SheetsTask:
    """Read the rows of a workbook's sheets; those of one sheet only, if it is named."""

    path: Path
    parser: str
    """`module:Class`."""
    options: ParseOptions
    sheet: str
    kind: Literal["sheets"] = "sheets"


@dataclass(frozen=True, slots=True)
class QueryTask:
    """Answer a query about the rows of one table."""

    path: Path
    """The rows of a document's tables, as a `TablesTask` has written them."""
    request: Path
    """A file with a `QueryRequest`: it may be longer than a message."""
    memory_bytes: int
    kind: Literal["query"] = "query"

    @property
    def parser(self) -> str:
        """Return the code that reads the file."""
        return "analytiq.ingestion.tables.engine:answer"


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """A table and the query about it."""

    table: DocumentTable
    query: TableQuery


Task = ParseTask | PlaceTask | DetectTask | ExamineTask | TablesTask | SheetsTask | QueryTask


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """Run one task in a new child; sent with the task's socket and its outcome file."""

    task: Annotated[Task, Field(discriminator="kind")]
    limits: ParseLimits
    isolation: Isolation
    import_path: tuple[str, ...]
    """The caller's `sys.path`, so that the child imports the same modules."""


@dataclass(frozen=True, slots=True)
class Started:
    """The child is running; the time limit starts here."""

    kind: Literal["started"]


@dataclass(frozen=True, slots=True)
class Progress:
    """The number of finished pages, and of all pages."""

    kind: Literal["progress"]
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The child is gone; a negative code is the signal that killed it."""

    kind: Literal["ended"]
    exit_code: int


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of `analytiq.errors`, by the name of its class."""

    error: str
    detail: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a task; exactly one field is set."""

    document: ParsedDocument | None = None
    words: PageWords | None = None
    content_type: str | None = None
    examination: Examination | None = None
    tables: TablesRead | None = None
    workbook: WorkbookRows | None = None
    answer: QueryAnswer | None = None
    failure: Failure | None = None


FORK_REQUEST = TypeAdapter(ForkRequest)
NEWS = TypeAdapter[Started | Progress | Ended](Started | Progress | Ended)
OUTCOME = TypeAdapter(Outcome)
QUERY_REQUEST = TypeAdapter(QueryRequest)

_ERRORS: dict[str, type[PermanentError | InvalidInputError]] = {
    error.__name__: error
    for error in (
        CorruptFileError,
        EmptyDocumentError,
        EncryptedFileError,
        InvalidInputError,
        LimitExceededError,
        MemoryLimitError,
        ParserUnavailableError,
        UnsupportedFormatError,
        WrongPasswordError,
    )
}


def error_of(failure: Failure, path: Path | None) -> PermanentError | InvalidInputError:
    """Return the child's reported error; a class that it may not report counts as a corrupt file.

    Libraries quote the path of the file, which means nothing to its sender.
    """
    detail = failure.detail if path is None else failure.detail.replace(str(path), "the file")
    return _ERRORS.get(failure.error, CorruptFileError)(detail)


def failure_of(error: BaseException, *, parser: str) -> Failure:
    """Return the child's report of its parser's error."""
    if type(error).__name__ in _ERRORS:
        return Failure(type(error).__name__, str(error))
    if isinstance(error, ImportError):  # of a module that the parser loads when it needs it
        return Failure(ParserUnavailableError.__name__, cannot_import(parser, error))
    if isinstance(error, MemoryError):
        return Failure("MemoryLimitError", "The document needs more memory than a document may have: split it.")
    if isinstance(error, RecursionError):
        return Failure("LimitExceededError", "The document is nested too deeply to be read.")
    return Failure(
        "CorruptFileError",
        f"The document cannot be read ({parser} failed with {type(error).__name__}: {error}): "
        "upload an undamaged copy.",
    )
