"""Commits feed the keyword index; while it is behind, a search answers with what it has and says so."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.models.knowledge_base import Epoch, KnowledgeBase
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.pipeline.request import Mode, SearchResponse
from analytiq.settings import LexicalSettings
from analytiq.storage.repositories.index_contents import ChunkText, IndexReading
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


class Gate:
    """Holds up whoever reads texts for the index, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._is_open = asyncio.Event()
        self._is_open.set()
        real = IndexReading.texts

        async def held(at: IndexReading, generation_ids: set[str] | None) -> AsyncIterator[list[ChunkText]]:
            await self._is_open.wait()
            async for chunks in real(at, generation_ids):
                yield chunks

        monkeypatch.setattr(IndexReading, "texts", held)

    def close(self) -> None:
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()


@pytest.fixture
async def tenant(compose_services: Compose) -> Tenant:
    """An organization in a process that waits only a moment for its keyword index."""
    return await new_tenant(await compose_services(lexical=LexicalSettings(build_wait_seconds=0.05)))


async def by_words(tenant: Tenant, kb: KnowledgeBase) -> SearchResponse:
    return await tenant.search(kb.id, "whales", top_k=100, mode=Mode.LEXICAL)


def documents_in(answer: SearchResponse) -> set[str]:
    return {result.source for result in answer.results}


async def test_commits_build_and_feed_the_index_without_any_search(tenant: Tenant, eventually: EventuallyTrue) -> None:
    backends = tenant.services.retrieval.backends
    kb = await tenant.knowledge_base()

    async def available() -> list[KeywordHit]:
        reader = backends.of(kb).reader(kb, Epoch(kb_id=kb.id, epoch=0, commit_id=""))
        return await reader.keyword_search_behind("whales", limit=100, chunk_filter=None)

    async def is_fed(count: int) -> bool:
        hits = await available()
        return len(hits) == count and not backends.is_building_keywords(kb.id)

    async with tenant.services.retrieval.feeding_keyword_index():
        await asyncio.sleep(0)
        number = 0

        async def is_watching() -> bool:
            # The change stream opens some time after the task begins: commit until it tells of one.
            nonlocal number
            number += 1
            await tenant.document(f"{number}.txt", prose("whales", 1, first=number))
            return bool(await available())

        await eventually(is_watching)
        await eventually(lambda: is_fed(number))
        await tenant.document("more.txt", prose("whales", 3, first=500))
        await eventually(lambda: is_fed(number + 3))


async def test_search_answers_with_what_is_indexed_and_says_that_the_index_is_behind(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    gate = Gate(monkeypatch)
    kb = await tenant.knowledge_base()
    await tenant.document("old.txt", prose("whales", 2))

    async def is_whole() -> bool:
        return not (await by_words(tenant, kb)).degraded

    await eventually(is_whole)
    gate.close()
    await tenant.document("new.txt", prose("whales", 2, first=100))
    behind = await by_words(tenant, kb)
    assert documents_in(behind) == {"old.txt"}
    assert [(item.step, item.code) for item in behind.degraded] == [("lexical", "keyword_index_building")]
    assert tenant.services.retrieval.backends.is_building_keywords(kb.id)
    both = await tenant.search(kb.id, "whales", top_k=100)
    assert documents_in(both) == {"old.txt", "new.txt"}
    assert [item.step for item in both.degraded] == ["lexical"]
    gate.open()
    await eventually(is_whole)
    assert documents_in(await by_words(tenant, kb)) == {"old.txt", "new.txt"}


async def test_document_that_was_replaced_is_not_shown_by_an_index_that_is_behind(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    gate = Gate(monkeypatch)
    kb = await tenant.knowledge_base()
    await tenant.document("other.txt", prose("whales", 1))
    await tenant.document("replaced.txt", prose("whales", 2, first=100))

    async def is_whole() -> bool:
        return not (await by_words(tenant, kb)).degraded

    await eventually(is_whole)
    gate.close()
    await tenant.replace("replaced.txt", prose("birds", 2, first=100))
    await tenant.drain()
    assert documents_in(await by_words(tenant, kb)) == {"other.txt"}
    gate.open()


async def test_search_by_words_alone_is_answered_before_there_is_an_index(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    kb = await tenant.knowledge_base()
    await tenant.document("new.txt", prose("whales", 2))
    gate.close()
    answer = await by_words(tenant, kb)
    assert (answer.results, [item.step for item in answer.degraded]) == ((), ["lexical"])
    gate.open()
