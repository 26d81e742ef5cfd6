"""`/chat/threads`: conversations with knowledge bases. Answers stream as server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response

from analytiq.assistants.chat.events import ALL_TOLD, EventName, Position
from analytiq.assistants.chat.threads import Reader
from analytiq.composition import Services
from analytiq.models.account import Permission
from analytiq.models.chat import AnswerState, ChatMessage
from analytiq.models.text import CurrentTexts
from api.access import Caller
from api.api_route import ApiRoute
from api.context import CurrentCaller, CurrentOrganization, Limit, ServicesOf, Skip
from api.event_stream import KEEP_ALIVE, MEDIA_TYPE, RECONNECT, EventStream, event
from api.schemas.chat import (
    ChatAsked,
    ChatContinued,
    ChatMessageList,
    ChatMessageResponse,
    ChatQuestion,
    ChatThreadCreate,
    ChatThreadDeleted,
    ChatThreadList,
    ChatThreadResponse,
    ChatThreadUpdate,
    event_data,
)
from api.schemas.events import ClosedEvent
from api.standing_right import StandingRight

router = APIRouter(prefix="/chat/threads", tags=["chat"], route_class=ApiRoute)


async def require_own_thread(services: ServicesOf, caller: CurrentCaller, thread_id: str) -> str:
    """Return the thread id, if the caller owns the thread."""
    await services.assistants.conversations.require_reader(caller.organization.id, thread_id, _reader(caller))
    return thread_id


def _reader(caller: Caller) -> Reader:
    owner = f"{caller.actor.kind.value}:{caller.actor.id}"
    return Reader(owner, is_administrator=caller.permission.includes(Permission.ADMIN))


OwnThread = Annotated[str, Depends(require_own_thread)]
"""The id of a thread of the caller, a parameter of every route of a thread."""

_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events `token`, `tool_call`, `passages`, `usage`, `error`, `done`; each has an id. `closed`",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}}},
    },
    204: {"description": "No further events: `Last-Event-ID` is the id of `done`"},
}


@router.post("", status_code=201, operation_id="create_chat_thread")
async def create_chat_thread(services: ServicesOf, caller: CurrentCaller, body: ChatThreadCreate) -> ChatThreadResponse:
    """Create a conversation with knowledge bases. Only the calling person or access token can read it."""
    thread = await services.assistants.conversations.create(
        caller.organization, body.wanted(), owner=_reader(caller).owner
    )
    return ChatThreadResponse.from_model(thread)


@router.get("", operation_id="list_chat_threads")
async def list_chat_threads(
    services: ServicesOf,
    caller: CurrentCaller,
    skip: Skip = 0,
    limit: Limit = 10,
    kb_id: str | None = None,
) -> ChatThreadList:
    """List the caller's threads, latest message first."""
    found, total = await services.assistants.conversations.page(
        caller.organization.id, _reader(caller), kb_id=kb_id, skip=skip, limit=limit
    )
    return ChatThreadList(threads=[ChatThreadResponse.from_model(item) for item in found], total_count=total, skip=skip)


@router.get("/{thread_id}", operation_id="get_chat_thread")
async def get_chat_thread(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread
) -> ChatThreadResponse:
    """Return a thread with the usage of its answers."""
    return ChatThreadResponse.from_model(await services.assistants.conversations.get(organization.id, thread_id))


@router.put("/{thread_id}", operation_id="update_chat_thread")
async def update_chat_thread(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread, body: ChatThreadUpdate
) -> ChatThreadResponse:
    """Change a thread's title, or the settings of its future answers."""
    changes = body.model_dump(exclude_none=True)
    if not changes:
        return ChatThreadResponse.from_model(await services.assistants.conversations.get(organization.id, thread_id))
    return ChatThreadResponse.from_model(
        await services.assistants.conversations.change(organization, thread_id, changes)
    )


@router.delete("/{thread_id}", operation_id="delete_chat_thread")
async def delete_chat_thread(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread
) -> ChatThreadDeleted:
    """Delete a thread with its messages. A running answer is stopped; its usage is charged."""
    await services.assistants.conversations.delete(organization.id, thread_id)
    return ChatThreadDeleted()


@router.get("/{thread_id}/messages", operation_id="list_chat_messages")
async def list_chat_messages(
    services: ServicesOf,
    organization: CurrentOrganization,
    thread_id: OwnThread,
    skip: Skip = 0,
    limit: Limit = 10,
) -> ChatMessageList:
    """List a thread's messages, oldest first."""
    found, total = await services.assistants.conversations.messages(organization.id, thread_id, skip=skip, limit=limit)
    texts = await _texts_of(services, *found)
    messages = [ChatMessageResponse.from_message(item, texts) for item in found]
    return ChatMessageList(messages=messages, total_count=total, skip=skip)


@router.post("/{thread_id}/messages", status_code=202, operation_id="ask_chat_thread")
async def ask_chat_thread(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread, body: ChatQuestion
) -> ChatAsked:
    """Ask a question. The answer is generated as long as a client follows or polls it.

    Follow it at `events_path`. 409 (`answer_running`) while the thread's last answer is running.
    """
    question, answer = await services.assistants.conversations.ask(organization, thread_id, body.content)
    return ChatAsked(
        question=ChatMessageResponse.from_message(question, CurrentTexts()),
        answer=ChatMessageResponse.from_message(answer, CurrentTexts()),
        events_path=_events_path(answer),
    )


@router.get("/{thread_id}/messages/{message_id}", operation_id="get_chat_message")
async def get_chat_message(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread, message_id: str
) -> ChatMessageResponse:
    """Return a message. Polling a running answer keeps it running, as following does."""
    return await _told(
        services, await services.assistants.conversations.message(organization.id, thread_id, message_id)
    )


@router.get(
    "/{thread_id}/messages/{message_id}/events",
    status_code=200,
    operation_id="follow_chat_message",
    response_class=EventStream,
    responses=_EVENTS,
)
async def follow_chat_message(
    request: Request,
    services: ServicesOf,
    caller: CurrentCaller,
    thread_id: OwnThread,
    message_id: str,
    last_event_id: Annotated[str | None, Header(max_length=100, description="Continue after this event")] = None,
) -> Response:
    """Stream an answer as server-sent events, from its beginning or after `Last-Event-ID`.

    A client can reconnect to any process within the grace period (30 s) without losing events. The stream ends with
    `closed` when its token or session expires, or when the person leaves the organization.
    """
    message = await services.assistants.conversations.message(caller.organization.id, thread_id, message_id)
    position = Position.of(last_event_id)
    if position.ending == ALL_TOLD and message.state is not AnswerState.RUNNING:
        return Response(status_code=204)
    return EventStream(_events(services, StandingRight(request, services, caller), message, position))


@router.post("/{thread_id}/messages/{message_id}/stop", operation_id="stop_chat_message")
async def stop_chat_message(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread, message_id: str
) -> ChatMessageResponse:
    """Stop an answer. Its text so far is kept and its usage is charged. A finished answer does not change."""
    return await _told(services, await services.assistants.conversations.stop(organization.id, thread_id, message_id))


@router.post("/{thread_id}/messages/{message_id}/continue", status_code=202, operation_id="continue_chat_message")
async def continue_chat_message(
    services: ServicesOf, organization: CurrentOrganization, thread_id: OwnThread, message_id: str
) -> ChatContinued:
    """Continue the thread's last answer after it was cut, stopped or interrupted.

    The text is appended to the same message, from the passages of the original answer. 409 (`cannot_continue`) if the
    answer is complete.
    """
    answer = await services.assistants.conversations.go_on(organization, thread_id, message_id)
    return ChatContinued(
        answer=await _told(services, answer),
        events_path=_events_path(answer),
        last_event_id=str(Position.at_end_of(answer)),
    )


def _events_path(answer: ChatMessage) -> str:
    thread = f"/v0/orgs/{answer.organization_id}/chat/threads/{answer.thread_id}"
    return f"{thread}/messages/{answer.id}/events"


async def _texts_of(services: Services, *messages: ChatMessage) -> CurrentTexts:
    document_ids = {document_id for message in messages for document_id in message.document_ids}
    return (
        await services.ingestion.documents.current_texts(messages[0].organization_id, document_ids)
        if messages
        else CurrentTexts()
    )


async def _told(services: Services, message: ChatMessage) -> ChatMessageResponse:
    return ChatMessageResponse.from_message(message, await _texts_of(services, message))


async def _events(
    services: Services, right: StandingRight, message: ChatMessage, position: Position
) -> AsyncGenerator[bytes]:
    yield RECONNECT
    following = services.assistants.conversations.follow(
        message.organization_id, message.thread_id, message.id, position
    )
    async with aclosing(following) as items:
        async for events, answer in items:
            refusal = await right.refusal()
            if refusal is not None:
                yield event("closed", ClosedEvent.from_model(refusal))
                return
            is_of_texts = any(item.name in (EventName.PASSAGES, EventName.DONE) for item in events)
            texts = await _texts_of(services, answer) if is_of_texts else CurrentTexts()
            for item in events:
                yield event(item.name.value, event_data(item, answer, texts), str(item.position))
            if not events:
                yield KEEP_ALIVE
