"""Runs that are remembered: whose they are, what they tell, how they go on, and what becomes of lost ones."""

from collections.abc import Awaitable, Callable

import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError, LeaseLostError, NotFoundError
from analytiq.jobs.scheduling.fences import NoFence
from analytiq.models.job import JobState
from analytiq.models.reconciliation import Depth, DriftKind, RunState
from analytiq.operations.reconcile.report import EXAMPLES
from analytiq.operations.reconcile.run_requests import MOST_UNFINISHED
from analytiq.operations.reconcile.runs import Runs
from analytiq.settings import IndexingSettings, ReconcilerSettings
from analytiq.storage.ids import new_id
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.reconcile.conftest import Patient
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]


def runs_of(tenant: Tenant) -> Runs:
    return tenant.services.operations.reconciliations


async def outdate(patient: Patient, kb_id: str) -> None:
    await patient.database["document_index"].update_many({"kb_id": kb_id}, {"$set": {"text_hash": "another"}})


async def test_run_names_what_it_found_and_has_it_mended(patient: Patient) -> None:
    tenant = patient.tenant
    await outdate(patient, patient.kb.id)
    asked = await runs_of(tenant).ask(tenant.id)
    assert (asked.state, asked.counts) == (RunState.QUEUED, {})
    await tenant.drain()
    run = await runs_of(tenant).get(tenant.id, asked.id)
    assert (run.state, run.counts, run.repairs, run.checked) == (RunState.DONE, {"outdated": 2}, 2, 2)
    assert [(item.kind, item.kb_name, item.document_name) for item in run.examples] == [
        (DriftKind.OUTDATED, patient.kb.name, name) for name in ("a.txt", "b.txt")
    ]
    assert run.started_at is not None
    assert run.ended_at is not None
    await patient.is_well()


async def test_names_are_not_kept_when_a_document_is_deleted(patient: Patient) -> None:
    tenant = patient.tenant
    await outdate(patient, patient.kb.id)
    asked = await runs_of(tenant).ask(tenant.id)
    await tenant.drain()
    document_id = (await patient.entry())["document_id"]
    await tenant.services.ingestion.documents.delete(tenant.id, document_id)
    await tenant.drain()
    assert "a.txt" not in str([row async for row in patient.database["reconcile_reports"].find()])
    run = await runs_of(tenant).get(tenant.id, asked.id)
    assert [item.document_name for item in run.examples] == [None, "b.txt"]


async def test_dry_run_writes_nothing_but_its_report(patient: Patient) -> None:
    tenant = patient.tenant
    await outdate(patient, patient.kb.id)
    entries = [row async for row in patient.database["document_index"].find()]
    asked = await runs_of(tenant).ask(tenant.id, is_dry=True, depth=Depth.FULL)
    assert await tenant.drain() == 1
    run = await runs_of(tenant).get(tenant.id, asked.id)
    assert (run.counts, run.repairs) == ({"outdated": 2}, 0)
    assert [row async for row in patient.database["document_index"].find()] == entries


async def test_run_of_an_organization_or_knowledge_base_looks_at_nothing_else(patient: Patient) -> None:
    tenant, stranger = patient.tenant, await new_tenant(patient.tenant.services)
    other, theirs = await tenant.knowledge_base(), await stranger.knowledge_base()
    await stranger.document("theirs.txt", prose("ships", 3))
    await tenant.drain()
    for kb_id in (patient.kb.id, other.id, theirs.id):
        await outdate(patient, kb_id)
    staged = await stranger.stage("left.txt", b"x" * 2**20)
    await patient.make_old("uploads", staged.upload.id, "lease_expires_at")
    own = await runs_of(tenant).ask(tenant.id, depth=Depth.FULL, is_dry=True)
    one = await runs_of(tenant).ask(tenant.id, kb_id=other.id, depth=Depth.FULL, is_dry=True)
    await tenant.drain()
    found = {run.id: await runs_of(tenant).get(tenant.id, run.id) for run in (own, one)}
    assert {item.kb_id for item in found[own.id].examples} == {patient.kb.id, other.id}
    assert found[own.id].counts == {"outdated": 4}
    assert {item.kb_id for item in found[one.id].examples} == {other.id}
    with pytest.raises(NotFoundError):
        await runs_of(tenant).get(stranger.id, own.id)
    with pytest.raises(NotFoundError):
        await runs_of(tenant).ask(tenant.id, kb_id=theirs.id)
    assert (await runs_of(tenant).page(stranger.id, skip=0, limit=10)) == ([], 0)
    listed, total = await runs_of(tenant).page(tenant.id, skip=0, limit=10)
    assert ([run.id for run in listed], total) == ([one.id, own.id], 2)
    narrowed, _ = await runs_of(tenant).page(tenant.id, kb_id=other.id, skip=0, limit=10)
    assert [run.id for run in narrowed] == [one.id]


async def test_report_names_some_of_a_kind_and_counts_the_rest(patient: Patient) -> None:
    tenant = patient.tenant
    for number in range(EXAMPLES + 3):
        await tenant.upload(f"more-{number}.txt", prose("stones", 1, first=number))
    await tenant.drain()
    await patient.database["document_index"].delete_many({})
    asked = await runs_of(tenant).ask(tenant.id, is_dry=True)
    await tenant.drain()
    run = await runs_of(tenant).get(tenant.id, asked.id)
    assert run.counts["missing"] == EXAMPLES + 5
    assert sum(item.kind is DriftKind.MISSING for item in run.examples) == EXAMPLES


async def test_pass_stops_at_its_bound_and_the_next_goes_on(
    patient: Patient, compose_services: Compose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.operations.reconcile.invariants.index_entries.BATCH", 1)
    monkeypatch.setattr("analytiq.operations.reconcile.reconciler.MOST_REPAIRS", 1)
    bounded = await compose_services(indexing=IndexingSettings(sweep_delay_seconds=0))
    await outdate(patient, patient.kb.id)
    for _ in range(2):
        report = await bounded.operations.reconciler.run_pass()
        assert (report.counts(), report.is_cut) == ({"outdated": 1}, True)
    assert (await bounded.operations.reconciler.run_pass()).counts() == {}
    await patient.tenant.drain()
    await patient.is_well()


async def test_too_many_runs_at_once_are_refused(tenant: Tenant) -> None:
    for _ in range(MOST_UNFINISHED):
        await runs_of(tenant).ask(tenant.id)
    with pytest.raises(ConflictError) as refused:
        await runs_of(tenant).ask(tenant.id)
    assert refused.value.code == "too_many_runs"
    await tenant.drain()
    await runs_of(tenant).ask(tenant.id)


async def test_run_whose_job_was_cancelled_or_lost_is_told_to_have_failed(tenant: Tenant, patient: Patient) -> None:
    cancelled, lost = await runs_of(tenant).ask(tenant.id), await runs_of(tenant).ask(tenant.id)
    await tenant.services.jobs.operations.cancel(tenant.id, f"reconcile:{cancelled.id}")
    await patient.database["jobs"].delete_one({"_id": f"reconcile:{lost.id}"})
    told = {}
    for run in (await runs_of(tenant).page(tenant.id, skip=0, limit=10))[0]:
        told[run.id] = (run.state, run.error.code if run.error else None)
    assert told == {cancelled.id: (RunState.FAILED, "cancelled"), lost.id: (RunState.FAILED, "run_lost")}
    # A cancelled one can be replayed, and is what it comes to then.
    await tenant.services.jobs.operations.replay(tenant.id, f"reconcile:{cancelled.id}")
    assert (await runs_of(tenant).get(tenant.id, cancelled.id)).state is RunState.QUEUED
    await tenant.drain()
    assert (await runs_of(tenant).get(tenant.id, cancelled.id)).state is RunState.DONE


class FallsAway(NoFence):
    """Holds so many times."""

    def __init__(self, times: int) -> None:
        self.left = times

    async def hold(self, **_: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise LeaseLostError("another leads")


async def test_pass_over_everything_goes_on_where_a_lost_one_was_and_tells_each_organization(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.operations.reconcile.invariants.index_entries.BATCH", 1)
    monkeypatch.setattr("analytiq.operations.reconcile.runs.WRITE_SECONDS", 0.0)
    tenant, stranger = patient.tenant, await new_tenant(patient.tenant.services)
    await outdate(patient, patient.kb.id)
    # Announced, begun; collection, epoch, indexes and statistics told; the first document's entry repaired and told.
    with pytest.raises(LeaseLostError):
        await runs_of(tenant).run_over_everything(Depth.QUICK, FallsAway(8))
    left = await patient.database["reconcile_reports"].find_one({})
    assert (left["state"], left["counts"], left["position"]["stage"]) == ("running", {"outdated": 1}, "index_entries")
    done = await runs_of(tenant).run_over_everything(Depth.QUICK, NoFence())
    assert (done.id, done.state, done.counts) == (str(left["_id"]), RunState.DONE, {"outdated": 2})
    assert len(done.examples) == 2
    told, _ = await runs_of(tenant).page(tenant.id, skip=0, limit=10)
    assert [run.counts for run in told] == [{"outdated": 1}], "what was found before is known over everything only"
    assert (await runs_of(tenant).page(stranger.id, skip=0, limit=10))[1] == 0
    with pytest.raises(NotFoundError):
        await runs_of(tenant).get(tenant.id, done.id)


async def test_pass_over_everything_that_finds_nothing_tells_no_organization(patient: Patient) -> None:
    before = await patient.fingerprint_but("reconcile_reports")
    run = await runs_of(patient.tenant).run_over_everything(Depth.FULL, NoFence())
    assert (run.state, run.counts, run.repairs) == (RunState.DONE, {}, 0)
    assert await patient.fingerprint_but("reconcile_reports") == before
    assert await patient.database["reconcile_reports"].count_documents({}) == 1


async def test_operators_dry_run_over_everything_names_what_is_whose_and_tells_no_organization(
    patient: Patient,
) -> None:
    tenant, stranger = patient.tenant, await new_tenant(patient.tenant.services)
    theirs = await stranger.knowledge_base()
    await stranger.document("theirs.txt", prose("ships", 3))
    for kb_id in (patient.kb.id, theirs.id):
        await outdate(patient, kb_id)
    asked = await runs_of(tenant).ask(None, is_dry=True)
    assert await tenant.drain() == 1
    run = await runs_of(tenant).get(None, asked.id)
    assert (run.state, run.counts, run.repairs) == (RunState.DONE, {"outdated": 3}, 0)
    assert {(item.organization_id, item.document_name) for item in run.examples} == {
        (tenant.id, "a.txt"), (tenant.id, "b.txt"), (stranger.id, "theirs.txt"),
    }  # fmt: skip
    for organization in (tenant, stranger):
        assert await runs_of(tenant).page(organization.id, skip=0, limit=10) == ([], 0)
        with pytest.raises(NotFoundError):
            await runs_of(tenant).get(organization.id, asked.id)


async def test_operators_run_over_everything_is_not_taken_for_a_leaders_that_was_lost(patient: Patient) -> None:
    tenant = patient.tenant
    asked = await runs_of(tenant).ask(None)
    await outdate(patient, patient.kb.id)
    passed = await runs_of(tenant).run_over_everything(Depth.QUICK, NoFence())
    assert passed.id != asked.id
    assert passed.counts == {"outdated": 2}
    assert (await runs_of(tenant).get(None, asked.id)).state is RunState.QUEUED
    await tenant.drain()
    assert (await runs_of(tenant).get(None, asked.id)).state is RunState.DONE
    runs, total = await runs_of(tenant).page(None, skip=0, limit=10)
    assert ({run.id for run in runs}, total) == ({asked.id, passed.id}, 2)
    await patient.is_well()


async def test_leaders_pass_that_runs_is_not_told_to_have_failed_for_want_of_a_job(patient: Patient) -> None:
    with pytest.raises(LeaseLostError):
        await runs_of(patient.tenant).run_over_everything(Depth.QUICK, FallsAway(2))
    (run,), _ = await runs_of(patient.tenant).page(None, skip=0, limit=10)
    assert (run.state, run.error) == (RunState.RUNNING, None)


async def test_report_expires(patient: Patient) -> None:
    run = await runs_of(patient.tenant).ask(patient.tenant.id)
    assert (run.expires_at - run.created_at).days == ReconcilerSettings().report_days
    indexes = await patient.database["reconcile_reports"].index_information()
    assert indexes["expires_at_1"]["expireAfterSeconds"] == 0


async def test_run_that_meets_an_error_is_tried_again_by_its_job(
    patient: Patient, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = patient.tenant
    embedding_server.script(Failure.UNAUTHORIZED)  # what becomes of the repair is not the run's matter
    await outdate(patient, patient.kb.id)
    run = await runs_of(tenant).ask(tenant.id)
    await tenant.drain()
    assert (await runs_of(tenant).get(tenant.id, run.id)).state is RunState.DONE
    job = await tenant.services.repositories.jobs.get(f"reconcile:{run.id}")
    assert job is None or job.state is not JobState.DEAD


async def test_unknown_run_is_not_found(tenant: Tenant) -> None:
    for run_id in (new_id(), "no-id"):
        with pytest.raises(NotFoundError):
            await runs_of(tenant).get(tenant.id, run_id)
