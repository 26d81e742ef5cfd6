"""Answers in the making in this process: kept running while read, stored as they grow, stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import StrEnum

import structlog

from analytiq import clock
from analytiq.assistants.chat.draft import Draft
from analytiq.errors import AnalytiqError
from analytiq.models.chat import AnswerState, ChatMessage
from analytiq.models.document import Failure
from analytiq.settings import ChatSettings
from analytiq.storage.repositories.chats import ChatRepository
from analytiq.storage.session import DatabaseError

log = structlog.get_logger(__name__)

WRITE_SECONDS = 0.25
"""Seconds between two writes of a growing answer: the lag of readers in other processes."""
HEARTBEAT_SECONDS = 2.0
"""Seconds between two writes of an answer that does not grow; also the delay of a stop from another process."""


class StopReason(StrEnum):
    """The reason for stopping an answer early."""

    ASKED = "asked"
    NOBODY_READS = "nobody_reads"
    GONE = "gone"
    """The thread was deleted, or another process ended the answer."""
    SHUTDOWN = "shutdown"


class LiveAnswer:
    """An answer with the task that makes it; belongs to one event loop."""

    def __init__(self, message: ChatMessage, rows: ChatRepository, settings: ChatSettings) -> None:
        self.draft = Draft(message, self._changed)
        self.is_over = False
        self._counted = message.usage
        self._rows = rows
        self._settings = settings
        self._signal = asyncio.Event()
        self._is_unwritten = asyncio.Event()
        self._readers = 0
        self._last_read_at = clock.now()
        self._stop_reason: StopReason | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def message(self) -> ChatMessage:
        """Return the answer so far."""
        return self.draft.message

    def begin(self, make: Callable[[Draft], Awaitable[None]], on_end: Callable[[ChatMessage], Awaitable[None]]) -> None:
        """Start making the answer; call `on_end` with the ended answer once it is stored."""
        self._task = asyncio.create_task(self._run(make, on_end), name=f"chat answer {self.message.id}")

    def stop(self, reason: StopReason) -> None:
        """Stop the model; the text so far stays."""
        if self._stop_reason is None and self._task is not None and not self.is_over:
            self._stop_reason = reason
            self._task.cancel()

    async def ended(self) -> None:
        """Wait until the answer is over and stored."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def note_reader(self) -> None:
        """Note that a reader looked at the answer."""
        self._last_read_at = clock.now()

    def enter(self) -> None:
        """Count a reader who follows the answer."""
        self._readers += 1

    def leave(self) -> None:
        """Remove a reader who left."""
        self._readers -= 1
        self._last_read_at = clock.now()

    async def change(self, timeout_seconds: float) -> bool:
        """Wait for the next change; return False if none came in time."""
        signal = self._signal
        try:
            async with asyncio.timeout(timeout_seconds):
                await signal.wait()
        except TimeoutError:
            return False
        return True

    def _changed(self, _: ChatMessage) -> None:
        self._is_unwritten.set()
        self._wake()

    def _wake(self) -> None:
        signal, self._signal = self._signal, asyncio.Event()
        signal.set()

    async def _run(
        self, make: Callable[[Draft], Awaitable[None]], on_end: Callable[[ChatMessage], Awaitable[None]]
    ) -> None:
        keeper = asyncio.create_task(self._keep())
        state, failure = AnswerState.DONE, None
        try:
            await make(self.draft)
        except asyncio.CancelledError:
            if self._stop_reason is None:
                raise
            state, failure = _of_stop(self._stop_reason)
        except (AnalytiqError, DatabaseError) as error:
            state, failure = AnswerState.FAILED, _failure_of(error)
        except Exception:
            log.exception("chat.answer_failed", message_id=self.message.id)
            detail = "The answer failed on an unexpected error. The server's log has details. Ask again."
            state, failure = AnswerState.FAILED, Failure(code="internal_error", detail=detail, at=clock.now())
        finally:
            keeper.cancel()
            await asyncio.wait([keeper])
            await self._end(state, failure)
            try:
                await on_end(self.message)
            except (AnalytiqError, DatabaseError):
                log.exception("chat.end_failed", message_id=self.message.id)

    async def _end(self, state: AnswerState, failure: Failure | None) -> None:
        changes: dict[str, object] = {"state": state, "error": failure, "finished_at": clock.now()}
        if state is not AnswerState.DONE:
            changes |= {"is_grounded": False, "ended_by": None}
        ended = self.message.model_copy(update=changes)
        try:
            await self._rows.finish(ended, counted=self._counted)
        except (AnalytiqError, DatabaseError) as error:
            # Readers here see the end; for others the heartbeat stops.
            log.warning("chat.answer_not_written", message_id=ended.id, error=str(error))
        self.draft = Draft(ended, self._changed)
        self.is_over = True
        self._wake()
        log.info("chat.answered", message_id=ended.id, state=state.value, code=failure.code if failure else None)

    async def _keep(self) -> None:
        """Store the answer as it grows; stop it when it has no readers or a stop was requested."""
        while True:
            try:
                async with asyncio.timeout(min(HEARTBEAT_SECONDS, max(self._settings.grace_seconds, WRITE_SECONDS))):
                    await self._is_unwritten.wait()
            except TimeoutError:
                pass
            self._is_unwritten.clear()
            try:
                row = await self._rows.write_progress(self.message)
            except (AnalytiqError, DatabaseError) as error:
                log.warning("chat.progress_not_written", message_id=self.message.id, error=str(error))
                self._is_unwritten.set()
            else:
                self._judge(row)
            await asyncio.sleep(WRITE_SECONDS)

    def _judge(self, row: ChatMessage | None) -> None:
        if row is None:
            self.stop(StopReason.GONE)
        elif row.is_stop_wanted:
            self.stop(StopReason.ASKED)
        elif not self._readers:
            last = max(self._last_read_at, row.listened_at or self._last_read_at)
            if clock.now() - last > timedelta(seconds=self._settings.grace_seconds):
                self.stop(StopReason.NOBODY_READS)


def _of_stop(reason: StopReason) -> tuple[AnswerState, Failure | None]:
    if reason is StopReason.SHUTDOWN:
        detail = "The server was shut down in the middle of the answer. Ask again."
        return AnswerState.FAILED, Failure(code="interrupted", detail=detail, at=clock.now())
    return AnswerState.STOPPED, None


def _failure_of(error: AnalytiqError | DatabaseError) -> Failure:
    if isinstance(error, AnalytiqError):
        return Failure(code=error.code, detail=error.detail, at=clock.now())
    log.warning("chat.database_failed", exc_info=error)
    return Failure(code="temporarily_unavailable", detail="The database failed. Ask again.", at=clock.now())
