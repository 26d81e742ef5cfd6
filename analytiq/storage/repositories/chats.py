"""Collections `chat_threads` and `chat_messages`."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from pymongo import IndexModel, ReturnDocument

from analytiq import clock
from analytiq.models.chat import AnswerState, ChatMessage, ChatThread, ChatUsage
from analytiq.models.document import Failure
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import object_id, object_ids
from analytiq.storage.repositories.rows import Row, decode, encode
from analytiq.storage.session import Session

INDEXES = {
    "chat_threads": [
        IndexModel([("organization_id", 1), ("updated_at", -1), ("_id", -1)]),
        IndexModel([("organization_id", 1), ("owner", 1), ("updated_at", -1), ("_id", -1)]),
    ],
    "chat_messages": [
        IndexModel([("organization_id", 1), ("thread_id", 1), ("number", 1)]),
        IndexModel([("organization_id", 1), ("document_ids", 1)]),
    ],
}

LEASE_SECONDS = 30.0
"""Seconds without a heartbeat after which an answer counts as abandoned."""


class ChatRepository:
    """Threads and their messages."""

    def __init__(self, connection: MongoConnection) -> None:
        self._threads = connection.database["chat_threads"]
        self._messages = connection.database["chat_messages"]

    async def insert_thread(self, thread: ChatThread) -> None:
        """Store a new thread."""
        await self._threads.insert_one(encode(thread))

    async def thread(
        self, organization_id: str, thread_id: str, *, session: Session | None = None
    ) -> ChatThread | None:
        """Return the organization's thread with this id."""
        query = _own(organization_id, thread_id)
        row: Row | None = await self._threads.find_one(query, session=session) if query else None
        return decode(ChatThread, row) if row else None

    async def threads(
        self, organization_id: str, owners: Sequence[str | None], *, kb_id: str | None, skip: int, limit: int
    ) -> tuple[list[ChatThread], int]:
        """Return a page of these owners' threads, last written first, and the total count."""
        query: Row = {"organization_id": organization_id, "owner": {"$in": list(owners)}}
        if kb_id is not None:
            query["kb_ids"] = kb_id
        cursor = self._threads.find(query).sort([("updated_at", -1), ("_id", -1)]).skip(skip).limit(limit)
        return [decode(ChatThread, row) async for row in cursor], await self._threads.count_documents(query)

    async def change_thread(
        self, organization_id: str, thread_id: str, changes: Mapping[str, Any]
    ) -> ChatThread | None:
        """Set fields of a thread; return None if it does not exist."""
        query = _own(organization_id, thread_id)
        if not query:
            return None
        row: Row | None = await self._threads.find_one_and_update(
            query, {"$set": dict(changes)}, return_document=ReturnDocument.AFTER
        )
        return decode(ChatThread, row) if row else None

    async def delete_thread(self, organization_id: str, thread_id: str) -> bool:
        """Remove a thread with its messages; the thread first, so that no message is added meanwhile."""
        query = _own(organization_id, thread_id)
        if not query:
            return False
        result = await self._threads.delete_one(query)
        await self._messages.delete_many({"organization_id": organization_id, "thread_id": thread_id})
        return result.deleted_count == 1

    async def claim(self, session: Session, thread: ChatThread, message_id: str, title: str) -> ChatThread | None:
        """Claim the thread for an answer and reserve two message numbers; return None while another is in progress."""
        now = clock.now()
        row: Row | None = await self._threads.find_one_and_update(
            {
                "_id": object_id(thread.id),
                "organization_id": thread.organization_id,
                "$or": [{"running_message_id": None}, {"running_until": {"$lt": now}}],
            },
            {
                "$set": {
                    "running_message_id": message_id,
                    "running_until": now + timedelta(seconds=LEASE_SECONDS),
                    "title": title,
                    "updated_at": now,
                },
                "$inc": {"message_count": 2},
            },
            session=session,
            return_document=ReturnDocument.AFTER,
        )
        return decode(ChatThread, row) if row else None

    async def add_messages(self, session: Session, messages: Sequence[ChatMessage]) -> None:
        """Store new messages of a claimed thread."""
        await self._messages.insert_many([encode(message) for message in messages], session=session)

    async def reopen(self, session: Session, thread: ChatThread, answer: ChatMessage) -> ChatMessage | None:
        """Claim the thread to continue its last answer; return None while another is in progress, or if it changed."""
        now = clock.now()
        claimed = await self._threads.update_one(
            {
                **_own(thread.organization_id, thread.id),
                "message_count": answer.number,
                "$or": [{"running_message_id": None}, {"running_until": {"$lt": now}}],
            },
            {
                "$set": {
                    "running_message_id": answer.id,
                    "running_until": now + timedelta(seconds=LEASE_SECONDS),
                    "updated_at": now,
                }
            },
            session=session,
        )
        row: Row | None = None
        if claimed.matched_count:
            row = await self._messages.find_one_and_update(
                {
                    **_own(answer.organization_id, answer.id),
                    "thread_id": thread.id,
                    "state": answer.state.value,
                    "content": answer.content,
                },
                {
                    "$set": {
                        "state": AnswerState.RUNNING.value,
                        "ended_by": None,
                        "error": None,
                        "is_stop_wanted": False,
                        "finished_at": None,
                        "heartbeat_at": now,
                        "listened_at": None,
                    }
                },
                session=session,
                return_document=ReturnDocument.AFTER,
            )
        return decode(ChatMessage, row) if row else None

    async def message(self, organization_id: str, thread_id: str, message_id: str) -> ChatMessage | None:
        """Return the thread's message with this id."""
        query = _own(organization_id, message_id)
        row: Row | None = await self._messages.find_one({**query, "thread_id": thread_id}) if query else None
        return decode(ChatMessage, row) if row else None

    async def messages(
        self, organization_id: str, thread_id: str, *, skip: int, limit: int
    ) -> tuple[list[ChatMessage], int]:
        """Return a page of a thread's messages, oldest first, and the total count."""
        query: Row = {"organization_id": organization_id, "thread_id": thread_id}
        cursor = self._messages.find(query).sort([("number", 1)]).skip(skip).limit(limit)
        return [decode(ChatMessage, row) async for row in cursor], await self._messages.count_documents(query)

    async def latest(self, organization_id: str, thread_id: str, *, before: int, limit: int) -> list[ChatMessage]:
        """Return the last messages before the one with this number, oldest first; without passages."""
        query: Row = {"organization_id": organization_id, "thread_id": thread_id, "number": {"$lt": before}}
        cursor = (
            self._messages.find(query, {"passages": 0, "steps": 0, "reasoning": 0}).sort([("number", -1)]).limit(limit)
        )
        return [decode(ChatMessage, row) async for row in cursor][::-1]

    async def write_progress(self, answer: ChatMessage) -> ChatMessage | None:
        """Store the answer so far as a heartbeat; return the row, None if the answer is gone or over."""
        now = clock.now()
        fields = ("content", "reasoning", "question", "steps", "passages", "document_ids", "usage")
        row: Row | None = await self._messages.find_one_and_update(
            {**_own(answer.organization_id, answer.id), "state": AnswerState.RUNNING.value},
            {"$set": {**_fields(answer, fields), "heartbeat_at": now}},
            return_document=ReturnDocument.AFTER,
        )
        if row is None:
            return None
        await self._threads.update_one(
            {**_own(answer.organization_id, answer.thread_id), "running_message_id": answer.id},
            {"$set": {"running_until": now + timedelta(seconds=LEASE_SECONDS)}},
        )
        return decode(ChatMessage, row)

    async def finish(self, answer: ChatMessage, *, counted: ChatUsage) -> bool:
        """Store the finished answer and free its thread; return False if it is gone or another process ended it.

        `counted`: the part of the answer's usage that the thread counted before the answer was continued.
        """
        now = clock.now()
        fields = (
            "content", "reasoning", "question", "steps", "passages", "document_ids", "usage", "state", "ended_by",
            "citations", "is_grounded", "error", "finished_at",
        )  # fmt: skip
        result = await self._messages.update_one(
            {**_own(answer.organization_id, answer.id), "state": AnswerState.RUNNING.value},
            {"$set": {**_fields(answer, fields), "heartbeat_at": now}},
        )
        usage = answer.usage.without(counted)
        added = {
            "usage.calls": usage.calls,
            "usage.prompt_tokens": usage.prompt_tokens,
            "usage.completion_tokens": usage.completion_tokens,
            "usage.cost_usd": usage.cost_usd,
            "usage.unpriced_calls": usage.unpriced_calls,
            "usage.spus": usage.spus,
        }
        update: Row = {"$inc": added, **({"$set": {"usage.is_estimated": True}} if usage.is_estimated else {})}
        thread = _own(answer.organization_id, answer.thread_id)
        await self._threads.update_one(thread, update)
        await self._threads.update_one(
            {**thread, "running_message_id": answer.id},
            {"$set": {"running_message_id": None, "running_until": None, "updated_at": now}},
        )
        return result.matched_count == 1

    async def want_stop(self, organization_id: str, message_id: str) -> None:
        """Tell the answering process to stop."""
        await self._messages.update_one(
            {**_own(organization_id, message_id), "state": AnswerState.RUNNING.value},
            {"$set": {"is_stop_wanted": True}},
        )

    async def note_listener(self, organization_id: str, message_id: str) -> None:
        """Record that a reader in another process follows the answer."""
        await self._messages.update_one(
            {**_own(organization_id, message_id), "state": AnswerState.RUNNING.value},
            {"$set": {"listened_at": clock.now()}},
        )

    async def end_lost(self, answer: ChatMessage, failure: Failure) -> None:
        """Close an answer whose process has died."""
        stale = clock.now() - timedelta(seconds=LEASE_SECONDS)
        result = await self._messages.update_one(
            {
                **_own(answer.organization_id, answer.id),
                "state": AnswerState.RUNNING.value,
                "heartbeat_at": {"$lt": stale},
            },
            {
                "$set": {
                    "state": AnswerState.FAILED.value,
                    "error": failure.model_dump(),
                    "is_grounded": False,
                    "finished_at": failure.at,
                }
            },
        )
        if result.modified_count:
            await self._threads.update_one(
                {**_own(answer.organization_id, answer.thread_id), "running_message_id": answer.id},
                {"$set": {"running_message_id": None, "running_until": None}},
            )

    async def erase_document(self, organization_id: str, document_id: str) -> None:
        """Remove the passages of a deleted document from answers, with the text written from them.

        An answer based on the document becomes empty: its text may repeat erased content.
        """
        await self._messages.update_many(
            {"organization_id": organization_id, "document_ids": document_id},
            {
                "$set": {
                    # For a running answer: its process finds it ended, and stops.
                    "state": AnswerState.DONE.value,
                    "content": "",
                    "reasoning": "",
                    "question": "",
                    "steps": [],
                    "passages": [],
                    "citations": [],
                    "document_ids": [],
                    "is_grounded": False,
                    "has_erased_passages": True,
                }
            },
        )


def _own(organization_id: str, id_: str) -> Row:
    """Return the query of one row, or an empty query for an invalid id."""
    ids = object_ids([id_])
    return {"_id": ids[0], "organization_id": organization_id} if ids else {}


def _fields(answer: ChatMessage, names: Sequence[str]) -> Row:
    return answer.model_dump(include=set(names))
