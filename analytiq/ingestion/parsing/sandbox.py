"""Sandbox for parsers: each document is parsed in a child process of its own, with limits, that can be killed.

A small server process (`fork_server`) forks the child. This module starts the server at the first document
and again after it has died. A child is killed when the caller stops listening to it: at the time limit, when
the awaiting task is cancelled, when the caller's process dies.
"""

import asyncio
import os
import signal
import socket
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from pydantic import ValidationError

from analytiq.errors import AnalytiqError, CorruptFileError, LimitExceededError, TransientError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress, TypeHints
from analytiq.ingestion.parsing.child import EXIT_WITH_RIGHTS
from analytiq.ingestion.parsing.isolation import BEST_EFFORT, Examination, Isolation
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.messages import (
    MAX_MESSAGE_BYTES,
    NEWS,
    DetectTask,
    Ended,
    ExamineTask,
    ForkRequest,
    Outcome,
    PageRequest,
    ParseTask,
    PlaceTask,
    Progress,
    QueryTask,
    SheetsTask,
    Started,
    TablesTask,
    Task,
    error_of,
)
from analytiq.ingestion.parsing.outcome_file import MAX_UNPACKED_BYTES, read_outcome
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.servers import RETRY_SECONDS, Server, running_server
from analytiq.models.boxes import PageWords
from analytiq.models.tables import QueryAnswer, TablesRead, WorkbookRows
from analytiq.models.text import ParsedDocument

START_SECONDS = 60.0
"""Time limit for the first child, which waits for the server's imports, about a second on an idle machine."""
GAP_RETRY_SECONDS = 60.0
"""Seconds until documents are tried again if required isolation is incomplete."""
DETECTION_LIMITS = ParseLimits(memory_bytes=256 * 1024 * 1024, cpu_seconds=10)
"""Limits of type detection: reading 320 KiB takes milliseconds."""
MEBIBYTE = 1024 * 1024

_CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP})


async def parse_in_child(
    path: Path,
    *,
    content_type: str,
    options: ParseOptions,
    limits: ParseLimits,
    isolation: Isolation = BEST_EFFORT,
    on_progress: ReportProgress | None = None,
    parts_file: BinaryIO | None = None,
) -> ParsedDocument:
    """Parse a file in a child process of its own.

    Args:
        path: The stored bytes; the child reads them itself.
        content_type: From `formats.detect_content_type`.
        options: Passed to the parser.
        limits: Set in the child before it reads the file.
        isolation: Further rights and readable paths of the parser, and whether isolation is required.
        on_progress: Called in this task with (pages done, pages of all), at most ten times a second.
        parts_file: Takes the bytes of the document's parts; its former content is lost.

    Returns:
        At least one page; no text contains NUL, other control characters or lone surrogates.

    Raises:
        UnsupportedFormatError: no parser reads the content type.
        ParserUnavailableError: the parser cannot be imported.
        CorruptFileError, EncryptedFileError, EmptyDocumentError: found by the parser, or it crashed.
        LimitExceededError: time, memory, pages or text beyond the limits.
        TransientError: the sandbox itself failed; the document may be fine.
    """
    task = ParseTask(path, default_registry().entry_for(content_type).reference, options)
    outcome = await _outcome_of(task, limits, isolation, on_progress, parts_file)
    if outcome.document is None or not outcome.document.pages:
        raise CorruptFileError("The parser found no page in the document: upload an undamaged copy.")
    return outcome.document


async def place_words_in_child(
    path: Path,
    page: PageRequest,
    *,
    options: ParseOptions,
    limits: ParseLimits,
    isolation: Isolation = BEST_EFFORT,
) -> PageWords:
    """Return the words of one page of a file with their positions; raise the errors of `parse_in_child`."""
    task = PlaceTask(path, default_registry().entry_for(page.content_type).reference, options, page)
    outcome = await _outcome_of(task, limits, isolation)
    if outcome.words is None:
        raise CorruptFileError("The words of the page could not be placed: upload an undamaged copy.")
    return outcome.words


async def detect_in_child(
    path: Path, hints: TypeHints, *, limits: ParseLimits = DETECTION_LIMITS, isolation: Isolation = BEST_EFFORT
) -> str:
    """Return the content type of a file, as `formats.detect` does; raise the errors of `parse_in_child`."""
    outcome = await _outcome_of(DetectTask(path, hints), limits, isolation)
    if outcome.content_type is None:
        raise CorruptFileError("The type of the file could not be told: upload an undamaged copy.")
    return outcome.content_type


async def read_tables_in_child(
    path: Path,
    *,
    content_type: str,
    options: ParseOptions,
    needs_header: bool,
    limits: ParseLimits,
    isolation: Isolation = BEST_EFFORT,
    rows_file: BinaryIO,
) -> TablesRead:
    """Return the tables of a file; write their rows to `rows_file`; raise the errors of `parse_in_child`."""
    task = TablesTask(path, default_registry().entry_for(content_type).reference, options, needs_header)
    outcome = await _outcome_of(task, limits, isolation, parts_file=rows_file)
    if outcome.tables is None:
        raise CorruptFileError("The tables of the document cannot be read: upload an undamaged copy.")
    return outcome.tables


async def read_sheets_in_child(
    path: Path,
    *,
    content_type: str,
    options: ParseOptions,
    sheet: str,
    limits: ParseLimits,
    isolation: Isolation = BEST_EFFORT,
) -> WorkbookRows:
    """Return the sheets of a workbook, only the named one with rows; raise the errors of `parse_in_child`."""
    task = SheetsTask(path, default_registry().entry_for(content_type).reference, options, sheet)
    outcome = await _outcome_of(task, limits, isolation)
    if outcome.workbook is None:
        raise CorruptFileError("The sheets of the workbook cannot be read: save it again.")
    return outcome.workbook


async def query_in_child(
    rows: Path, request: Path, *, limits: ParseLimits, isolation: Isolation = BEST_EFFORT
) -> QueryAnswer:
    """Answer a query in a child process of its own.

    Args:
        rows: The file that `read_tables_in_child` has written.
        request: A file with a `QueryRequest` as JSON.
        limits: Of the query.
        isolation: As of parsers.

    Raises:
        InvalidInputError: the query is wrong or refused.
        LimitExceededError: time or memory beyond the limits.
        PermanentError: the query crashed its process, or DuckDB is not installed.
        TransientError: the sandbox itself failed.
    """
    outcome = await _outcome_of(QueryTask(rows, request, limits.memory_bytes), limits, isolation)
    if outcome.answer is None:
        raise CorruptFileError("The query has no answer: write it in another way.")
    return outcome.answer


async def examine(isolation: Isolation) -> Examination:
    """Try forbidden actions in a child, and import every parser.

    Raises:
        TransientError: The sandbox itself failed.
    """
    server = running_server()
    task = ExamineTask(default_registry().references)
    outcome = await _outcome_of(task, ParseLimits(), replace(isolation, mode="best_effort"))
    found = outcome.examination or Examination(remaining=("do anything: the examination has no outcome",))
    server.examination = replace(found, unavailable=(*found.unavailable, *default_registry().problems))
    return server.examination


async def _outcome_of(
    task: Task,
    limits: ParseLimits,
    isolation: Isolation,
    on_progress: ReportProgress | None = None,
    parts_file: BinaryIO | None = None,
) -> Outcome:
    path = None if isinstance(task, ExamineTask) else task.path
    if path is not None and not path.is_absolute():
        raise ValueError(f"the child works in another directory, so {path} must be absolute")
    if isolation.mode == "required" and path is not None:
        await _require_isolation(isolation)
    parts_bytes = 0 if parts_file is None else MAX_UNPACKED_BYTES
    child_limits = replace(limits, output_bytes=limits.output_bytes + parts_bytes)
    request = ForkRequest(task, child_limits, isolation, tuple(sys.path))
    with nullcontext(parts_file) if parts_file else TemporaryFile(prefix="analytiq-outcome-") as outcome_file:
        outcome_file.truncate(0)
        exit_code = await _run_child(request, outcome_file.fileno(), on_progress)
        if exit_code is not None and exit_code != 0:
            raise _error_of_exit(exit_code, request.limits)
        # A descriptor of its own: if this task is cancelled, the thread continues reading for a while.
        outcome = await asyncio.to_thread(_read_outcome, os.dup(outcome_file.fileno()), limits.output_bytes)
    if outcome.failure is not None:
        raise error_of(outcome.failure, path)
    return outcome


async def _require_isolation(isolation: Isolation) -> None:
    """Try forbidden actions once for each server.

    Raises:
        TransientError: Some succeeded. Another worker's kernel may be complete.
    """
    server = running_server()
    gap = (server.examination or await examine(isolation)).gap
    if gap is not None:
        raise TransientError(gap, retry_after=GAP_RETRY_SECONDS, code="parsers_not_isolated")


async def _run_child(request: ForkRequest, outcome_descriptor: int, on_progress: ReportProgress | None) -> int | None:
    """Follow one child to its end; return its exit code, None if only the outcome can tell.

    Leaving this function closes the document's socket, which kills a child that is still running.
    """
    server = running_server()
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with channel:
        channel.settimeout(0)
        with theirs:
            server.submit(request, theirs, outcome_descriptor)
            server.documents += 1
        await _await_start(channel, server)
        deadline = asyncio.timeout(request.limits.wall_seconds)
        try:
            async with deadline:
                return await _follow(channel, server, on_progress)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise LimitExceededError(
                f"The document was not read within {request.limits.wall_seconds:g} seconds: split it."
            ) from error


async def _await_start(channel: socket.socket, server: Server) -> None:
    try:
        async with asyncio.timeout(START_SECONDS):
            news = await _receive(channel)
    except TimeoutError as error:
        raise TransientError(
            f"No child was started within {START_SECONDS:g} seconds: the machine is overloaded.",
            retry_after=START_SECONDS,
        ) from error
    if not isinstance(news, Started):
        raise _server_died(server)
    server.has_answered = True


async def _follow(channel: socket.socket, server: Server, on_progress: ReportProgress | None) -> int | None:
    while (news := await _receive(channel)) is not None:
        if isinstance(news, Ended):
            return news.exit_code
        if isinstance(news, Progress) and on_progress is not None:
            on_progress(news.done, news.total)
    if not server.is_alive:
        raise _server_died(server)
    return None


async def _receive(channel: socket.socket) -> Started | Progress | Ended | None:
    message = await asyncio.get_running_loop().sock_recv(channel, MAX_MESSAGE_BYTES)
    if not message:
        return None
    try:
        return NEWS.validate_json(message)
    except ValidationError as error:
        raise CorruptFileError("The document has taken over its parser and was stopped.") from error


def _server_died(server: Server) -> TransientError:
    return TransientError(
        f"The parsing server (process {server.pid}) died while it read the document; its log says why. "
        "It is started again for the next document.",
        retry_after=RETRY_SECONDS,
    )


def _error_of_exit(exit_code: int, limits: ParseLimits) -> AnalytiqError:
    """Return the error of a document whose child died."""
    if exit_code == -signal.SIGXCPU:
        reason = ""
        if limits.file_bytes is not None:
            reason = f", the most for a file of {limits.file_bytes:,} bytes (the time grows with the size)"
        return LimitExceededError(
            f"The document needs more than {limits.cpu_seconds} seconds of processor time{reason}: split it."
        )
    if exit_code == -signal.SIGKILL:
        # Not by this process, which still listens: the kernel kills processes when memory runs out.
        return LimitExceededError(
            "The system killed the process that read the document, as it does when memory runs out: split it."
        )
    if exit_code == EXIT_WITH_RIGHTS:
        return TransientError(
            "The document was not read: its process could not give its rights up. `analytiq doctor` tells what this"
            " kernel allows.",
            retry_after=GAP_RETRY_SECONDS,
        )
    if -exit_code in _CRASHES:
        return CorruptFileError(
            f"The document crashed its parser ({signal.Signals(-exit_code).name}): it is "
            f"damaged, or needs more than {limits.memory_bytes // MEBIBYTE} MiB of memory. Upload an undamaged copy or "
            "split it."
        )
    return TransientError(
        f"The process that read the document ended with code {exit_code} before it was done.",
        retry_after=RETRY_SECONDS,
    )


def _read_outcome(descriptor: int, most_bytes: int) -> Outcome:
    try:
        return read_outcome(descriptor, most_bytes=most_bytes)
    except ValidationError as error:
        raise TransientError(
            "The process that read the document left no whole result: is the disk for temporary files full?",
            retry_after=RETRY_SECONDS,
        ) from error
