"""Answers: what the model is shown, what it may do, what is cited, what is charged."""

import json
import re
from typing import Any

import pytest

from analytiq.assistants.chat.events import EventName
from analytiq.assistants.chat.threads import NewThread, Reader
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError, QuotaExceededError
from analytiq.models.chat import AnswerState, StepKind
from analytiq.models.llm_usage import LlmOperation
from analytiq.storage.ids import new_id
from tests.fakes.chat_server import Call, ChatServer, Cut, Fail, Say, Slow
from tests.integration.chat.conftest import OWNER, Begin, Talk
from tests.integration.tenant import new_tenant

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

QUESTION = "Which sentence tells of whales in the year 1007?"


def cite_the_first(body: dict[str, Any]) -> str:
    return "It is sentence number 7 [1]."


def last_message(server: ChatServer, request: int = -1) -> str:
    return str(server.requests[request]["messages"][-1]["content"])


async def test_answer_streams_piece_by_piece_and_cites_where_it_stands(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say(cite_the_first))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    events = await talk.events(answer)
    names = [event.name for event in events]
    assert names[:2] == [EventName.TOOL_CALL, EventName.PASSAGES]
    assert names[-2:] == [EventName.USAGE, EventName.DONE]
    pieces = [event.text for event in events if event.name is EventName.TOKEN]
    assert "".join(pieces) == "It is sentence number 7 [1]."

    message = await talk.message(answer)
    assert (message.state, message.is_grounded) == (AnswerState.DONE, True)
    [citation] = message.citations
    best = message.passages[0]
    assert best.source == "whales.txt"
    assert best.chunk_index == 7
    assert citation.quote == "Sentence number 7 tells of whales in the year 1007 quite plainly."
    _, pages, _ = await talk.tenant.services.ingestion.documents.text_pages(
        talk.tenant.id, citation.document_id, first_page=1, page_count=1
    )
    assert pages[0].text[citation.start : citation.end] == citation.quote
    assert [message.content[start:end] for start, end in citation.marks] == ["[1]"]


async def test_model_is_shown_the_passages_with_their_numbers_and_told_to_keep_to_them(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("x"))
    talk = await begin()
    await talk.answered(QUESTION)
    messages = chat_server.requests[0]["messages"]
    assert messages[0]["role"] == "system"
    assert "say that it is not in the documents" in messages[0]["content"]
    assert '[1] "whales.txt", page 1:\nSentence number 7 tells of whales' in messages[-1]["content"]
    assert messages[-1]["content"].endswith(f"Question: {QUESTION}")


async def test_number_in_brackets_of_a_documents_own_text_is_no_citation_of_the_answer(
    begin: Begin, chat_server: ChatServer
) -> None:
    talk = await begin()
    await talk.tenant.document("paper.txt", "Zebras of 1077, as [2] says.")

    def repeat_the_text(request: dict[str, Any]) -> str:
        shown = str(request["messages"][-1]["content"])
        quoted = re.search(r"Zebras of 1077, as (\S+)", shown)
        return f"It is as {quoted[1] if quoted else shown} has shown [1]."

    chat_server.script(Say(repeat_the_text))
    message = await talk.answered("Zebras of 1077?")
    assert message.content == "It is as ⟦2⟧ has shown [1]."
    assert [citation.number for citation in message.citations] == [1]
    assert "[2]" in message.passages[0].content, "the document's own words are kept as they are"


async def read_by(talk: Talk, reader: Reader) -> list[str]:
    """The threads in a reader's list; it holds those that the reader may open, and no others."""
    found, total = await talk.chats.page(talk.tenant.id, reader, kb_id=None, skip=0, limit=10)
    assert total == len(found)
    if found:
        await talk.chats.require_reader(talk.tenant.id, talk.thread.id, reader)
    else:
        with pytest.raises(NotFoundError):
            await talk.chats.require_reader(talk.tenant.id, talk.thread.id, reader)
    return [thread.id for thread in found]


async def test_thread_of_somebody_else_is_unknown_and_one_of_before_is_the_administrators(begin: Begin) -> None:
    talk = await begin()
    other, same_id = "user:64b000000000000000000002", "token:64b000000000000000000001"
    assert await read_by(talk, Reader(OWNER, is_administrator=False)) == [talk.thread.id]
    for stranger in (other, same_id):
        assert await read_by(talk, Reader(stranger, is_administrator=False)) == []
        assert await read_by(talk, Reader(stranger, is_administrator=True)) == []
    threads = talk.tenant.services.connection.database["chat_threads"]
    await threads.update_many({"organization_id": talk.tenant.id}, {"$unset": {"owner": 1}})
    assert await read_by(talk, Reader(other, is_administrator=False)) == []
    assert await read_by(talk, Reader(OWNER, is_administrator=False)) == []
    assert await read_by(talk, Reader(other, is_administrator=True)) == [talk.thread.id]


async def test_nothing_relevant_is_told_to_the_model_and_marks_the_answer_as_ungrounded(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("That is not in the documents [1]."))
    talk = await begin(score_threshold=0.95)
    message = await talk.answered("Zebra quilting patterns, please?")
    assert "The documents hold nothing that is relevant enough" in last_message(chat_server)
    assert message.passages == ()
    assert message.citations == ()
    assert message.is_grounded is False
    assert message.state is AnswerState.DONE


async def test_answer_that_cites_nothing_is_not_grounded_though_passages_were_found(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("Paris is the capital of France [99] [0]."))
    message = await (await begin()).answered(QUESTION)
    assert message.passages
    assert (message.is_grounded, message.citations) == (False, ())


async def test_follow_up_is_searched_as_it_was_meant(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    chat_server.script(Say("Sentence 7 tells of whales [1]."))
    await talk.answered(QUESTION)
    rewritten = "Which sentence tells of birds in the year 1003?"
    chat_server.script(Say(json.dumps({"question": rewritten, "passage": ""})), Say("Sentence 3 [1]."))
    message = await talk.answered("And of birds in 1003?")
    assert message.question == rewritten
    assert (message.passages[0].source, message.passages[0].chunk_index) == ("birds.txt", 3)
    shown = [(item["role"], item["content"]) for item in chat_server.requests[-1]["messages"]]
    assert ("user", QUESTION) in shown
    assert ("assistant", "Sentence 7 tells of whales.") in shown, (
        "numbers of an earlier answer mean nothing in this one"
    )
    assert rewritten in shown[-1][1]
    assert message.usage.calls == 2, "the wording of the question was asked of the model, too"
    database = talk.tenant.services.connection.database
    rows = [row async for row in database["llm_usage"].find({"organization_id": talk.tenant.id})]
    thread = await talk.current()
    assert thread.usage.prompt_tokens == sum(row["prompt_tokens"] for row in rows)
    assert thread.usage.completion_tokens == sum(row["completion_tokens"] for row in rows)
    assert (thread.title, thread.message_count) == (QUESTION, 4)


async def test_model_searches_again_and_a_passage_keeps_its_number(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(
        Say(
            "Let me look.",
            tool_calls=[
                Call("search_knowledge_base", {"query": "Sentence number 2 tells of birds in the year 1002"}),
                Call("search_knowledge_base", {"query": QUESTION, "top_k": 100000}),
            ],
        ),
        Say("Whales are in 7 [1]."),
    )
    talk = await begin()
    answer = await talk.ask(QUESTION)
    events = await talk.events(answer)
    message = await talk.message(answer)
    assert message.content == "Let me look.\n\nWhales are in 7 [1]."
    text = "".join(event.text for event in events if event.name is EventName.TOKEN)
    assert text == message.content
    calls = [step for step in message.steps if step.kind is StepKind.TOOL_CALL]
    assert [call.call_id for call in calls] == ["question", "call_0", "call_1"]
    first = message.passages[0]
    assert len({(item.document_id, item.chunk_index) for item in message.passages}) == len(message.passages)
    assert [item.number for item in message.passages] == list(range(1, len(message.passages) + 1))
    tools = [item for item in chat_server.requests[1]["messages"] if item["role"] == "tool"]
    assert '[1] "whales.txt"' in tools[1]["content"]
    assert "top_k was set to" in tools[1]["content"]
    assert "birds.txt" in tools[0]["content"]
    assert message.citations[0].document_id == first.document_id
    assert message.usage.calls == 2


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (Call("search_knowledge_base", "{not json"), "not JSON"),
        (Call("search_knowledge_base", {"query": "x", "kb_id": "f" * 24}), "takes no 'kb_id'"),
        (Call("search_knowledge_base", {"query": "x", "organization_id": "f" * 24}), "takes no 'organization_id'"),
        (Call("search_knowledge_base", {"query": "x", "metadata_filter": {"$where": "1"}}), "$where"),
        (Call("delete_everything", {}), "There is no tool"),
    ],
)
async def test_call_that_is_not_allowed_goes_back_to_the_model_with_the_reason(
    begin: Begin, chat_server: ChatServer, call: Call, why: str
) -> None:
    chat_server.script(Say(tool_calls=[call]), Say("I could not look further."))
    message = await (await begin()).answered(QUESTION)
    tool = next(item for item in chat_server.requests[1]["messages"] if item["role"] == "tool")
    assert why in tool["content"]
    assert why in str(message.steps[-1].error)
    assert message.state is AnswerState.DONE


async def test_model_that_searches_for_ever_is_made_to_answer_in_the_last_round(
    begin: Begin, chat_server: ChatServer
) -> None:
    search = Say(tool_calls=[Call("search_knowledge_base", {"query": "whales"})])
    chat_server.script(search, search, Say("Enough [1]."))
    message = await (await begin(chat={"max_rounds": 3})).answered(QUESTION)
    assert [request["tool_choice"] for request in chat_server.requests] == ["auto", "auto", "none"]
    assert message.content == "Enough [1]."


async def test_thread_without_further_searches_gives_the_model_no_tool(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("Seven [1]."))
    await (await begin(searches_again=False)).answered(QUESTION)
    assert "tools" not in chat_server.requests[0]


async def test_what_was_used_is_in_the_message_the_thread_and_the_organizations_usage(
    begin: Begin, chat_server: ChatServer
) -> None:
    chat_server.script(Say("Seven [1]."))
    talk = await begin()
    message = await talk.answered(QUESTION)
    assert message.usage.calls == 1
    assert message.usage.prompt_tokens > 50
    assert not message.usage.is_estimated
    assert message.usage.spus == 1, "the question was embedded for the first time"
    assert (await talk.current()).usage == message.usage
    database = talk.tenant.services.connection.database
    [row] = [row async for row in database["llm_usage"].find({"organization_id": talk.tenant.id})]
    assert (row["operation"], row["run_id"], row["kb_id"]) == (LlmOperation.CHAT.value, talk.thread.id, talk.kb.id)
    assert row["prompt_tokens"] == message.usage.prompt_tokens


async def test_stream_that_is_cut_fails_with_what_was_said_and_used_kept(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Cut(Say("one two three four five six"), pieces=4))
    talk = await begin()
    answer = await talk.ask(QUESTION)
    events = await talk.events(answer)
    assert [event.name for event in events[-3:]] == [EventName.USAGE, EventName.ERROR, EventName.DONE]
    message = await talk.message(answer)
    assert message.state is AnswerState.FAILED
    assert message.error is not None
    assert message.content.startswith("one two")
    assert message.usage.is_estimated
    assert message.is_grounded is False
    assert (await talk.current()).running_message_id is None
    chat_server.script(Say(json.dumps({"question": QUESTION, "passage": ""})), Say("Seven [1]."))
    assert (await talk.answered("Again, please")).state is AnswerState.DONE


async def test_provider_that_refuses_fails_the_answer_and_not_the_thread(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Fail(401, "no such key"))
    talk = await begin()
    message = await talk.answered(QUESTION)
    assert message.state is AnswerState.FAILED
    assert message.error is not None
    assert message.error.code == "provider_refused"
    assert (await talk.current()).running_message_id is None


async def test_budget_is_enforced_before_the_call(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin(token_budget=40)
    message = await talk.answered(QUESTION)
    assert chat_server.calls == 0
    assert message.error is not None
    assert message.error.code == "budget_exceeded"
    await talk.chats.change(talk.tenant.organization, talk.thread.id, {"token_budget": 1_000_000})
    chat_server.script(Say(json.dumps({"question": QUESTION, "passage": ""})), Say("Seven [1]."))
    assert (await talk.answered(QUESTION)).state is AnswerState.DONE
    await talk.chats.change(talk.tenant.organization, talk.thread.id, {"token_budget": 50})
    with pytest.raises(QuotaExceededError, match="token_budget"):
        await talk.ask(QUESTION)


async def test_deleted_knowledge_base_fails_the_answer_with_its_name(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    await talk.tenant.services.ingestion.knowledge_bases.delete(talk.tenant.id, talk.kb.id)
    message = await talk.answered(QUESTION)
    assert message.error is not None
    assert (message.error.code, talk.kb.id in message.error.detail) == ("not_found", True)
    assert chat_server.calls == 0


async def test_thread_takes_only_knowledge_bases_of_the_organization(begin: Begin) -> None:
    talk = await begin()
    other = await new_tenant(talk.tenant.services)
    foreign = await other.knowledge_base()
    for kb_id in (foreign.id, new_id(), "x"):
        with pytest.raises(InvalidInputError) as refused:
            await talk.chats.create(talk.tenant.organization, NewThread(kb_ids=(talk.kb.id, kb_id)), owner=OWNER)
        assert refused.value.errors[0].field == "kb_ids[1]"


async def test_another_organization_sees_neither_thread_nor_message(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("Seven [1]."))
    talk = await begin()
    message = await talk.answered(QUESTION)
    other = await new_tenant(talk.tenant.services)
    chats = talk.chats
    with pytest.raises(NotFoundError):
        await chats.get(other.id, talk.thread.id)
    with pytest.raises(NotFoundError):
        await chats.messages(other.id, talk.thread.id, skip=0, limit=10)
    with pytest.raises(NotFoundError):
        await chats.message(other.id, talk.thread.id, message.id)
    with pytest.raises(NotFoundError):
        await chats.ask(other.organization, talk.thread.id, "?")
    with pytest.raises(NotFoundError):
        await chats.stop(other.id, talk.thread.id, message.id)
    with pytest.raises(NotFoundError):
        await chats.delete(other.id, talk.thread.id)
    assert await chats.page(other.id, Reader(OWNER, is_administrator=True), kb_id=None, skip=0, limit=10) == ([], 0)


async def test_second_question_waits_for_the_first_answer(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Slow())
    talk = await begin()
    answer = await talk.ask(QUESTION)
    with pytest.raises(ConflictError) as refused:
        await talk.ask("And then?")
    assert refused.value.code == "answer_running"
    stopped = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert stopped.state is AnswerState.STOPPED


async def test_deleting_a_document_takes_its_passages_out_of_answers(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("Whales are in sentence 7 [1]."))
    talk = await begin()
    message = await talk.answered(QUESTION)
    for document_id in message.document_ids:
        await talk.tenant.services.ingestion.documents.delete(talk.tenant.id, document_id)
    await talk.tenant.drain()
    left = await talk.message(message)
    assert left.has_erased_passages
    assert (left.content, left.passages, left.citations, left.steps) == ("", (), (), ())
    database = talk.tenant.services.connection.database
    for row in [row async for row in database["chat_messages"].find({"role": "assistant"})]:
        assert "whales in the year" not in str(row)


async def test_model_sums_a_table_and_cites_its_rows(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    table = await talk.tenant.document("prices.csv", "item;price;year\nwhale oil;1,50;1007\ntea;2,25;1008\n")
    hidden = await talk.tenant.document("secret.csv", "item,price\ntea,1\nink,2\n", tags=[])

    def cite_the_row(request: dict[str, Any]) -> str:
        summed = str(request["messages"][-3]["content"])
        number = re.findall(r"\[(\d+)\]", summed)[-1]
        return f"It is 2.25 [{number}]."

    chat_server.script(
        Say(
            tool_calls=[
                Call("query_table", {}),
                Call(
                    "query_table", {"table_id": f"{table.id}-1", "sql": "SELECT sum(price) FROM rows WHERE year > 1007"}
                ),
                Call("query_table", {"table_id": f"{hidden.id}-1", "sql": "SELECT 1"}),
                Call("query_table", {"table_id": f"{table.id}-1", "sql": "SELECT cost FROM rows"}),
            ]
        ),
        Say(cite_the_row),
    )
    message = await talk.answered(QUESTION)
    assert [tool["function"]["name"] for tool in chat_server.requests[0]["tools"]] == [
        "search_knowledge_base", "query_table",
    ]  # fmt: skip
    listed, summed, unknown, wrong = [item["content"] for item in chat_server.requests[1]["messages"][-4:]]
    assert f'{table.id}-1: "prices.csv", 2 rows: "item" text; "price" decimal; "year" integer' in listed
    assert "secret.csv" not in listed
    assert summed.startswith("sum(price)\n2.25\n(The whole result; it rests on 1 rows.)")
    assert "No table has the id" in unknown
    assert 'Columns of rows: "item" (text), "price" (decimal), "year" (integer).' in wrong
    assert "to be cited" in summed, summed
    (citation,) = message.citations
    assert (citation.source, citation.quote) == ("prices.csv", "item: tea; price: 2,25; year: 1008")
    text = await talk.tenant.services.repositories.texts.read(talk.tenant.id, table.text_id or "")
    assert text.text[citation.start : citation.end] == citation.quote


async def test_knowledge_base_without_spreadsheets_offers_no_tables(begin: Begin, chat_server: ChatServer) -> None:
    chat_server.script(Say("x"))
    await (await begin()).answered(QUESTION)
    assert [tool["function"]["name"] for tool in chat_server.requests[0]["tools"]] == ["search_knowledge_base"]
