"""NDJSON uploads: a document a line, and an answer a line, while the lines arrive.

The answers are kept in a file once they exceed a megabyte: a client that sends all lines before it reads an answer
would otherwise stop the server, which would stop the client.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator

import structlog
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from analytiq.errors import AnalytiqError, InvalidInputError, LimitExceededError
from analytiq.ingestion.upload.group_commit import MOST_BYTES, MOST_FILES
from analytiq.models.upload import BULK_FILES
from analytiq.storage.client import translate
from analytiq.storage.session import DatabaseError
from api.schemas.documents import DocumentUpload, UploadedDocument, UploadedLine, UploadError
from api.upload_form import Manner, StreamQuery, invalid_json
from api.uploading import FileChecks, UploadSession

log = structlog.get_logger("api")

NDJSON = "application/x-ndjson"
LONGEST_LINE_BYTES = 16 * 1024 * 1024
"""A longer document is sent as multipart, which is streamed."""
KEPT_IN_MEMORY_BYTES = 1024 * 1024
SENT_BYTES = 64 * 1024

Line = tuple[int, bytes | None]
"""A line's number, from 1, and its bytes; None if it is too long."""


async def lines_of(body: AsyncIterator[bytes]) -> AsyncGenerator[Line]:
    """Yield the lines of a body that are not empty, with at most one of them in memory."""
    number, kept, is_too_long = 1, bytearray(), False
    async for block in body:
        *ended, rest = block.split(b"\n")
        for part in ended:
            is_too_long = is_too_long or len(kept) + len(part) > LONGEST_LINE_BYTES
            line = None if is_too_long else bytes(kept + part)
            if line is None or line.strip():
                yield number, line
            number, is_too_long = number + 1, False
            kept.clear()
        is_too_long = is_too_long or len(kept) + len(rest) > LONGEST_LINE_BYTES
        if is_too_long:
            kept.clear()
        else:
            kept += rest
    if is_too_long or kept.strip():
        yield number, None if is_too_long else bytes(kept)


class LineUploads:
    """Takes in lines by batches: those that arrive while a batch is committed are the next one."""

    def __init__(self, session: UploadSession, manner: Manner, *, tag_ids: list[str] | None) -> None:
        self._session = session
        self._manner = manner
        self._tag_ids = tag_ids
        self._count = 0

    async def answers(self, body: AsyncIterator[bytes]) -> AsyncGenerator[UploadedLine]:
        """Yield an answer for each line, in their order; at most two batches are in memory."""
        queue: asyncio.Queue[Line | None] = asyncio.Queue(MOST_FILES)
        failure: list[Exception] = []
        room = _Room(MOST_BYTES)

        async def read() -> None:
            try:
                async for line in lines_of(body):
                    await room.take(len(line[1] or b""))
                    await queue.put(line)
            except Exception as error:  # noqa: BLE001  # raised again below, after the lines that have arrived
                failure.append(error)
            await queue.put(None)

        reading = asyncio.create_task(read())
        try:
            is_open = True
            while is_open:
                batch, is_open = await _batch(queue)
                try:
                    answers = await self._commit(batch)
                except (AnalytiqError, DatabaseError) as error:
                    # The status is sent already: only a line can tell why no more follow.
                    yield await self._interrupted(batch[0][0], error)
                    return
                for answer in answers:
                    yield answer
                await room.give_back(sum(len(content or b"") for _, content in batch))
        finally:
            reading.cancel()
        if failure and not isinstance(failure[0], HTTPException):
            raise failure[0]
        if failure:
            detail = "The body stopped arriving. The lines before this one are answered; send the others again."
            yield _failed(self._count + 1, "", UploadError(code="incomplete_body", detail=detail))

    async def _interrupted(self, line: int, error: Exception) -> UploadedLine:
        """Give up what is staged; return the last answer, of the first line without one."""
        known = translate(error) if isinstance(error, DatabaseError) else error
        if isinstance(known, AnalytiqError):
            code, reason = known.code, known.detail
            log.warning("api.upload_interrupted", line=line, code=code, detail=reason)
        else:
            code, reason = "internal_error", "Unexpected error; the server's log has its details."
            log.error("api.upload_interrupted", line=line, exc_info=error)
        with contextlib.suppress(AnalytiqError, DatabaseError):  # the reconciler deletes what an outage leaves
            await self._session.discard()
        rest = "The upload stops here. The lines before this one are answered; send this one and all after it again."
        return _failed(line, "", UploadError(code=code, detail=f"{reason} {rest}"))

    async def _commit(self, lines: list[Line]) -> list[UploadedLine]:
        session, checks = self._session, FileChecks(self._session.services, self._session.organization.id)
        refused: dict[int, UploadedLine] = {}
        staged: list[int] = []
        for number, content in lines:
            self._count, name = number, ""
            try:
                if content is None:
                    raise LimitExceededError(
                        f"The line has more than {LONGEST_LINE_BYTES:,} bytes. Send this file as multipart/form-data."
                    )
                upload = _parsed(content)
                name = upload.path or upload.name or ""
                if upload.tag_ids is None and self._tag_ids is not None:
                    upload = upload.model_copy(update={"tag_ids": self._tag_ids})
                await session.receive_upload(upload, await checks.check(upload, ""))
            except asyncio.CancelledError:
                await asyncio.shield(session.discard())
                raise
            except AnalytiqError as error:
                refused[number] = _failed(number, name, UploadError(code=error.code, detail=error.detail))
            else:
                staged.append(number)
        # The first lines may be all there are.
        is_bulk = self._manner.is_bulk or self._count > BULK_FILES
        manner = Manner(self._manner.policy, self._manner.merges, self._manner.origin, is_bulk)
        answers = dict(zip(staged, await session.commit_received(manner), strict=True))
        return [refused.get(number) or _answered(number, answers[number]) for number, _ in lines]


class _Room:
    """A bound on the bytes of lines that wait; a line that exceeds it alone waits for nothing else."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._taken_bytes = 0
        self._changed = asyncio.Condition()

    async def take(self, count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._taken_bytes or self._taken_bytes + count <= self._most_bytes)
            self._taken_bytes += count

    async def give_back(self, count: int) -> None:
        async with self._changed:
            self._taken_bytes -= count
            self._changed.notify_all()


async def _batch(queue: "asyncio.Queue[Line | None]") -> tuple[list[Line], bool]:
    """Return the lines that have arrived, at least one, and False at the end of the body."""
    batch: list[Line] = []
    line = await queue.get()
    while line is not None:
        batch.append(line)
        if len(batch) >= MOST_FILES or queue.empty():
            return batch, True
        line = queue.get_nowait()
    return batch, False


def _parsed(content: bytes) -> DocumentUpload:
    try:
        return DocumentUpload.model_validate_json(content)
    except ValidationError as error:
        raise invalid_json(error) from error


def _answered(line: int, answer: UploadedDocument) -> UploadedLine:
    return UploadedLine(
        line=line,
        file_name=answer.file_name,
        outcome=answer.outcome,
        document_id=answer.document_id,
        document=answer.document,
        error=answer.error,
    )


def _failed(line: int, file_name: str, error: UploadError) -> UploadedLine:
    return UploadedLine(line=line, file_name=file_name, outcome="failed", document_id=None, document=None, error=error)


async def receive_lines(request: Request, session: UploadSession, query: StreamQuery) -> Response:
    """Return the response that takes in the request's lines.

    Raises:
        InvalidInputError: a query parameter or header is not for lines.
    """
    if query.metadata is not None:
        raise InvalidInputError.of_field("metadata", "Not for NDJSON. Give each line its own metadata.")
    if "idempotency-key" in request.headers:
        raise InvalidInputError.of_field(
            "Idempotency-Key", "Not for NDJSON. Send the lines again: known documents are returned."
        )
    tag_ids = query.parsed_tag_ids()
    if tag_ids is not None:
        tag_ids = await session.services.ingestion.tags.require(session.organization.id, tag_ids)
    uploads = LineUploads(session, query.manner(), tag_ids=tag_ids)
    return LinesResponse(uploads.answers(request.stream()))


class LinesResponse(Response):
    """Sends lines while the request's body is still read."""

    media_type = NDJSON

    def __init__(self, answers: AsyncGenerator[UploadedLine]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answers, at the pace of the client's reading."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        changed = asyncio.Event()
        written, sent, is_complete = 0, 0, False
        with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY_BYTES, prefix="analytiq-answers-") as kept:

            async def write() -> None:
                nonlocal written, is_complete
                try:
                    async for answer in self._answers:
                        kept.seek(written)
                        written += kept.write(answer.model_dump_json().encode() + b"\n")
                        changed.set()
                except ClientDisconnect:
                    pass  # nobody is left to answer
                finally:
                    await self._answers.aclose()
                    is_complete = True
                    changed.set()

            async with asyncio.TaskGroup() as group:
                group.create_task(write())
                while not (is_complete and sent == written):
                    await changed.wait()
                    changed.clear()
                    while sent < written:
                        kept.seek(sent)
                        block = kept.read(SENT_BYTES)
                        sent += len(block)
                        await send({"type": "http.response.body", "body": block, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
