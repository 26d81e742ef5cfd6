"""Money: no model is asked that the budget, or the organization's SPUs, do not allow; what was used is counted."""

import asyncio
import json

import pytest

from analytiq.assistants.chat.threads import NewThread
from analytiq.errors import QuotaExceededError
from analytiq.models.chat import AnswerState
from analytiq.retrieval.pipeline.request import SearchRequest, Turn
from tests.fakes.chat_server import Call, ChatServer, Say, Slow
from tests.integration.chat.conftest import OWNER, Begin, Talk

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

QUESTION = "Which sentence tells of whales in the year 1007?"
FOLLOW_UP = "And of birds in the year 1003?"


async def with_spus_used_up(talk: Talk) -> None:
    await talk.tenant.services.tenancy.metering.set_quota(talk.tenant.id, 0)


async def test_wording_of_a_follow_up_is_held_against_the_budget_before_a_model_is_asked(
    begin: Begin, chat_server: ChatServer
) -> None:
    talk = await begin()
    await talk.answered(QUESTION)
    used = (await talk.current()).usage.tokens
    await talk.chats.change(talk.tenant.organization, talk.thread.id, {"token_budget": used + 100})
    message = await talk.answered(FOLLOW_UP)
    assert message.error is not None
    assert message.error.code == "budget_exceeded"
    assert chat_server.calls == 1, "only the first question's"


async def test_follow_up_without_spus_asks_no_model(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    await talk.answered(QUESTION)
    await with_spus_used_up(talk)
    message = await talk.answered(FOLLOW_UP)
    assert message.error is not None
    assert message.error.code == "quota_exceeded"
    assert chat_server.calls == 1, "only the first question's"


async def test_first_question_without_spus_asks_no_model(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    await with_spus_used_up(talk)
    message = await talk.answered(QUESTION)
    assert message.error is not None
    assert message.error.code == "quota_exceeded"
    assert chat_server.calls == 0


async def test_answer_is_no_longer_than_the_budget_leaves(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin(token_budget=1500)
    assert (await talk.answered(QUESTION)).state is AnswerState.DONE
    assert 64 <= chat_server.requests[0]["max_tokens"] < 1500


async def test_search_of_an_answer_that_no_spu_is_left_for_is_told_to_the_model(
    begin: Begin, chat_server: ChatServer
) -> None:
    talk = await begin()
    await talk.answered(QUESTION)
    await with_spus_used_up(talk)
    new = NewThread(kb_ids=(talk.kb.id,), score_threshold=0.6, top_k=3)
    thread = await talk.chats.create(talk.tenant.organization, new, owner=OWNER)
    again = Talk(talk.tenant, talk.kb, thread)
    chat_server.script(Say(tool_calls=[Call("search_knowledge_base", {"query": "else"})]), Say("It is seven [1]."))
    message = await again.answered(QUESTION)
    assert (message.state, message.content) == (AnswerState.DONE, "It is seven [1].")
    told = chat_server.requests[-1]["messages"][-1]
    assert (told["role"], "quota_exceeded" in told["content"]) == ("tool", True)


async def test_searches_without_spus_ask_neither_chat_model_nor_reranker(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    await with_spus_used_up(talk)
    search = talk.tenant.services.retrieval.search
    for request in (
        SearchRequest(query="whales", hyde=True),
        SearchRequest(query="whales", history=(Turn("user", "birds"),)),
        SearchRequest(query="whales", rerank=True, rerank_model="hosted_vllm/fake-chat"),
        SearchRequest(query="whales", compress=True),
    ):
        with pytest.raises(QuotaExceededError):
            await search.search(talk.tenant.organization, talk.kb.id, request)
    assert (chat_server.calls, chat_server.rerank_requests) == (0, [])


async def test_wording_that_is_broken_off_is_counted(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    await talk.answered(QUESTION)
    chat_server.script(Slow(Say(json.dumps({"question": "birds", "passage": ""}))))
    answer = await talk.ask(FOLLOW_UP)
    await asyncio.to_thread(chat_server.wait_for_slow)
    message = await talk.chats.stop(talk.tenant.id, talk.thread.id, answer.id)
    assert message.state is AnswerState.STOPPED
    assert (message.usage.calls, message.usage.is_estimated) == (1, True)
    assert message.usage.prompt_tokens > 50
    rows = talk.tenant.services.connection.database["llm_usage"]
    (row,) = [row async for row in rows.find({"organization_id": talk.tenant.id, "is_complete": False})]
    assert row["prompt_tokens"] == message.usage.prompt_tokens
    chat_server.release()


async def test_calls_of_one_id_are_answered_each(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    calls = [Call("search_knowledge_base", {"query": query}, id="same") for query in ("birds", "whales")]
    chat_server.script(Say(tool_calls=calls), Say("Both [1]."))
    assert (await talk.answered(QUESTION)).state is AnswerState.DONE
    assert chat_server.refusals == []


async def test_answer_with_half_a_character_is_kept(begin: Begin, chat_server: ChatServer) -> None:
    talk = await begin()
    chat_server.script(Say("Seven \ud800 [1]."))
    message = await talk.answered(QUESTION)
    assert (message.state, message.content) == (AnswerState.DONE, "Seven \ufffd [1].")
