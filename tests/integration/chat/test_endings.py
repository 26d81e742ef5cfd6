"""Endings of answers: complete, cut, filtered, empty; continued; and models' thoughts apart from answers."""

import asyncio
from typing import Any

import pytest

from analytiq.assistants.chat.events import Event, EventName, Position
from analytiq.errors import ConflictError
from analytiq.models.chat import AnswerEnd, AnswerState, ChatMessage
from analytiq.models.llm_usage import LlmOperation
from tests.fakes.chat_server import ChatServer, Fail, Say, Slow
from tests.integration.chat.conftest import Begin, Process, Talk

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

QUESTION = "Which sentence tells of whales in the year 1007?"


@pytest.mark.parametrize(
    ("step", "ended_by", "can_continue"),
    [
        (Say("It is number 7 [1]."), AnswerEnd.COMPLETE, False),
        (Say("It is number", finish_reason="length"), AnswerEnd.LENGTH, True),
        (Say("", finish_reason="length"), AnswerEnd.LENGTH, False),
        (Say("It is", finish_reason="content_filter"), AnswerEnd.CONTENT_FILTER, False),
        (Say("", finish_reason="content_filter"), AnswerEnd.CONTENT_FILTER, False),
        (Say(""), AnswerEnd.EMPTY, False),
        (Say(" \n"), AnswerEnd.EMPTY, False),
        (Say("<think>Nothing comes to mind.</think>"), AnswerEnd.EMPTY, False),
    ],
)
async def test_how_an_answer_ended_is_marked(
    begin: Begin, chat_server: ChatServer, step: Say, ended_by: AnswerEnd, can_continue: bool
) -> None:
    chat_server.script(step)
    message = await (await begin()).answered(QUESTION)
    assert (message.state, message.ended_by) == (AnswerState.DONE, ended_by)
    assert message.can_continue is can_continue


@pytest.mark.parametrize(
    "step",
    [
        Say("<think>\nIs it [2]?\n</think>\n\nIt is number 7 [1]."),
        Say("It is number 7 [1].", reasoning="Is it [2]?"),
        Say("Is it [2]?\n</think>\n\nIt is number 7 [1]."),
    ],
)
async def test_what_a_model_thinks_is_kept_apart_and_never_cited(
    begin: Begin, chat_server: ChatServer, step: Say
) -> None:
    chat_server.script(step, Say("Yes [1]."))
    talk = await begin(searches_again=False)
    answer = await talk.ask(QUESTION)
    events = await talk.events(answer)
    message = await talk.message(answer)
    assert message.content == "It is number 7 [1]."
    assert message.reasoning.strip() == "Is it [2]?"
    assert [citation.number for citation in message.citations] == [1]
    if "<think>" in str(step.text) or step.reasoning:
        assert said_by(events, EventName.REASONING).strip() == "Is it [2]?"
        assert said_by(events, EventName.TOKEN) == message.content
    # Who comes later is told the same.
    again = await talk.events(answer)
    assert said_by(again, EventName.TOKEN) == message.content
    await talk.answered("Is that so?")
    assert all("Is it" not in str(sent["content"]) for sent in chat_server.requests[-1]["messages"])


async def test_reader_that_comes_back_in_the_middle_of_the_reasoning_reads_nothing_twice(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("So it is [1].", reasoning="one two three"))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    events = await talk.events(answer)
    thought = said_by(events, EventName.REASONING)
    assert thought.split() == ["one", "two", "three"]
    for place, event in enumerate(events):
        again = await talk.events(answer, Position.of(str(event.position)))
        for name in (EventName.REASONING, EventName.TOKEN):
            assert said_by(events[: place + 1], name) + said_by(again, name) == said_by(events, name)


def said_by(events: list[Event], name: EventName) -> str:
    return "".join(event.text for event in events if event.name is name)


async def go_on(talk: Talk, message: ChatMessage) -> ChatMessage:
    answer = await talk.chats.go_on(talk.tenant.organization, talk.thread.id, message.id)
    assert (answer.id, answer.state) == (message.id, AnswerState.RUNNING)
    await talk.events(answer, Position.at_end_of(answer))
    return await talk.message(answer)


async def test_answer_that_was_cut_is_continued_in_the_same_message(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("It is number 7, which tells", finish_reason="length"), Say(" of whales [1]."))
    talk = await begin()
    cut = await talk.answered(QUESTION)
    used = (await talk.current()).usage
    assert cut.citations == ()
    message = await go_on(talk, cut)
    assert message.content == "It is number 7, which tells of whales [1]."
    assert (message.state, message.ended_by, message.is_grounded) == (AnswerState.DONE, AnswerEnd.COMPLETE, True)
    [citation] = message.citations
    assert citation.quote == "Sentence number 7 tells of whales in the year 1007 quite plainly."
    sent = chat_server.requests[-1]["messages"]
    assert sent[-2] == {"role": "assistant", "content": cut.content}
    assert "beginning exactly after its last character" in sent[-1]["content"]
    assert f"Question: {QUESTION}" in sent[-3]["content"]
    assert "Sentence number 7 tells of whales" in sent[-3]["content"]
    # Counted once each: the message has both calls, and the thread as many.
    thread = await talk.current()
    assert message.usage.calls == thread.usage.calls == 2
    assert thread.usage.tokens == message.usage.tokens > used.tokens
    assert thread.message_count == 2
    assert thread.running_message_id is None


async def test_readers_are_told_what_is_added_only(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("one two", finish_reason="length"), Slow(Say(" three four [1]."), pieces=2))
    talk = await begin()
    cut = await talk.answered(QUESTION)
    last = (await talk.events(cut))[-1].position
    answer = await talk.chats.go_on(talk.tenant.organization, talk.thread.id, cut.id)
    await asyncio.to_thread(chat_server.wait_for_slow)
    chat_server.release()
    # Whoever had read the answer to its end goes on from there as well.
    events = await talk.events(answer, last)
    assert said_by(events, EventName.TOKEN) == " three four [1]."
    assert [event.name for event in events if event.name is not EventName.TOKEN] == [EventName.USAGE, EventName.DONE]
    again = await talk.events(answer, Position.at_end_of(answer))
    assert said_by(again, EventName.TOKEN) == " three four [1]."


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("The notice period is thir", "ty days.", "The notice period is thirty days."),
        ("The notice period is", " thirty days.", "The notice period is thirty days."),
        ("The notice period is", "notice period is thirty days.", "The notice period is thirty days."),
        ("The notice period is", "\nThe notice period is thirty days.", "The notice period is thirty days."),
        ("The notice period is", "<think>Go on.</think> thirty days.", "The notice period isthirty days."),
    ],
)
async def test_what_a_model_repeats_at_the_seam_is_left_out(
    begin: Begin, chat_server: ChatServer, first: str, second: str, whole: str
) -> None:
    chat_server.script(Say(first, finish_reason="length"), Say(second))
    talk = await begin()
    message = await go_on(talk, await talk.answered(QUESTION))
    assert message.content == whole


async def test_continuation_that_is_cut_or_fails_can_be_continued(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(
        Say("one two", finish_reason="length"),
        Say(" three four", finish_reason="length"),
        Fail(500),
        Say(" five six [1]."),
    )
    talk = await begin()
    cut = await talk.answered(QUESTION)
    twice = await go_on(talk, cut)
    assert (twice.content, twice.ended_by) == ("one two three four", AnswerEnd.LENGTH)
    failed = await go_on(talk, twice)
    assert (failed.state, failed.content) == (AnswerState.FAILED, "one two three four")
    assert failed.can_continue
    message = await go_on(talk, failed)
    assert message.content == "one two three four five six [1]."
    assert message.error is None
    thread = await talk.current()
    assert thread.usage.tokens == message.usage.tokens


async def test_answer_that_was_stopped_is_continued(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Slow(Say("one two three four"), pieces=3), Say(" and five [1]."))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    await asyncio.to_thread(chat_server.wait_for_slow)
    while not (await talk.message(answer)).content:
        await talk.chats.message(talk.tenant.id, talk.thread.id, answer.id)
    stopped = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    message = await go_on(talk, stopped)
    assert message.content == f"{stopped.content} and five [1]."
    assert message.state is AnswerState.DONE


async def refused(talk: Talk, message: ChatMessage) -> str:
    with pytest.raises(ConflictError) as refusal:
        await talk.chats.go_on(talk.tenant.organization, talk.thread.id, message.id)
    return refusal.value.code


async def test_only_the_last_answer_goes_on_and_only_where_it_was_cut(begin: Begin, chat_server: ChatServer) -> None:
    # The second question is worded anew before it is searched for.
    chat_server.script(Say("one two", finish_reason="length"), Say("no JSON"), Say("Whole [1]."))
    talk = await begin()
    cut = await talk.answered(QUESTION)
    whole = await talk.answered("And now?")
    assert await refused(talk, whole) == "cannot_continue"
    assert await refused(talk, cut) == "cannot_continue", "a question was asked since"
    found, _ = await talk.chats.messages(talk.tenant.id, talk.thread.id, skip=0, limit=10)
    assert await refused(talk, found[0]) == "cannot_continue", "it is a question"
    chat_server.script(Say("no JSON"), Slow(Say("one two three four"), pieces=2))
    running = await talk.ask("Once more?")
    await asyncio.to_thread(chat_server.wait_for_slow)
    assert await refused(talk, running) == "answer_running"
    chat_server.release()
    await talk.events(running)


async def test_of_two_that_continue_at_once_one_does(begin: Begin, chat_server: ChatServer, process: Process) -> None:
    chat_server.script(Say("one two", finish_reason="length"), Slow(Say(" three four"), pieces=2))
    talk = await begin()
    cut = await talk.answered(QUESTION)
    other = talk.seen_by(await process())
    answer = await talk.chats.go_on(talk.tenant.organization, talk.thread.id, cut.id)
    await asyncio.to_thread(chat_server.wait_for_slow)
    assert await refused(other, cut) == "answer_running"
    chat_server.release()
    # A reader in the other process is told the rest, too.
    events = await other.events(answer, Position.at_end_of(answer))
    assert said_by(events, EventName.TOKEN) == " three four"


async def test_what_a_deleted_document_gave_to_the_reasoning_goes_with_the_answer(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("Seven [1].", reasoning="Whales are secret."))
    talk = await begin()
    message = await talk.answered(QUESTION)
    assert message.reasoning
    services = talk.tenant.services
    for document_id in message.document_ids:
        await services.ingestion.documents.delete(talk.tenant.id, document_id)
    await talk.tenant.drain()
    message = await talk.message(message)
    assert (message.content, message.reasoning, message.has_erased_passages) == ("", "", True)
    assert not message.can_continue


async def test_code_of_an_answer_is_code_and_cites_nothing(begin: Begin, chat_server: ChatServer) -> None:
    def copy(body: dict[str, Any]) -> str:
        shown = str(body["messages"][-1]["content"])
        assert "arr⟦1⟧" in shown
        return "Write `x = arr⟦1⟧` for zebras【1】."

    talk = await begin()
    await talk.tenant.document("code.txt", "Zebras of 1077: x = arr[1]")
    chat_server.script(Say(copy))
    message = await talk.answered("Zebras of 1077?")
    assert message.content == "Write `x = arr[1]` for zebras【1】."
    [citation] = message.citations
    assert [message.content[start:end] for start, end in citation.marks] == ["【1】"]


async def test_calls_of_a_continuation_are_noted_as_chat(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("one two", finish_reason="length"), Say(" three."))
    talk = await begin()
    await go_on(talk, await talk.answered(QUESTION))
    rows = talk.tenant.services.connection.database["llm_usage"].find({"organization_id": talk.tenant.id})
    noted = [row["operation"] async for row in rows]
    assert noted == [LlmOperation.CHAT.value] * 2
