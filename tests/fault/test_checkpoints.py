"""A process is killed at each named place, and everything comes right: no crash between two statements matters."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from analytiq.telemetry.checkpoints import CHECKPOINTS
from tests.fault import invariants
from tests.fault.reader import Reader, reader_of
from tests.fault.site import Site
from tests.fault.worker_process import Fault
from tests.integration.tenant import CHUNK_TOKENS, REMOTE_MODEL, prose

PASSINGS = {"queue.claimed": 4, "queue.handled": 4, "indexing.committed": 2}
"""The passing to die at, where the first is not the most interesting: others have been done by then."""

UPLOAD_CONSTANTS = {
    # Its bytes go before its document does, though it is small; and nobody waits ten minutes for it.
    "analytiq.ingestion.upload.store.WITH_DOCUMENT_BYTES": 10,
    "analytiq.ingestion.upload.store.LEASE_SECONDS": 0.5,
}


@dataclass(slots=True)
class Life:
    """All that people do in a while, and what must be found in the end."""

    expected: dict[str, dict[str, str]]
    deleted_documents: list[str]
    deleted_knowledge_base: str
    reader: Reader


async def begin(site: Site) -> tuple[Life, Mapping[str, Any]]:
    """Two knowledge bases with four documents, indexed; and a document that is in none."""
    tenant = site.tenant
    kb, doomed = await tenant.knowledge_base(), await tenant.knowledge_base()
    texts = {name: prose(name, 3) for name in ("steady", "replaced", "deleted", "untagged")}
    documents = {name: (await tenant.upload(f"{name}.txt", text)).document for name, text in texts.items()}
    texts["gaining"] = prose("gaining", 3)
    documents["gaining"] = (await tenant.upload("gaining.txt", texts["gaining"], tags=[])).document
    documents["going"] = (await tenant.upload("going.zip", archive_of("gone"), tags=[])).document
    await tenant.drain()
    reader = reader_of(site, kb.id)
    reader.present(documents["steady"].id, texts["steady"])
    reader.present(documents["replaced"].id, texts["replaced"], prose("successor", 4))
    reader.present(documents["deleted"].id, texts["deleted"])
    reader.present(documents["untagged"].id, texts["untagged"])
    reader.joining(documents["gaining"].id, texts["gaining"])
    in_the_end = {
        documents["steady"].id: texts["steady"],
        documents["gaining"].id: texts["gaining"],
        documents["replaced"].id: prose("successor", 4),
    }
    deleted = [documents["deleted"].id, documents["going"].id]
    life = Life({kb.id: in_the_end}, deleted, doomed.id, reader)
    return life, documents


async def go_on(site: Site, life: Life, documents: Mapping[str, Any]) -> None:
    """Everything that leads to work: uploads, a new version, tags, deletions, a knowledge base more and one less."""
    tenant, (kb_id,) = site.tenant, life.expected
    await tenant.replace("replaced.txt", prose("successor", 4))
    joined = (await tenant.upload("joined.txt", prose("joined", 2))).document
    life.reader.joining(joined.id, prose("joined", 2))
    life.expected[kb_id][joined.id] = prose("joined", 2)
    await tenant.set_tags(documents["gaining"], [tenant.tag.id])
    async with life.reader.leaving(documents["untagged"].id):
        await tenant.set_tags(documents["untagged"], [])
    async with life.reader.leaving(documents["deleted"].id):
        await site.services.ingestion.documents.delete(tenant.id, documents["deleted"].id)
    await site.services.ingestion.documents.delete(tenant.id, documents["going"].id)
    await tenant.upload("coming.zip", archive_of("come"), tags=[])
    fresh = await tenant.knowledge_base()
    life.expected[fresh.id] = life.expected[kb_id]
    await site.services.ingestion.knowledge_bases.delete(tenant.id, life.deleted_knowledge_base)


def archive_of(word: str) -> bytes:
    """A zip archive of three texts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(3):
            archive.writestr(f"{word}-{number}.txt", prose(f"{word} {number}", 2))
    return packed.getvalue()


async def parts_follow_their_archives(site: Site) -> None:
    """The parts of the one archive that exists, each once; of the deleted one, none."""
    (archive,) = [row async for row in site.database["docs"].find({"document_name": "coming.zip"})]
    parts = [row["part_of"] async for row in site.database["docs"].find({"part_of": {"$ne": None}})]
    assert {part["parent_id"] for part in parts} == {str(archive["_id"])}
    assert sorted(part["path"] for part in parts) == ["come-0.txt", "come-1.txt", "come-2.txt"]


async def die_in_a_worker(site: Site, checkpoint: str) -> None:
    worker = site.processes.worker(Fault(checkpoint, nth=PASSINGS.get(checkpoint, 1)))
    await worker.reach(checkpoint)
    await worker.end()


async def die_in_an_upload(site: Site, life: Life, checkpoint: str) -> None:
    text = prose("sent", 2)
    arguments = {"document_name": "sent.txt", "content": text, "tag_ids": [site.tenant.tag.id]}
    caller = site.processes.caller("upload", site.tenant.id, arguments, Fault(checkpoint), constants=UPLOAD_CONSTANTS)
    await caller.reach(checkpoint)
    await caller.end()
    row = await site.database["docs"].find_one({"document_name": "sent.txt"})
    assert (row is not None) is (checkpoint == "upload.committed")
    if row is not None:
        for texts in life.expected.values():
            texts[str(row["_id"])] = text
        life.reader.joining(str(row["_id"]), text)


async def die_in_a_creation(site: Site, life: Life, checkpoint: str) -> None:
    arguments = {
        "name": "begun", "description": "", "tag_ids": [site.tenant.tag.id], "chunker_type": "token",
        "chunk_size": CHUNK_TOKENS, "chunk_overlap": 0, "embedding_model": REMOTE_MODEL, "coalesce_neighbors": 0,
    }  # fmt: skip
    caller = site.processes.caller("create_knowledge_base", site.tenant.id, arguments, Fault(checkpoint), constants={})
    await caller.reach(checkpoint)
    await caller.end()
    row = await site.database["knowledge_bases"].find_one({"name": "begun"})
    assert (row is not None) is (checkpoint == "knowledge_base.created")
    if row is not None:
        life.expected[str(row["_id"])] = next(iter(life.expected.values()))


async def leases_of_uploads_run_out(site: Site) -> None:
    async def have_run_out() -> bool:
        expired = {"$expr": {"$gte": ["$lease_expires_at", "$$NOW"]}}
        return await site.database["uploads"].find_one(expired) is None

    await site.until(have_run_out, lambda: invariants.rows(site, "uploads"))


@pytest.mark.parametrize("checkpoint", CHECKPOINTS)
async def test_process_killed_at_any_place_loses_and_doubles_nothing(site: Site, checkpoint: str) -> None:
    life, documents = await begin(site)
    async with life.reader.reading():
        await go_on(site, life, documents)
        if checkpoint.startswith("upload."):
            await die_in_an_upload(site, life, checkpoint)
        elif checkpoint in ("knowledge_base.collection_created", "knowledge_base.created"):
            await die_in_a_creation(site, life, checkpoint)
        else:
            await die_in_a_worker(site, checkpoint)
        site.processes.worker()
        await leases_of_uploads_run_out(site)
        await site.mend()
        again = await site.services.operations.reconciler.run_pass()
        assert again.drift == [], "a pass over what was mended finds nothing more"
    await invariants.hold(site, life.expected)
    await parts_follow_their_archives(site)
    for document_id in life.deleted_documents:
        await invariants.nothing_names(site, document_id)
    await invariants.nothing_names(site, life.deleted_knowledge_base, but=invariants.LASTING)
