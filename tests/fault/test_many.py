"""Many workers on one knowledge base, and many knowledge bases."""

import asyncio
import os
from collections import Counter
from pathlib import Path

from analytiq.models.document import Document
from analytiq.operations.reconcile.report import DriftKind
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from tests.fault import invariants
from tests.fault.conftest import OpenSite, site_at
from tests.fault.site import Site
from tests.fault.worker_process import Fault
from tests.integration.tenant import prose

DOCUMENTS = 200
PROCESSES, SLOTS = 4, 5
KNOWLEDGE_BASES = int(os.environ.get("ANALYTIQ_TEST_KNOWLEDGE_BASES", "400"))
"""The limit that the documentation names is 2,000, which took five minutes on two cores beside other work: more than a
run of all tests has. `python -m benchmarks.knowledge_bases` says what they cost."""


async def upload_many(site: Site, count: int) -> list[Document]:
    async def upload(number: int) -> Document:
        return (await site.tenant.upload(f"{number}.txt", prose(f"subject{number}", 1))).document

    documents: list[Document] = []
    for start in range(0, count, 20):
        documents += await asyncio.gather(*(upload(number) for number in range(start, min(count, start + 20))))
    return documents


async def test_twenty_slots_on_one_knowledge_base_index_every_document_once(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    documents = await upload_many(site, DOCUMENTS)
    dying = site.processes.worker(Fault("indexing.staged", nth=3), concurrency=SLOTS)
    # The others outlast a slow machine: a job that loses its lease four times is given up.
    for _ in range(PROCESSES):
        site.processes.worker(concurrency=SLOTS, settings={"ANALYTIQ_QUEUE__LEASE_SECONDS": "10"})
    await site.mend()
    assert dying.has_ended
    entries = await invariants.rows(site, "document_index")
    assert sorted(row["document_id"] for row in entries) == sorted(document.id for document in documents)
    added = Counter([row["added"] for row in await invariants.rows(site, "kb_changes")])
    assert added == Counter(row["generation_id"] for row in entries), "each was committed once, and no other"
    vectors = Counter([row["generation_id"] for row in await invariants.rows(site, f"kb_vectors_{kb.id}")])
    assert vectors == {row["generation_id"]: row["chunk_count"] for row in entries}
    assert {row["state"] for row in await invariants.rows(site, "generations")} == {"current"}
    (row,) = await invariants.rows(site, "knowledge_bases")
    assert (row["status"], row["document_count"], row["chunk_count"]) == ("active", DOCUMENTS, sum(vectors.values()))
    await invariants.books_balance(site)


async def make_many(site: Site, count: int) -> list[str]:
    """Knowledge bases that share a tag, every tenth also the tenant's."""
    crowd = await site.tenant.new_tag("crowd")
    made: list[str] = []

    async def make(number: int) -> None:
        tags = (crowd.id, site.tenant.tag.id) if number % 10 == 0 else (crowd.id,)
        made.append((await site.tenant.knowledge_base(tag_ids=tags)).id)

    for start in range(0, count, 20):
        await asyncio.gather(*(make(number) for number in range(start, start + 20)))
    return made


async def test_many_knowledge_bases_are_claimed_for_filled_and_reconciled(
    tmp_path: Path, open_a_site: OpenSite
) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        server = EmbeddedServer(directory)
        uri = await server.start()
        try:
            async with site_at(uri, open_a_site) as site:
                await fill_and_reconcile(site)
        finally:
            await server.stop()


async def fill_and_reconcile(site: Site) -> None:
    await make_many(site, KNOWLEDGE_BASES)
    site.processes.worker(concurrency=8)
    await site.mend()
    document = (await site.tenant.upload("a.txt", prose("whales", 2))).document
    await site.until_idle()
    entries = await invariants.rows(site, "document_index")
    assert len(entries) == len({row["kb_id"] for row in entries}) == KNOWLEDGE_BASES // 10
    assert {row["document_id"] for row in entries} == {document.id}
    lost = [row["kb_id"] for row in entries[:5]]
    await site.database["document_index"].delete_many({"kb_id": {"$in": lost}})
    report = await site.mend()
    assert (report.knowledge_bases, report.count(DriftKind.MISSING)) == (KNOWLEDGE_BASES, len(lost))
    assert len(await invariants.rows(site, "document_index")) == KNOWLEDGE_BASES // 10
    await site.services.operations.reconciler.run_pass()  # counts what was indexed last, where the worker has not yet
    again = await site.services.operations.reconciler.run_pass()
    assert again.drift == []
    assert {row["status"] for row in await invariants.rows(site, "knowledge_bases")} == {"active"}
