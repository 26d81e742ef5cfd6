"""Threads: create, read, ask, follow, stop, delete."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import structlog

from analytiq import clock
from analytiq.assistants.chat.answering import Answering
from analytiq.assistants.chat.draft import Draft
from analytiq.assistants.chat.events import ALL_TOLD, Event, Position, events_after
from analytiq.assistants.chat.live import LiveAnswer, StopReason
from analytiq.assistants.chat.prompting import MAX_TURNS
from analytiq.assistants.chat.recorder import require_budget
from analytiq.assistants.chat.refusals import answer_running, cannot_continue, unknown_thread
from analytiq.assistants.chat.threads import NewThread, Reader
from analytiq.errors import InvalidInputError, NotFoundError, TransientError
from analytiq.ingestion.knowledge_bases.service import KnowledgeBases
from analytiq.models.chat import AnswerState, ChatMessage, ChatRole, ChatThread, ChatUsage
from analytiq.models.document import Failure
from analytiq.models.organization import Organization
from analytiq.settings import ChatSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.chats import LEASE_SECONDS
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

LONGEST_TITLE = 80
"""Characters of the first question that become the thread's title."""
KEEP_ALIVE_SECONDS = 15.0
"""Seconds between signs of life on a stream without events; proxies commonly close one after 60."""
REMOTE_POLL_SECONDS = 0.25
"""Seconds between two reads of an answer that another process makes."""
REMOTE_NOTE_SECONDS = 5.0
"""Seconds between two notes to that process that the answer has a reader."""


class Chats:
    """Conversations of an organization."""

    def __init__(
        self,
        rows: Repositories,
        knowledge_bases: KnowledgeBases,
        answering: Answering,
        settings: ChatSettings,
    ) -> None:
        self._connection = rows.connection
        self._rows = rows.chats
        self._document_rows = rows.documents
        self._knowledge_bases = knowledge_bases
        self._chat = answering.chat
        self._answering = answering
        self._settings = settings
        self._live: dict[str, LiveAnswer] = {}
        self._is_closing = False

    async def create(self, organization: Organization, wanted: NewThread, *, owner: str) -> ChatThread:
        """Create a thread, which only its owner may read.

        Raises:
            InvalidInputError: a knowledge base is not the organization's, or the model cannot be used.
        """
        for number, kb_id in enumerate(wanted.kb_ids):
            try:
                await self._knowledge_bases.get(organization.id, kb_id)
            except NotFoundError as error:
                raise InvalidInputError.of_field(f"kb_ids[{number}]", error.detail) from None
        if wanted.model is not None:
            await self._chat.choose(organization, wanted.model)
        now = clock.now()
        threshold = self._settings.score_threshold if wanted.score_threshold is None else wanted.score_threshold
        thread = ChatThread(
            id=new_id(),
            organization_id=organization.id,
            owner=owner,
            title=wanted.title,
            kb_ids=tuple(dict.fromkeys(wanted.kb_ids)),
            model=wanted.model,
            score_threshold=threshold,
            top_k=wanted.top_k or self._settings.top_k,
            searches_again=wanted.searches_again,
            include=wanted.include,
            token_budget=wanted.token_budget,
            created_at=now,
            updated_at=now,
        )
        await self._rows.insert_thread(thread)
        return thread

    async def get(self, organization_id: str, thread_id: str) -> ChatThread:
        """Return the thread."""
        thread = await self._rows.thread(organization_id, thread_id)
        if thread is None:
            raise unknown_thread(thread_id)
        return thread

    async def page(
        self, organization_id: str, reader: Reader, *, kb_id: str | None, skip: int, limit: int
    ) -> tuple[list[ChatThread], int]:
        """Return a page of the reader's threads, latest message first, and their count."""
        return await self._rows.threads(organization_id, reader.owners, kb_id=kb_id, skip=skip, limit=limit)

    async def require_reader(self, organization_id: str, thread_id: str, reader: Reader) -> None:
        """Refuse readers other than the thread's owner, administrators included.

        Raises:
            NotFoundError: as for an unknown thread.
        """
        thread = await self.get(organization_id, thread_id)
        if thread.owner not in reader.owners:
            raise unknown_thread(thread_id)

    async def change(self, organization: Organization, thread_id: str, changes: Mapping[str, Any]) -> ChatThread:
        """Change title, model, score_threshold, top_k, searches_again, include or token_budget, for later answers."""
        await self.get(organization.id, thread_id)
        if changes.get("model") is not None:
            await self._chat.choose(organization, changes["model"])
        changed = await self._rows.change_thread(organization.id, thread_id, changes)
        if changed is None:
            raise unknown_thread(thread_id)
        return changed

    async def delete(self, organization_id: str, thread_id: str) -> None:
        """Delete the thread with its messages; stop a running answer."""
        thread = await self.get(organization_id, thread_id)
        live = self._live.get(thread.running_message_id or "")
        if live is not None:
            # Store the answer's usage before its row is gone.
            live.stop(StopReason.ASKED)
            await live.ended()
        await self._rows.delete_thread(organization_id, thread_id)

    async def messages(
        self, organization_id: str, thread_id: str, *, skip: int, limit: int
    ) -> tuple[list[ChatMessage], int]:
        """Return a page of a thread's messages, oldest first, and their count."""
        await self.get(organization_id, thread_id)
        found, total = await self._rows.messages(organization_id, thread_id, skip=skip, limit=limit)
        return [await self._as_it_is(message) for message in found], total

    async def message(self, organization_id: str, thread_id: str, message_id: str) -> ChatMessage:
        """Return a message. Reading a running answer keeps it running, as following it does."""
        message = await self._stored(organization_id, thread_id, message_id)
        live = self._live.get(message_id)
        if live is not None:
            live.note_reader()
        elif message.state is AnswerState.RUNNING:
            await self._rows.note_listener(organization_id, message_id)
        return await self._as_it_is(message)

    async def ask(self, organization: Organization, thread_id: str, question: str) -> tuple[ChatMessage, ChatMessage]:
        """Store a question and begin its answer; return both.

        Raises:
            ConflictError: the thread's last answer is running (code `answer_running`).
            InvalidInputError: the model cannot be used.
            QuotaExceededError: the thread's budget is used up.
            TransientError: this process makes as many answers as it may.
        """
        thread = await self.get(organization.id, thread_id)
        self._require_room()
        model = (await self._chat.choose(organization, thread.model)).model
        require_budget(thread, ChatUsage(), 1)
        thread, asked, answer = await self._begin(thread, question, model)
        earlier = await self._rows.latest(organization.id, thread.id, before=asked.number, limit=MAX_TURNS)

        async def make(draft: Draft) -> None:
            await self._answering.answer(organization, thread, question, earlier, draft)

        self._make(answer, make)
        return asked, answer

    async def go_on(self, organization: Organization, thread_id: str, message_id: str) -> ChatMessage:
        """Continue an answer that was cut, stopped or interrupted.

        Raises:
            ConflictError: the answer is complete or not the thread's last message (code `cannot_continue`), or an
                answer is running (code `answer_running`).
            InvalidInputError, QuotaExceededError, TransientError: as `ask`.
        """
        thread = await self.get(organization.id, thread_id)
        cut = await self._as_it_is(await self._stored(organization.id, thread_id, message_id))
        if cut.state is AnswerState.RUNNING:
            raise answer_running()
        if not cut.can_continue or cut.number != thread.message_count:
            raise cannot_continue()
        self._require_room()
        # Prefer the thread's current model, then the model that began the answer.
        model = (await self._chat.choose(organization, thread.model or cut.model)).model
        require_budget(thread, ChatUsage(), 1)
        earlier = await self._rows.latest(organization.id, thread.id, before=cut.number, limit=MAX_TURNS + 1)

        async def commit(session: Session) -> ChatMessage | None:
            return await self._rows.reopen(session, thread, cut)

        answer = await run_in_transaction(self._connection, commit)
        if answer is None:
            raise answer_running()
        question = earlier[-1].content if earlier else cut.question

        async def make(draft: Draft) -> None:
            await self._answering.go_on(organization, thread, question, earlier[:-1], draft)

        self._make(answer.model_copy(update={"model": model}), make)
        return answer

    def _require_room(self) -> None:
        if len(self._live) >= self._settings.max_running or self._is_closing:
            raise TransientError(
                "This process makes as many answers as it may. Ask again in a few seconds.", retry_after=5.0
            )

    def _make(self, answer: ChatMessage, make: Callable[[Draft], Awaitable[None]]) -> None:
        live = LiveAnswer(answer, self._rows, self._settings)
        self._live[answer.id] = live
        live.begin(make, self._after)

    async def _begin(
        self, thread: ChatThread, question: str, model: str
    ) -> tuple[ChatThread, ChatMessage, ChatMessage]:
        answer_id, asked_id = new_id(), new_id()
        title = thread.title or _title_of(question)

        async def commit(session: Session) -> tuple[ChatThread, ChatMessage, ChatMessage] | None:
            claimed = await self._rows.claim(session, thread, answer_id, title)
            if claimed is None:
                return None
            now = clock.now()
            asked = ChatMessage(
                id=asked_id,
                organization_id=thread.organization_id,
                thread_id=thread.id,
                number=claimed.message_count - 1,
                role=ChatRole.USER,
                content=question,
                created_at=now,
            )
            answer = ChatMessage(
                id=answer_id,
                organization_id=thread.organization_id,
                thread_id=thread.id,
                number=claimed.message_count,
                role=ChatRole.ASSISTANT,
                state=AnswerState.RUNNING,
                model=model,
                heartbeat_at=now,
                created_at=now,
            )
            await self._rows.add_messages(session, [asked, answer])
            return claimed, asked, answer

        begun = await run_in_transaction(self._connection, commit)
        if begun is None:
            await self.get(thread.organization_id, thread.id)
            raise answer_running()
        return begun

    async def _after(self, ended: ChatMessage) -> None:
        """Forget an ended answer, and remove documents deleted while it had no row to be erased from."""
        self._live.pop(ended.id, None)
        there = await self._document_rows.names(ended.organization_id, list(ended.document_ids))
        for document_id in set(ended.document_ids) - set(there):
            await self._rows.erase_document(ended.organization_id, document_id)

    async def stop(self, organization_id: str, thread_id: str, message_id: str) -> ChatMessage:
        """Stop an answer; its text so far stays and is charged. An ended answer stays unchanged.

        An answer of another process ends within seconds: the returned message may still be running.
        """
        message = await self._stored(organization_id, thread_id, message_id)
        live = self._live.get(message_id)
        if live is not None:
            live.stop(StopReason.ASKED)
            await live.ended()
            return live.message
        if message.state is AnswerState.RUNNING:
            await self._rows.want_stop(organization_id, message_id)
        return await self._as_it_is(message)

    async def follow(
        self, organization_id: str, thread_id: str, message_id: str, position: Position
    ) -> AsyncGenerator[tuple[list[Event], ChatMessage]]:
        """Yield the events after `position` as they come, until the answer is over.

        Each item is a list of events, empty as a sign of life, with the answer so far.

        Raises:
            NotFoundError: there is no such message; raised before the first item.
        """
        message = await self._stored(organization_id, thread_id, message_id)
        if message.state is AnswerState.RUNNING:
            # The answer may have ended before, and be continued now.
            position = replace(position, ending=0)
        live = self._live.get(message_id)
        if live is None:
            async for item in self._follow_stored(message, position):
                yield item
            return
        live.enter()
        try:
            while True:
                is_over = live.is_over
                message = live.message
                events = events_after(message, position)
                if events:
                    position = events[-1].position
                    yield events, message
                if is_over:
                    return
                if events_after(live.message, position) or live.is_over:
                    continue
                if not await live.change(KEEP_ALIVE_SECONDS):
                    yield [], message
        finally:
            live.leave()

    async def _follow_stored(
        self, message: ChatMessage, position: Position
    ) -> AsyncGenerator[tuple[list[Event], ChatMessage]]:
        """Follow an answer that is over, or that another process makes."""
        loop = asyncio.get_running_loop()
        noted_at = told_at = float("-inf")
        while True:
            message = await self._as_it_is(message)
            events = events_after(message, position)
            if events:
                position = events[-1].position
            if events or loop.time() - told_at > KEEP_ALIVE_SECONDS:
                told_at = loop.time()
                yield events, message
            if message.state is not AnswerState.RUNNING or position.ending == ALL_TOLD or self._is_closing:
                return
            if loop.time() - noted_at > REMOTE_NOTE_SECONDS:
                noted_at = loop.time()
                await self._rows.note_listener(message.organization_id, message.id)
            await asyncio.sleep(REMOTE_POLL_SECONDS)
            message = await self._stored(message.organization_id, message.thread_id, message.id)

    def begin_closing(self) -> None:
        """Stop the answers of this process and release their readers; other processes' answers continue."""
        self._is_closing = True
        for answer in list(self._live.values()):
            answer.stop(StopReason.SHUTDOWN)

    async def close(self) -> None:
        """Stop all answers as `begin_closing` does, and wait until they are stored."""
        self.begin_closing()
        for answer in list(self._live.values()):
            await answer.ended()

    async def _stored(self, organization_id: str, thread_id: str, message_id: str) -> ChatMessage:
        message = await self._rows.message(organization_id, thread_id, message_id)
        if message is None:
            raise NotFoundError(
                f"No message of the thread {thread_id!r} has the id {message_id!r}. List the thread's"
                " messages to find it."
            )
        return message

    async def _as_it_is(self, message: ChatMessage) -> ChatMessage:
        """Return the present message: from this process if it runs here, failed if its process died."""
        live = self._live.get(message.id)
        if live is not None:
            return live.message
        if message.state is not AnswerState.RUNNING or message.heartbeat_at is None:
            return message
        if clock.now() - message.heartbeat_at < timedelta(seconds=LEASE_SECONDS):
            return message
        detail = "The process that made the answer died. Ask again."
        failure = Failure(code="interrupted", detail=detail, at=clock.now())
        await self._rows.end_lost(message, failure)
        return await self._rows.message(message.organization_id, message.thread_id, message.id) or message


def _title_of(question: str) -> str:
    line = " ".join(question.split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1].rstrip()}…"
