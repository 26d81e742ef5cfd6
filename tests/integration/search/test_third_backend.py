"""A knowledge base in a backend of another package, from upload to hybrid search."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from analytiq.composition import Services
from analytiq.errors import InvalidInputError
from analytiq.retrieval.pipeline.request import Mode
from analytiq.settings import SearchSettings
from tests.integration.tenant import Tenant, new_tenant, prose
from tests.sqlite_backend.backend import SqliteBackend
from tests.sqlite_backend.registration import registered

Compose = Callable[..., Awaitable[Services]]
CHOSEN = SearchSettings(vector_store="sqlite")


@pytest.fixture
def plugin(tmp_path: Path) -> Iterator[None]:
    with registered(tmp_path / "packages"):
        yield


async def test_a_knowledge_base_is_served_by_a_backend_of_another_package(
    plugin: None, compose_services: Compose
) -> None:
    tenant: Tenant = await new_tenant(await compose_services(search=CHOSEN))
    kb = await tenant.knowledge_base()
    assert kb.vector_store == "sqlite"
    assert isinstance(tenant.services.retrieval.backends.of(kb), SqliteBackend)
    whales = await tenant.document("whales.txt", prose("whales", 3))
    birds = await tenant.document("birds.txt", prose("birds", 3))
    question = "Sentence tells of whales quite plainly"
    for mode in (Mode.HYBRID, Mode.VECTOR, Mode.LEXICAL):
        answer = await tenant.search(kb.id, question, mode=mode, top_k=3)
        assert not answer.degraded
        assert {result.document_id for result in answer.results} == {whales.id}
    both = await tenant.search(kb.id, question, top_k=100)
    assert {result.document_id for result in both.results} == {whales.id, birds.id}
    await tenant.replace("whales.txt", prose("krill", 3))
    await tenant.drain()
    assert not (await tenant.search(kb.id, "whales", mode=Mode.LEXICAL)).results
    await tenant.services.ingestion.documents.delete(tenant.id, birds.id)
    await tenant.drain()
    left = await tenant.search(kb.id, question, top_k=100)
    assert {result.source for result in left.results} == {"whales.txt"}


async def test_the_local_backend_serves_where_the_package_is_missing(compose_services: Compose, tmp_path: Path) -> None:
    with registered(tmp_path / "packages"):
        tenant = await new_tenant(await compose_services(search=CHOSEN))
        kb = await tenant.knowledge_base()
        document = await tenant.document("whales.txt", prose("whales", 3))
    without = tenant.seen_by(await compose_services())
    assert await without.found(kb.id, "Sentence tells of whales quite plainly") == [document.id]
    await without.services.retrieval.backends.close()


async def test_an_unknown_backend_is_refused_at_the_start(compose_services: Compose) -> None:
    with pytest.raises(InvalidInputError, match="Known ones: auto, local, mongodb"):
        await compose_services(search=CHOSEN)
