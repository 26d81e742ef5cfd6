"""The life of a child: restrict itself, parse one document, write the outcome, end.

Every path out of `run` ends the process; it never returns into the server that forked it.
"""

import errno
import os
import signal
import socket
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import orjson

from analytiq.errors import EmptyDocumentError, ParserUnavailableError
from analytiq.ingestion.parsing import decryption
from analytiq.ingestion.parsing.base import ContainerParser, Parser
from analytiq.ingestion.parsing.figures import collecting
from analytiq.ingestion.parsing.isolation import Examination, Isolation, readable_paths
from analytiq.ingestion.parsing.limits import apply_limits
from analytiq.ingestion.parsing.messages import (
    QUERY_REQUEST,
    DetectTask,
    ExamineTask,
    Failure,
    ForkRequest,
    Outcome,
    ParseTask,
    PlaceTask,
    QueryTask,
    SheetsTask,
    TablesTask,
    Task,
    failure_of,
)
from analytiq.ingestion.parsing.outcome_file import TOO_LONG, write_outcome
from analytiq.ingestion.parsing.registry import BUILT_IN_PARSERS, ParserRegistry, load_parser
from analytiq.ingestion.parsing.rights import attempts, giving_up, kernel
from analytiq.ingestion.parsing.sanitize import sanitize_document, sanitize_text
from analytiq.ingestion.quality.judging import judged
from analytiq.models.boxes import PageWords
from analytiq.models.tables import QueryAnswer, TablesRead, WorkbookRows
from analytiq.models.text import ParsedDocument, join_pages

PROGRESS_INTERVAL_SECONDS = 0.1
MAX_DETAIL_CHARACTERS = 2000
EXIT_WITH_RIGHTS = 70
"""The kernel refused to remove the process's rights, so the document was not read."""

BUILT_IN = ParserRegistry(BUILT_IN_PARSERS)

OWN_CODE = "analytiq."
"""Modules of built-in parsers, which start no threads; those of other packages may."""


def run(request: ForkRequest, channel: socket.socket, outcome_descriptor: int, *, server_pid: int) -> NoReturn:
    """Parse and end with code 0 once an outcome is written, including a failure."""
    exit_code = 1
    try:
        _detach(server_pid)
        sys.path[:] = request.import_path
        apply_limits(request.limits)
        bound = _Bound(request.isolation, channel, outcome_descriptor)
        _write(_do(request.task, bound), outcome_descriptor)
        exit_code = EXIT_WITH_RIGHTS if bound.has_failed else 0
    finally:
        # Not sys.exit: inherited handlers and buffers belong to the server.
        os._exit(exit_code)


class ProgressReporter:
    """Reports the parser's progress, at most ten times a second and at the end."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._next_report = 0.0

    def __call__(self, done: int, total: int) -> None:
        """Report the numbers of finished pages and of all pages."""
        now = time.monotonic()
        if now < self._next_report and done < total:
            return
        self._next_report = now + PROGRESS_INTERVAL_SECONDS
        self._channel.send(orjson.dumps({"kind": "progress", "done": done, "total": total}))


@dataclass(slots=True)
class _Bound:
    """The step between the import of code and the read of a document: the process gives up its rights."""

    isolation: Isolation
    channel: socket.socket
    outcome_descriptor: int
    has_failed: bool = False
    room_for_copy: int | None = None
    """The descriptor of a file in memory, for a decrypted copy."""
    opens_package: bool = False
    """True for a ZIP package with a password: OpenSSL derives keys by Argon2 with a thread for each lane."""

    def give_up(self, *readable: Path, allow_threads: bool = False) -> None:
        """Give up all rights except the channel, the outcome's file, and reading these paths."""
        if self.isolation.mode == "off":
            return
        self.has_failed = True
        giving_up.give_up(
            readable=readable,
            keep_descriptors=[
                self.channel.fileno(),
                self.outcome_descriptor,
                *([] if self.room_for_copy is None else [self.room_for_copy]),
            ],
            allow_threads=allow_threads,
            support=giving_up.supported(),
        )
        self.has_failed = False

    def give_up_for(self, parser: str, *paths: Path) -> None:
        """Give up all rights, as `give_up`, for an imported parser.

        Raises:
            ParserUnavailableError: Its import started threads, which keep their rights.
        """
        if self.isolation.mode != "off" and giving_up.thread_count() != 1:
            raise ParserUnavailableError(
                f"The parser {parser} starts threads when it is imported, and a thread that runs cannot be isolated."
                " Use a version that starts them later, or none."
            )
        readable = readable_paths(parser=parser, extra=self.isolation.readable)
        allow_threads = self.opens_package or not parser.startswith(OWN_CODE)
        self.give_up(*paths, *readable, allow_threads=allow_threads)


def _do(task: Task, bound: _Bound) -> Outcome:
    try:
        match task:
            case ParseTask():
                return Outcome(document=_parse(task, bound))
            case PlaceTask():
                return Outcome(words=_place_words(task, bound))
            case DetectTask():
                return Outcome(content_type=_detect(task, bound))
            case ExamineTask():
                return Outcome(examination=_examine(task, bound))
            case TablesTask():
                return Outcome(tables=_read_tables(task, bound))
            case SheetsTask():
                return Outcome(workbook=_read_sheets(task, bound))
            case QueryTask():
                return Outcome(answer=_answer(task, bound))
    except BaseException as error:  # noqa: BLE001 -- a panic of a Rust extension is no Exception, and this is the last stop
        return Outcome(failure=failure_of(error, parser="" if isinstance(task, ExamineTask) else task.parser))


def _parse(task: ParseTask, bound: _Bound) -> ParsedDocument:
    """Load the parser, give up rights, read the file, make the text storable, judge it."""
    if task.path.stat().st_size == 0:
        raise EmptyDocumentError("The file is empty: upload it again.")
    parser: Parser = load_parser(task.parser)
    path = _opened(task, bound)
    if path != task.path and task.parser.startswith(OWN_CODE):
        parser = _parser_of_copy(path) or parser
    if not (task.options.describes_figures or task.options.reads_scans):
        return judged(sanitize_document(_parsed(parser, path, task, bound)))
    # Not imported with this module, which the server imports before the parsers.
    from analytiq.ingestion.parsing.pictures import DocumentPictures

    pictures = DocumentPictures(task.options)
    with collecting(pictures):
        document = _parsed(parser, path, task, bound)
    return judged(sanitize_document(pictures.finished(document)))


def _parsed(parser: Parser, path: Path, task: ParseTask, bound: _Bound) -> ParsedDocument:
    report_progress = ProgressReporter(bound.channel)
    if task.options.max_parts is None or not isinstance(parser, ContainerParser):
        return parser.parse(path, task.options, report_progress)
    # Not imported with this module, which the server imports before the parsers.
    from analytiq.ingestion.parsing.parts import PartCollector

    with open(bound.outcome_descriptor, "r+b", closefd=False) as file:
        installed = task.options.installed_parsers
        parts = PartCollector(file, most=task.options.max_parts, installed=installed)
        document = parser.parse_with_parts(path, task.options, report_progress, parts)
    warnings = (*document.warnings, *parts.warnings())
    return replace(document, warnings=warnings, parts=parts.found)


def _opened(task: ParseTask | PlaceTask | TablesTask | SheetsTask, bound: _Bound) -> Path:
    """Give up rights, then return the path of the file, or of its decrypted copy."""
    bound.room_for_copy = decryption.room_for_copy(task.path, task.options.password)
    bound.opens_package = bound.room_for_copy is not None and decryption.is_package(task.path)
    bound.give_up_for(task.parser, *_files_of(task))
    return decryption.decrypted(task.path, task.options.password, bound.room_for_copy)


def _parser_of_copy(path: Path) -> Parser | None:
    content_type = decryption.content_type_of_copy(path)
    return None if content_type is None else load_parser(BUILT_IN.entry_for(content_type).reference)


def _files_of(task: ParseTask | PlaceTask | TablesTask | SheetsTask) -> list[Path]:
    return [task.path] if task.options.ocr_data_dir is None else [task.path, task.options.ocr_data_dir]


def _place_words(task: PlaceTask, bound: _Bound) -> PageWords:
    # Not imported with this module, which the server imports before the parsers.
    from analytiq.ingestion.parsing.placing import place_words

    path = _opened(task, bound)
    page = task.page
    return place_words(path, page.content_type, page.page_number, task.options, is_image=page.is_image)


def _read_tables(task: TablesTask, bound: _Bound) -> TablesRead:
    """Parse the document as ever, and keep the rows of its tables."""
    # Not imported with this module, which the server imports before the parsers.
    from analytiq.ingestion.tables.collecting import RowCollector, collecting_rows
    from analytiq.ingestion.tables.deriving import write_tables

    parser: Parser = load_parser(task.parser)
    path = _opened(task, bound)
    if path != task.path and task.parser.startswith(OWN_CODE):
        parser = _parser_of_copy(path) or parser
    collector = RowCollector()
    with collecting_rows(collector):
        document = sanitize_document(parser.parse(path, task.options, ProgressReporter(bound.channel)))
    text = join_pages(document.pages, title=document.title)
    with open(bound.outcome_descriptor, "r+b", closefd=False) as file:
        return write_tables(collector.tables(), text, file, needs_header=task.needs_header)


def _read_sheets(task: SheetsTask, bound: _Bound) -> WorkbookRows:
    """Parse the workbook as ever, and keep the rows of its sheets."""
    # Not imported with this module, which the server imports before the parsers.
    from analytiq.ingestion.tables.sheets import SheetCollector, collecting_sheets

    parser: Parser = load_parser(task.parser)
    path = _opened(task, bound)
    collector = SheetCollector(task.sheet)
    with collecting_sheets(collector):
        document = parser.parse(path, task.options, ProgressReporter(bound.channel))
    return WorkbookRows(collector.sheets(), tuple(map(sanitize_text, document.warnings)))


def _answer(task: QueryTask, bound: _Bound) -> QueryAnswer:
    """Answer a query. DuckDB connects before the process gives up its rights, and sees the rows after it."""
    from analytiq.ingestion.tables import engine

    connection = engine.connected(task.memory_bytes)
    bound.room_for_copy = engine.room_for_rows()
    bound.give_up_for(task.parser, task.path, task.request)
    request = QUERY_REQUEST.validate_json(task.request.read_bytes())
    engine.copied_rows(task.path, request.table, bound.room_for_copy)
    rows = Path(f"/proc/self/fd/{bound.room_for_copy}")
    return engine.answer(connection, rows, request.table, request.query)


def _detect(task: DetectTask, bound: _Bound) -> str:
    from analytiq.ingestion.parsing.formats import detect

    bound.give_up_for(task.parser, task.path)
    return detect(task.path, task.hints)


def _examine(task: ExamineTask, bound: _Bound) -> Examination:
    unavailable: list[str] = []
    for reference in task.parsers:
        try:
            load_parser(reference)
        except ParserUnavailableError as error:
            unavailable.append(error.detail)
    bound.give_up()
    return Examination(attempts.remaining(), tuple(unavailable))


def _write(outcome: Outcome, descriptor: int) -> None:
    try:
        write_outcome(outcome if outcome.failure is None else _storable(outcome.failure), descriptor)
    except MemoryError:
        _write_limit(descriptor, "The document's text needs more memory than a document may have: split it.")
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        _write_limit(descriptor, TOO_LONG)


def _write_limit(descriptor: int, detail: str) -> None:
    write_outcome(Outcome(failure=Failure("LimitExceededError", detail)), descriptor)


def _storable(failure: Failure) -> Outcome:
    return Outcome(failure=Failure(failure.error, sanitize_text(failure.detail)[:MAX_DETAIL_CHARACTERS]))


def _detach(server_pid: int) -> None:
    """Detach: own process group, default signals, no output, since libraries print words of the document's author."""
    os.setpgid(0, 0)
    _bind_to_server(server_pid)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir("/")


def _bind_to_server(server_pid: int) -> None:
    """Die with the server and never gain rights, so that only the server can kill this process."""
    kernel.die_with_parent(signal.SIGKILL)
    kernel.forbid_new_privileges()
    if os.getppid() != server_pid:  # it died before the first call
        os._exit(1)
