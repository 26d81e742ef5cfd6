"""Several reconcilers, of which some are stopped, wake up late, or are killed; and what they mend."""

import signal
from typing import Any

import pytest

from tests.fault import invariants
from tests.fault.processes import Process
from tests.fault.site import Site
from tests.fault.worker_process import KILL, STOP, Fault
from tests.integration.tenant import prose

SUBJECTS = ("whales", "birds", "trees", "ships")


async def furnished(site: Site) -> tuple[str, dict[str, str]]:
    """A knowledge base with a document of each subject, at rest; its id, and document id → text."""
    kb = await site.tenant.knowledge_base()
    texts: dict[str, str] = {}
    for subject in SUBJECTS:
        text = prose(subject, 3)
        texts[(await site.tenant.document(f"{subject}.txt", text)).id] = text
    await site.database["job_history"].delete_many({})
    return kb.id, texts


async def attempts(site: Site) -> list[str]:
    """The jobs of which an attempt has ended, once for each."""
    return sorted(row["job_id"] for row in await invariants.rows(site, "job_history") if row["kind"] == "sync")


async def runs(site: Site) -> list[dict[str, Any]]:
    found = [row async for row in site.database["reconcile_reports"].find({"organization_id": None}).sort("_id", 1)]
    return [row for row in found if row["depth"] == "quick"]


def complaints(process: Process) -> list[str]:
    """Lines of a process's log that tell of an error."""
    return [line for line in process.log.splitlines() if '"level": "error"' in line or "Traceback" in line]


async def test_vectors_that_were_deleted_while_entries_remain_are_made_again_by_one_pass(site: Site) -> None:
    kb_id, texts = await furnished(site)
    embedded = site.embedding_server.texts
    await site.database[f"kb_vectors_{kb_id}"].delete_many({})
    site.processes.worker()
    report = await site.services.operations.reconciler.run_pass()
    assert report.counts() == {"hollow": len(texts)}
    await site.until_idle()
    assert site.embedding_server.texts == embedded, "the cache had them all"
    await invariants.hold(site, {kb_id: texts})


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("reconcile.batch_found", {"hollow": len(SUBJECTS)}),
        # Its last batch was repaired and not told yet: the other one finds nothing of it any more.
        ("reconcile.batch_repaired", {}),
    ],
)
async def test_reconciler_that_sleeps_through_its_lease_repairs_nothing_twice_and_complains_of_nothing(
    site: Site, place: str, told: dict[str, int]
) -> None:
    kb_id, texts = await furnished(site)
    await site.database[f"kb_vectors_{kb_id}"].delete_many({})
    asleep = site.processes.reconciler(Fault(place, STOP))
    await asleep.be_stopped_at(place)
    other = site.processes.reconciler()
    await other.say("reconciler.pass")
    site.processes.worker()
    await site.until_idle()
    mended = await attempts(site)
    assert mended == sorted(f"sync:{kb_id}:{document_id}" for document_id in texts)
    asleep.send(signal.SIGCONT)
    await asleep.say("reconciler.lost_lead")
    await site.until_idle()
    assert await attempts(site) == mended
    assert [(run["state"], run["counts"]) for run in await runs(site)] == [("done", told)]
    assert complaints(asleep) == complaints(other) == []
    await invariants.hold(site, {kb_id: texts})


async def test_reconciler_goes_on_where_one_that_was_killed_had_come_to(site: Site) -> None:
    kb_id, texts = await furnished(site)
    await site.database[f"kb_vectors_{kb_id}"].delete_many({})
    small = {
        "analytiq.operations.reconcile.invariants.vectors.BATCH": 1,
        "analytiq.operations.reconcile.runs.WRITE_SECONDS": 0.0,
    }
    killed = site.processes.reconciler(Fault("reconcile.batch_found", KILL, nth=3), constants=small)
    await killed.end()
    (before,) = await runs(site)
    assert (before["state"], before["counts"], before["position"]["stage"]) == ("running", {"hollow": 2}, "vectors")
    await site.processes.reconciler(constants=small).say("reconciler.pass")
    (after,) = await runs(site)
    assert after["_id"] == before["_id"]
    assert (after["state"], after["counts"], after["repairs"]) == ("done", {"hollow": len(texts)}, len(texts))
    site.processes.worker()
    await site.until_idle()
    assert len(await attempts(site)) == len(texts)
    await invariants.hold(site, {kb_id: texts})


async def test_run_of_an_organization_whose_worker_was_killed_goes_on_in_another(site: Site) -> None:
    kb_id, texts = await furnished(site)
    await site.database[f"kb_vectors_{kb_id}"].delete_many({})
    run = await site.services.operations.reconciliations.ask(site.tenant.id)
    killed = site.processes.worker(Fault("reconcile.batch_repaired", KILL), concurrency=1)
    await killed.end()
    site.processes.worker()
    await site.until_idle()
    done = await site.services.operations.reconciliations.get(site.tenant.id, run.id)
    assert (done.state.value, done.error) == ("done", None)
    assert await attempts(site) == sorted(f"sync:{kb_id}:{document_id}" for document_id in texts)
    await invariants.hold(site, {kb_id: texts})


async def test_leader_that_is_killed_is_followed_within_its_lease_and_one_that_ends_at_once(site: Site) -> None:
    kb_id, texts = await furnished(site)
    first, second = site.processes.reconciler(), None
    await first.say("reconciler.leads")
    second = site.processes.reconciler()
    await second.say("reconciler.started")
    await first.kill()
    await second.say("reconciler.leads")
    third = site.processes.reconciler()
    await third.say("reconciler.started")
    second.send(signal.SIGTERM)
    await second.end()
    await third.say("reconciler.leads")
    assert complaints(second) == complaints(third) == []
    await invariants.hold(site, {kb_id: texts})
