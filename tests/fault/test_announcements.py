"""Nothing is announced before a search can see it: not even while a commit waits for a majority."""

import asyncio
from pathlib import Path

from analytiq.ingestion.documents.indexing_state import KnowledgeBaseState
from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.request import Mode
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.telemetry import checkpoints
from api.schemas.jobs import DocumentStatus, TaskState
from tests.fault.conftest import OpenSite, site_at
from tests.fault.replica_set import replica_set
from tests.fault.site import Site
from tests.integration.tenant import prose


async def test_document_is_not_told_as_searchable_until_a_majority_holds_its_commit(
    tmp_path: Path, open_a_site: OpenSite
) -> None:
    is_staged, go_on = asyncio.Event(), asyncio.Event()

    async def hook(name: str) -> None:
        if name == "indexing.staged":
            is_staged.set()
            await go_on.wait()

    test_commands = ("--setParameter", "enableTestCommands=1")
    async with replica_set(tmp_path, *test_commands) as members, site_at(members.uri, open_a_site) as site:
        kb = await site.tenant.knowledge_base()
        await site.tenant.drain()
        document = (await site.tenant.upload("whales.txt", prose("whales", 3))).document
        checkpoints.install(hook)
        try:
            work = asyncio.create_task(site.tenant.drain())
            await is_staged.wait()
            async with members.majority_held_back():
                go_on.set()
                # No write ends within this block: not that of an embedded question either, hence keyword search.
                # The commit is there for whoever reads what the primary alone has.
                await site.until(lambda: site.is_indexed(kb.id, document.id), site.jobs)
                assert await _announced(site, kb, document) == (False, [False], [False], 0)
                assert await site.tenant.found(kb.id, "whales", mode=Mode.LEXICAL) == []
            await work
        finally:
            checkpoints.install(None)
        assert await _announced(site, kb, document) == (True, [True], [True], 1)
        assert await site.tenant.found(kb.id, "whales", mode=Mode.LEXICAL) == [document.id]


async def _announced(site: Site, kb: KnowledgeBase, document: Document) -> tuple[bool, list[bool], list[bool], int]:
    """Return what the status, the document, a list of documents and the knowledge base say."""
    services, organization_id = site.services, site.tenant.id
    jobs = await services.jobs.operations.of_document(organization_id, document.id)
    now = await services.ingestion.documents.get(organization_id, document.id)
    states = await services.ingestion.indexing_states.of_document(now)
    page, _ = await services.ingestion.documents.page(organization_id, DocumentQuery(), skip=0, limit=10)
    (listed,) = await services.ingestion.indexing_states.of_documents(organization_id, page)
    counted = await services.ingestion.knowledge_bases.get(organization_id, kb.id)
    return (
        DocumentStatus.of(now, jobs, states).status is TaskState.SUCCESS,
        _searchable(states),
        _searchable(listed.knowledge_bases),
        counted.document_count,
    )


def _searchable(states: list[KnowledgeBaseState]) -> list[bool]:
    return [state.is_searchable for state in states]
