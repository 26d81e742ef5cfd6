"""A worker that is stopped for longer than its lease and wakes up: its job is another's by then."""

import signal

import pytest

from analytiq.models.text import ParsedPage, join_pages
from analytiq.storage.repositories.texts import TextRepository
from tests.fault import invariants
from tests.fault.site import Site
from tests.fault.worker_process import STOP, Fault
from tests.integration.tenant import prose

COLLECTIONS = ("docs", "document_index", "document_texts", "kb_epochs", "kb_changes", "spu_ledger", "fs.files")
"""Return the state that no worker without its lease may touch."""


async def everything(site: Site) -> dict[str, list[str]]:
    return {name: sorted(str(row) for row in await invariants.rows(site, name)) for name in COLLECTIONS}


@pytest.mark.parametrize(
    "place",
    [
        "extraction.begun",
        "extraction.parsed",
        "extraction.text_staged",
        "indexing.planned",
        "indexing.window_embedded",
        "indexing.staged",
    ],
)
async def test_worker_that_wakes_up_after_its_lease_writes_nothing(site: Site, place: str) -> None:
    kb = await site.tenant.knowledge_base()
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    await site.tenant.replace("a.txt", prose("birds", 4))
    paused = site.processes.worker(Fault(place, STOP), concurrency=1)
    await paused.be_stopped_at(place)
    site.processes.worker()
    await site.until_idle()
    before = await everything(site)
    paused.send(signal.SIGCONT)
    await paused.say("queue.lease_lost")
    await site.mend()
    assert await everything(site) == before
    await invariants.hold(site, {kb.id: {document.id: prose("birds", 4)}})


async def test_worker_that_wakes_up_before_a_removal_takes_out_nothing_that_has_come_back(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    document = await site.tenant.document("a.txt", prose("whales", 3))
    await site.tenant.set_tags(document, [])
    paused = site.processes.worker(Fault("indexing.planned", STOP), concurrency=1)
    await paused.be_stopped_at("indexing.planned")
    await site.tenant.set_tags(document, [site.tenant.tag.id])
    site.processes.worker()
    await site.until_idle()
    before = await everything(site)
    paused.send(signal.SIGCONT)
    await paused.say("queue.lease_lost")
    await site.mend()
    assert await everything(site) == before
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 3)}})


async def test_sweep_that_wakes_up_deletes_nothing_but_what_it_was_to_delete(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    await site.tenant.replace("a.txt", prose("birds", 4))
    paused = site.processes.worker(Fault("sweep.purging", STOP), concurrency=1)
    await paused.be_stopped_at("sweep.purging")
    site.processes.worker()
    await site.until_idle()
    paused.send(signal.SIGCONT)
    await paused.say("queue.lease_lost")
    await site.mend()
    await invariants.hold(site, {kb.id: {document.id: prose("birds", 4)}})


async def test_text_that_a_worker_staged_after_it_had_lost_its_job_is_removed_by_the_reconciler(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    document = await site.tenant.document("a.txt", prose("whales", 3))
    busy = (await site.tenant.upload("busy.txt", prose("birds", 3))).document
    text = join_pages([ParsedPage(1, "too late")])
    for owner in (document, busy):
        await TextRepository(site.connection).stage(site.tenant.id, owner.id, text)
    await site.services.operations.reconciler.run_pass()
    staged = [row["document_id"] for row in await invariants.rows(site, "document_texts") if row["state"] == "staging"]
    assert staged == [busy.id], "a text is spared while a job may serve it"
    site.processes.worker()
    await site.mend()
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 3), busy.id: prose("birds", 3)}})
