"""Operations on conversations, and their streamed answers."""

from collections.abc import Sequence
from typing import Any

from analytiq.client.calls import all_items, call, get, given, open_stream, post, put
from analytiq.client.chat_models import ChatAsked, ChatContinued, ChatEvent, ChatMessage, ChatThread
from analytiq.client.errors import UnreachableError
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.server_events import next_event
from analytiq.client.steps import Emit, Flow, Items, Pause, Request

MOST_RECONNECTS = 30
"""Most reconnects in a row, about a minute with the pauses: a killed API is back after ten seconds, if busy."""
LONGEST_PAUSE_SECONDS = 2.0


class ChatCalls(Calls):
    """Conversations with knowledge bases."""

    @operation
    def create_thread(self, kb_ids: Sequence[str], **options: Any) -> Flow[ChatThread]:
        """Begin a thread; `options` are the API's: title, model, score_threshold, top_k, token_budget and more."""
        return post("/chat/threads", ChatThread, {"kb_ids": list(kb_ids), **given(**options)})

    @listing
    def threads(self, *, kb_id: str | None = None) -> Items[ChatThread]:
        """Yield all threads, the last used first; with `kb_id`, those with this knowledge base."""
        return all_items("/chat/threads", "threads", ChatThread, {"kb_id": kb_id})

    @operation
    def thread(self, thread_id: str) -> Flow[ChatThread]:
        """Return a thread, with the usage of its answers."""
        return get(_path(thread_id), ChatThread)

    @operation
    def update_thread(self, thread_id: str, **changes: Any) -> Flow[ChatThread]:
        """Change some of title, model, score_threshold, top_k, searches_again, include, token_budget."""
        return put(_path(thread_id), ChatThread, changes)

    @operation
    def delete_thread(self, thread_id: str) -> Flow[None]:
        """Delete a thread with its messages; a running answer is stopped."""
        yield from call(Request("DELETE", _path(thread_id)))

    @listing
    def chat_messages(self, thread_id: str) -> Items[ChatMessage]:
        """Yield all messages of a thread, oldest first."""
        return all_items(f"{_path(thread_id)}/messages", "messages", ChatMessage)

    @operation
    def chat_message(self, thread_id: str, message_id: str) -> Flow[ChatMessage]:
        """Return a message."""
        return get(_message_path(thread_id, message_id), ChatMessage)

    @operation
    def begin_answer(self, thread_id: str, question: str) -> Flow[ChatMessage]:
        """Ask a question and return the beginning of its answer. Follow it, or it is stopped after a while."""
        return (yield from post(f"{_path(thread_id)}/messages", ChatAsked, {"content": question})).answer

    @listing
    def follow_answer(self, thread_id: str, message_id: str, *, after: str | None = None) -> Items[ChatEvent]:
        """Yield the answer's events up to `done`; reconnect without repeating an event.

        Args:
            thread_id: the thread.
            message_id: the answer.
            after: the id of the last event received.

        Raises:
            ProblemError: there is no such answer.
            UnreachableError: reconnecting failed.
        """
        path = f"{_message_path(thread_id, message_id)}/events"
        failures = 0
        while True:
            try:
                yield from open_stream(Request("GET", path, headers={"Last-Event-ID": after} if after else {}))
                while (event := (yield from next_event())) is not None:
                    after, failures = event.id, 0
                    yield Emit(ChatEvent(id=event.id, name=event.name, data=event.data))
                    if event.name == "done":
                        return
                # It ended without its last event, or everything was known already.
                if after is not None and after.endswith(".3"):
                    return
                failures += 1
            except UnreachableError:
                failures += 1
                if failures > MOST_RECONNECTS:
                    raise
            if failures > MOST_RECONNECTS:
                raise UnreachableError("The API keeps ending the answer before its end; call again.")
            yield Pause(min(LONGEST_PAUSE_SECONDS, 0.25 * failures))

    @listing
    def ask(self, thread_id: str, question: str) -> Items[ChatEvent]:
        """Ask, and follow the answer to its end; see `follow_answer`."""
        answer = yield from self.begin_answer(thread_id, question)
        yield from self.follow_answer(thread_id, answer.message_id)

    @listing
    def continue_answer(self, thread_id: str, message_id: str) -> Items[ChatEvent]:
        """Continue a thread's interrupted last answer, and follow the addition; see `follow_answer`."""
        told = yield from post(f"{_message_path(thread_id, message_id)}/continue", ChatContinued)
        yield from self.follow_answer(thread_id, message_id, after=told.last_event_id)

    @operation
    def stop_answer(self, thread_id: str, message_id: str) -> Flow[ChatMessage]:
        """Stop an answer; its text so far stays and is charged."""
        return post(f"{_message_path(thread_id, message_id)}/stop", ChatMessage)


def _path(thread_id: str) -> str:
    return f"/chat/threads/{segment(thread_id)}"


def _message_path(thread_id: str, message_id: str) -> str:
    return f"{_path(thread_id)}/messages/{segment(message_id)}"
