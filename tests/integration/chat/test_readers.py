"""Readers of an answer that come, go, come back to another process; and answers that nobody reads."""

import asyncio
from contextlib import aclosing
from datetime import timedelta
from types import SimpleNamespace

import pytest

from analytiq import clock
from analytiq.assistants.chat import live
from analytiq.assistants.chat.events import Event, EventName, Position
from analytiq.errors import NotFoundError
from analytiq.models.chat import AnswerState, ChatMessage
from tests.fakes.chat_server import ChatServer, Say, Slow
from tests.integration.chat.conftest import Begin, Process, Talk
from tests.integration.conftest import EventuallyTrue

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

QUESTION = "Which sentence tells of whales in the year 1007?"
WHOLE = "one two three four five six [1]."


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if event.name is EventName.TOKEN)


async def read_until(talk: Talk, answer: ChatMessage, text: str, position: Position | None = None) -> list[Event]:
    """Read until so much of the answer was told, then leave."""
    told: list[Event] = []
    async with aclosing(talk.chats.follow(talk.tenant.id, talk.thread.id, answer.id, position or Position())) as items:
        async for events, _ in items:
            told += events
            if text in text_of(told):
                return told
    raise AssertionError(text_of(told))


async def test_reader_that_comes_back_misses_nothing_and_reads_nothing_twice(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    before = await read_until(talk, answer, "two three")
    chat_server.release()
    after = await talk.events(answer, Position.of(str(before[-1].position)))
    assert text_of(before) + text_of(after) == WHOLE
    assert [event.name for event in after if event.name is not EventName.TOKEN] == [EventName.USAGE, EventName.DONE]


async def test_reader_in_another_process_is_told_the_same(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    elsewhere = talk.seen_by(await process())
    answer = await talk.ask(QUESTION)
    here = asyncio.create_task(talk.events(answer))
    before = await read_until(elsewhere, answer, "two three")
    chat_server.release()
    after = await elsewhere.events(answer, before[-1].position)
    assert text_of(before) + text_of(after) == WHOLE
    assert text_of(await here) == WHOLE
    assert after[-1].name is EventName.DONE


async def test_reader_that_comes_when_all_is_over_is_told_everything(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say(WHOLE))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    first = await talk.events(answer)
    again = await talk.events(answer)
    names = [event.name for event in again]
    assert names == [
        EventName.TOOL_CALL, EventName.PASSAGES, EventName.TOKEN, EventName.USAGE, EventName.DONE,
    ]  # fmt: skip
    assert text_of(again) == text_of(first) == WHOLE
    assert await talk.events(answer, again[-1].position) == []


async def test_answer_that_nobody_reads_is_stopped_and_charged(
    begin: Begin, chat_server: ChatServer, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    # Longer than any machine takes until the reader comes; once the reader has left, the clock is put forward.
    grace = timedelta(hours=1)
    talk = await begin(chat={"grace_seconds": grace.total_seconds()})
    answer = await talk.ask(QUESTION)
    await read_until(talk, answer, "two three")
    monkeypatch.setattr(live, "clock", SimpleNamespace(now=lambda: clock.now() + 2 * grace))
    await asyncio.to_thread(chat_server.wait_for_cancellation)

    async def is_over() -> bool:
        return (await talk.message(answer)).state is not AnswerState.RUNNING

    await eventually(is_over)
    message = await talk.message(answer)
    assert message.state is AnswerState.STOPPED
    assert "two three" in message.content
    assert message.usage.is_estimated
    assert message.usage.prompt_tokens > 50
    row = await talk.tenant.services.connection.database["llm_usage"].find_one({"organization_id": talk.tenant.id})
    assert row is not None
    assert (row["is_complete"], row["prompt_tokens"]) == (False, message.usage.prompt_tokens)
    assert (await talk.current()).running_message_id is None


async def test_answer_goes_on_while_a_reader_in_another_process_is_there(
    begin: Begin, process: Process, chat_server: ChatServer, eventually: EventuallyTrue
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin(chat={"grace_seconds": 10.0})
    elsewhere = talk.seen_by(await process())
    answer = await talk.ask(QUESTION)
    await asyncio.to_thread(chat_server.wait_for_slow)
    database = talk.tenant.services.connection.database["chat_messages"]
    started = clock.now()

    async def beats_go_on() -> bool:
        await elsewhere.message(answer)
        row = await database.find_one({"role": "assistant"})
        assert row is not None
        assert row["state"] == "running"
        return row["heartbeat_at"] > started + timedelta(seconds=12.0)

    await eventually(beats_go_on)
    chat_server.release()
    assert text_of(await elsewhere.events(answer)) == WHOLE
    assert (await talk.message(answer)).state is AnswerState.DONE


async def test_stop_ends_the_model_and_keeps_what_was_said(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    reading = asyncio.create_task(talk.events(answer))
    await read_until(talk, answer, "two three")
    stopped = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert (stopped.state, stopped.content) == (AnswerState.STOPPED, "one two three")
    await asyncio.to_thread(chat_server.wait_for_cancellation)
    events = await reading
    assert [event.name for event in events[-2:]] == [EventName.USAGE, EventName.DONE]
    assert (await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)).state is AnswerState.STOPPED


async def test_stop_before_the_first_word_is_charged_for_the_question(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=0))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    await asyncio.to_thread(chat_server.wait_for_slow)
    stopped = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert stopped.content == ""
    rows = talk.tenant.services.connection.database["llm_usage"]
    row = await rows.find_one({"organization_id": talk.tenant.id})
    assert row is not None
    assert row["prompt_tokens"] == stopped.usage.prompt_tokens > 50


async def test_stop_from_another_process_reaches_the_one_that_answers(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin(chat={"grace_seconds": 3600.0})  # only the other process ends the answer
    elsewhere = talk.seen_by(await process())
    answer = await talk.ask(QUESTION)
    await read_until(talk, answer, "two three")
    await elsewhere.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert text_of(await elsewhere.events(answer)) == "one two three"
    await asyncio.to_thread(chat_server.wait_for_cancellation)
    assert (await talk.message(answer)).state is AnswerState.STOPPED


async def test_deleted_thread_ends_its_answer_and_its_reader(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    reading = asyncio.create_task(talk.events(answer))
    await read_until(talk, answer, "two three")
    await talk.chats.delete(talk.tenant.id, talk.thread.id)
    await asyncio.to_thread(chat_server.wait_for_cancellation)
    assert (await reading)[-1].name is EventName.DONE
    with pytest.raises(NotFoundError):
        await talk.message(answer)
    database = talk.tenant.services.connection.database
    assert await database["chat_messages"].count_documents({"organization_id": talk.tenant.id}) == 0
    assert await database["llm_usage"].count_documents({"organization_id": talk.tenant.id}) == 1


async def test_thread_deleted_in_another_process_stops_the_answer(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    elsewhere = talk.seen_by(await process())
    answer = await talk.ask(QUESTION)
    reading = asyncio.create_task(talk.events(answer))
    await asyncio.to_thread(chat_server.wait_for_slow)
    await elsewhere.chats.delete(talk.tenant.id, talk.thread.id)
    await asyncio.to_thread(chat_server.wait_for_cancellation)
    assert (await reading)[-1].name is EventName.DONE
    database = talk.tenant.services.connection.database
    assert await database["chat_messages"].count_documents({"organization_id": talk.tenant.id}) == 0


async def test_shut_down_process_leaves_a_failed_answer_and_a_thread_that_can_go_on(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    await read_until(talk, answer, "two three")
    await talk.chats.close()
    elsewhere = talk.seen_by(await process())
    message = await elsewhere.message(answer)
    assert message.state is AnswerState.FAILED
    assert message.error is not None
    assert message.error.code == "interrupted"
    assert (await elsewhere.current()).running_message_id is None


async def test_answer_of_a_process_that_died_is_ended_by_who_reads_it(
    begin: Begin, process: Process, chat_server: ChatServer
) -> None:
    chat_server.script(Say(WHOLE))
    talk = await begin()
    message = await talk.answered(QUESTION)
    database = talk.tenant.services.connection.database
    # As a killed process leaves it.
    long_ago = clock.now() - timedelta(minutes=5)
    await database["chat_messages"].update_one(
        {"role": "assistant"}, {"$set": {"state": "running", "heartbeat_at": long_ago, "finished_at": None}}
    )
    await database["chat_threads"].update_one(
        {}, {"$set": {"running_message_id": message.id, "running_until": long_ago}}
    )
    elsewhere = talk.seen_by(await process())
    events = await elsewhere.events(message)
    assert [event.name for event in events[-3:]] == [EventName.USAGE, EventName.ERROR, EventName.DONE]
    assert (await elsewhere.current()).running_message_id is None


async def test_document_deleted_while_its_answer_is_made_is_not_kept(
    begin: Begin, chat_server: ChatServer, eventually: EventuallyTrue
) -> None:
    chat_server.script(Slow(Say(WHOLE), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    reading = asyncio.create_task(talk.events(answer))
    await asyncio.to_thread(chat_server.wait_for_slow)
    for document_id in (await talk.message(answer)).document_ids:
        await talk.tenant.services.ingestion.documents.delete(talk.tenant.id, document_id)
    await talk.tenant.drain()
    chat_server.release()
    await reading
    database = talk.tenant.services.connection.database["chat_messages"]

    async def is_erased() -> bool:
        row = await database.find_one({"role": "assistant"})
        return row is not None and row["has_erased_passages"] and row["passages"] == [] and row["content"] == ""

    await eventually(is_erased)
    assert (await talk.current()).running_message_id is None
