"""Steps of a search that a model makes: what they change, and that the answer comes without them too."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from analytiq.errors import NotFoundError
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.llm_usage import LlmOperation
from analytiq.retrieval.filters.tree import BuiltInField, In
from analytiq.retrieval.pipeline.request import Degradation, Mode, Preset, SearchResponse, Turn
from analytiq.settings import LlmSettings, SearchSettings
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.llm_usage import LlmUsageRepository
from tests.fakes.chat_server import ChatServer, Fail, Say, Slow
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant, prose

pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")

MODEL = "hosted_vllm/fake-chat"
RERANKER = "jina_ai/jina-reranker-v2-base-multilingual"


@pytest.fixture
def chat_server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
async def tenant(compose_services: Compose, chat_server: ChatServer) -> Tenant:
    """An organization with keys for the fake chat model and reranker, and steps that give up soon."""
    services = await compose_services(
        search=SearchSettings(step_timeout_seconds=5.0), llm=LlmSettings(default_model=MODEL)
    )
    key = SecretStr(chat_server.api_key)
    await services.inference.credentials.store_platform_defaults(
        {"hosted_vllm": (key, chat_server.url), "jina_ai": (key, f"{chat_server.url}/rerank")}
    )
    return await new_tenant(services)


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 10))
    await tenant.document("birds.txt", prose("birds", 10))
    return kb


def steps_of(answer: SearchResponse) -> dict[str, str]:
    return {lacking.step: lacking.code for lacking in answer.degraded}


def understood(question: str, passage: str = "") -> Say:
    return Say(json.dumps({"question": question, "passage": passage}))


async def test_question_of_a_conversation_is_searched_as_it_was_meant(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    chat_server.script(understood("Sentence number 7 tells of birds in the year 1007"))
    history = (Turn("user", "Tell me of birds."), Turn("assistant", "Which year?"))
    answer = await tenant.search(kb.id, "the seventh one", history=history, mode=Mode.VECTOR)
    assert answer.degraded == ()
    assert answer.generated_queries == ("Sentence number 7 tells of birds in the year 1007",)
    assert (answer.results[0].source, answer.results[0].chunk_index) == ("birds.txt", 7)
    shown = chat_server.requests[0]["messages"][1]["content"]
    assert "Tell me of birds." in shown
    assert "the seventh one" in shown


async def test_imagined_answer_is_searched_beside_the_question(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    imagined = "Sentence number 3 tells of birds in the year 1003 quite plainly."
    chat_server.script(understood("What happened?", imagined))
    answer = await tenant.search(kb.id, "What happened?", hyde=True, mode=Mode.VECTOR)
    assert answer.generated_queries == (imagined,)
    assert (answer.results[0].source, answer.results[0].chunk_index) == ("birds.txt", 3)
    assert chat_server.calls == 1


async def test_reranker_decides_the_order(tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer) -> None:
    question = "1004 plainly birds"
    answer = await tenant.search(kb.id, question, rerank=True, rerank_model=RERANKER, mode=Mode.VECTOR, top_k=3)
    assert answer.degraded == ()
    assert answer.statistics.reranked >= 3
    best = answer.results[0]
    assert best.scores.rerank == best.relevance
    scores = [result.scores.rerank or 0.0 for result in answer.results]
    assert scores == sorted(scores, reverse=True)
    (asked,) = chat_server.rerank_requests
    assert asked["query"] == question


async def test_local_reranker_needs_no_key(tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer) -> None:
    answer = await tenant.search(kb.id, "birds in the year 1004", rerank=True, rerank_model="local/maxsim", top_k=3)
    assert answer.degraded == ()
    assert all(0.0 <= (result.scores.rerank or -1.0) <= 1.0 for result in answer.results)
    assert chat_server.rerank_requests == []


async def test_excerpts_are_sentences_of_the_passage(tenant: Tenant, chat_server: ChatServer) -> None:
    kb = await tenant.knowledge_base(chunk_size=100)
    await tenant.document("notes.txt", "The sky is blue. Notice is thirty days. Cats sleep a lot.")
    chat_server.script(Say('{"numbers": [2, 99]}'))
    answer = await tenant.search(kb.id, "How long is the notice?", compress=True, mode=Mode.VECTOR)
    assert answer.results[0].excerpt == "Notice is thirty days."
    assert answer.results[0].content.startswith("The sky is blue.")


async def test_calls_are_counted_with_what_they_are_for(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    chat_server.script(understood("birds"))
    await tenant.search(kb.id, "and then?", history=(Turn("user", "birds"),), rerank=True, rerank_model=RERANKER)
    totals = await LlmUsageRepository(tenant.services.connection).totals(tenant.id)
    assert {(total.operation, total.model, total.calls) for total in totals} == {
        (LlmOperation.SEARCH, MODEL, 1),
        (LlmOperation.RERANK, RERANKER, 1),
    }
    assert all(total.prompt_tokens > 0 for total in totals)


@pytest.mark.parametrize(
    "failing",
    [Fail(500), Fail(401), Fail(400), Fail(200, body="no json"), Say("no json"), Say('{"question": ""}')],
    ids=["500", "401", "400", "garbage", "prose", "empty"],
)
async def test_question_stands_as_asked_where_no_chat_model_understands_it(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer, failing: Any
) -> None:
    chat_server.script(*[failing] * 3)
    answer = await tenant.search(
        kb.id, "Sentence number 7 tells of whales in the year 1007", hyde=True, mode=Mode.VECTOR
    )
    assert list(steps_of(answer)) == ["understand"]
    assert (answer.results[0].source, answer.results[0].chunk_index) == ("whales.txt", 7)


async def test_step_that_takes_too_long_is_left_out(
    compose_services: Compose, tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    hasty = await compose_services(
        search=SearchSettings(step_timeout_seconds=0.2), llm=LlmSettings(default_model=MODEL)
    )
    chat_server.script(Slow())
    tenant.services = hasty
    answer = await tenant.search(kb.id, "whales", hyde=True, mode=Mode.VECTOR)
    assert answer.degraded[0].code == "timeout"
    assert answer.results
    chat_server.release()


async def test_order_of_the_search_stands_where_the_reranker_is_switched_off(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    question = "Sentence number 7 tells of whales in the year 1007"
    plain = await tenant.search(kb.id, question, mode=Mode.VECTOR)
    chat_server.is_reranking = False
    answer = await tenant.search(kb.id, question, rerank=True, rerank_model=RERANKER, mode=Mode.VECTOR)
    assert list(steps_of(answer)) == ["rerank"]
    assert [result.chunk_index for result in answer.results] == [result.chunk_index for result in plain.results]


async def test_what_is_not_configured_is_said_and_not_refused(
    compose_services: Compose, embedding_server: EmbeddingServer
) -> None:
    services = await compose_services()
    tenant = await new_tenant(services)
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 3))
    answer = await tenant.search(kb.id, "whales", preset=Preset.VECTOR_WITH_RERANKING, rerank_model=RERANKER)
    assert answer.results
    assert steps_of(answer) == {"rerank": "provider_key_missing"}
    assert isinstance(answer.degraded[0], Degradation)
    assert embedding_server.calls > 0


async def test_provider_of_the_vectors_switched_off_leaves_the_words(
    tenant: Tenant, kb: KnowledgeBase, embedding_server: EmbeddingServer
) -> None:
    embedding_server.script(*[Failure.SERVER_ERROR] * 3)
    answer = await tenant.search(kb.id, "a question never asked before about birds 1004")
    assert list(steps_of(answer)) == ["embed"]
    assert answer.results[0].source == "birds.txt"
    assert answer.results[0].scores.vector is None


async def test_platforms_key_is_not_for_any_model_that_a_tenant_names(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    costly = "hosted_vllm/fake-chat-small"
    answer = await tenant.search(kb.id, "whales", hyde=True, model=costly, mode=Mode.VECTOR)
    assert steps_of(answer) == {"understand": "model_not_allowed"}
    assert chat_server.calls == 0


async def test_no_model_is_asked_where_nothing_can_be_found(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer, embedding_server: EmbeddingServer
) -> None:
    calls = embedding_server.calls
    answer = await tenant.search(kb.id, "whales", hyde=True, filter=In(BuiltInField.DOCUMENT_ID, ()))
    assert answer.results == ()
    with pytest.raises(NotFoundError):
        await tenant.search(new_id(), "whales", hyde=True)
    assert (chat_server.calls, embedding_server.calls) == (0, calls)


async def test_reranker_is_asked_once_a_search_however_deep_it_has_to_look(
    tenant: Tenant, chat_server: ChatServer
) -> None:
    kb = await tenant.knowledge_base()
    for number in range(3):
        await tenant.document(f"{number}.txt", prose("whales", 60))
    found = {"rerank": True, "rerank_model": RERANKER, "deduplicate": True}
    answer = await tenant.search(kb.id, "whales", top_k=60, mode=Mode.VECTOR, **found)
    assert len(answer.results) == 60
    assert answer.statistics.duplicates > 0
    assert len(chat_server.rerank_requests) == 1


async def test_threshold_is_for_the_rerankers_scores_where_there_is_one(tenant: Tenant, kb: KnowledgeBase) -> None:
    found = {"rerank": True, "rerank_model": RERANKER, "score_threshold": 0.5}
    answer = await tenant.search(kb.id, "1004 quite zebra", top_k=20, mode=Mode.VECTOR, **found)
    assert answer.results
    assert all((result.scores.rerank or 0.0) >= 0.5 for result in answer.results)
    assert answer.statistics.below_threshold > 0


async def test_passages_of_which_nothing_answers_are_left_out_and_counted(
    tenant: Tenant, chat_server: ChatServer
) -> None:
    kb = await tenant.knowledge_base(chunk_size=100)
    await tenant.document("notes.txt", "Notice is thirty days. Cats sleep a lot.")
    await tenant.document("other.txt", "Notice the sky. Dogs bark.")

    def choose(body: dict[str, Any]) -> str:
        lines = str(body["messages"][-1]["content"]).splitlines()
        number = next(line.partition(".")[0] for line in lines if "thirty days" in line)
        return json.dumps({"numbers": [int(number)]})

    chat_server.script(Say(choose), Say('{"numbers": []}'))
    answer = await tenant.search(kb.id, "How long is the notice?", compress=True, mode=Mode.VECTOR)
    assert [result.excerpt for result in answer.results] == ["Notice is thirty days."]
    assert [source.source for source in answer.sources] == ["notes.txt"]
    assert answer.statistics.without_excerpt == 1
    nothing = await tenant.search(kb.id, "How long is the notice?", compress=True, mode=Mode.VECTOR)
    assert (nothing.results, nothing.sources, nothing.statistics.without_excerpt) == ((), (), 2)


async def test_equal_searches_ask_the_chat_model_once(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    imagined = "Sentence number 3 tells of birds in the year 1003 quite plainly."
    chat_server.script(*[understood("What happened?", imagined)] * 4)
    answers = await asyncio.gather(
        *(tenant.search(kb.id, "What happened?", hyde=True, mode=Mode.VECTOR) for _ in range(3))
    )
    assert {answer.generated_queries for answer in answers} == {(imagined,)}
    assert chat_server.calls == 1
    totals = await LlmUsageRepository(tenant.services.connection).totals(tenant.id)
    assert [total.calls for total in totals] == [1]
    # Another question, another conversation, or without imagining: asked anew.
    await tenant.search(kb.id, "What else happened?", hyde=True, mode=Mode.VECTOR)
    assert chat_server.calls == 2
    history = (Turn("user", "Tell me of birds."),)
    await tenant.search(kb.id, "What happened?", hyde=True, history=history, mode=Mode.VECTOR)
    await tenant.search(kb.id, "What happened?", history=history, mode=Mode.VECTOR)
    assert chat_server.calls == 4


async def test_what_one_organization_asked_is_not_answered_to_another(
    tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer
) -> None:
    other = await new_tenant(tenant.services)
    other_kb = await other.knowledge_base()
    await other.document("birds.txt", prose("birds", 3))
    chat_server.script(understood("x", "Of the first."), understood("x", "Of the second."))
    first = await tenant.search(kb.id, "What happened?", hyde=True, mode=Mode.VECTOR)
    second = await other.search(other_kb.id, "What happened?", hyde=True, mode=Mode.VECTOR)
    assert (first.generated_queries, second.generated_queries) == (("Of the first.",), ("Of the second.",))


async def test_answer_that_failed_is_not_remembered(tenant: Tenant, kb: KnowledgeBase, chat_server: ChatServer) -> None:
    chat_server.script(Say("no json"), understood("x", "Birds of 1003."))
    failed = await tenant.search(kb.id, "What happened?", hyde=True, mode=Mode.VECTOR)
    assert list(steps_of(failed)) == ["understand"]
    answer = await tenant.search(kb.id, "What happened?", hyde=True, mode=Mode.VECTOR)
    assert answer.generated_queries == ("Birds of 1003.",)


async def test_timings_name_both_retrievers(tenant: Tenant, kb: KnowledgeBase) -> None:
    both = await tenant.search(kb.id, "whales in the year 1007")
    assert {"vector", "lexical", "find", "total"} <= both.timings_ms.keys()
    assert all(both.timings_ms[name] <= both.timings_ms["total"] for name in ("vector", "lexical"))
    one = await tenant.search(kb.id, "whales in the year 1007", mode=Mode.LEXICAL)
    assert "vector" not in one.timings_ms
