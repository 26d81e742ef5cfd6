"""Creation, activation and deletion of knowledge bases, whoever dies in the middle of them."""

from tests.fault import invariants
from tests.fault.poisoned_server import REFUSED_TEXT, UNAVAILABLE_TEXT
from tests.fault.site import Site
from tests.fault.worker_process import Fault
from tests.integration.tenant import prose


async def test_knowledge_base_whose_worker_died_in_its_first_indexing_is_activated_by_the_reconciler(
    site: Site,
) -> None:
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    kb = await site.tenant.knowledge_base()
    worker = site.processes.worker(Fault("indexing.committed"))
    await worker.reach("indexing.committed")
    await worker.end()
    await site.until_idle()  # the last job was done: nothing else would come by
    (row,) = await invariants.rows(site, "knowledge_bases")
    assert (row["status"], row["document_count"]) == ("indexing", 0)
    await site.services.operations.reconciler.run_pass()
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 3)}})


async def test_deletion_whose_workers_die_one_after_the_other_ends_all_the_same(site: Site) -> None:
    doomed = await site.tenant.knowledge_base()
    kb = await site.tenant.knowledge_base()
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    await site.services.ingestion.knowledge_bases.delete(site.tenant.id, doomed.id)
    for place in ("collection_dropped", "entries_deleted", "changes_deleted"):
        worker = site.processes.worker(Fault(f"knowledge_base.{place}"))
        await worker.reach(f"knowledge_base.{place}")
        await worker.end()
    site.processes.worker()
    await site.mend()
    await invariants.hold(site, {kb.id: {document.id: prose("whales", 3)}})
    await invariants.nothing_names(site, doomed.id, but=invariants.LASTING)


async def test_deletion_that_lost_its_job_is_taken_up_by_the_reconciler(site: Site) -> None:
    doomed = await site.tenant.knowledge_base()
    await site.tenant.document("a.txt", prose("whales", 3))
    await site.services.ingestion.knowledge_bases.delete(site.tenant.id, doomed.id)
    await site.database["jobs"].delete_many({})  # as after a restore of some collections only
    site.processes.worker()
    await site.mend()
    await invariants.nothing_names(site, doomed.id, but=invariants.LASTING)


async def test_failing_document_changes_no_status_and_delays_no_other(site: Site) -> None:
    kb = await site.tenant.knowledge_base()
    await site.tenant.drain()
    failing = (await site.tenant.upload("failing.txt", f"{UNAVAILABLE_TEXT} in the year 1000.")).document
    texts = {
        (await site.tenant.upload(f"{name}.txt", prose(name, 2))).document.id: prose(name, 2)
        for name in ("whales", "birds", "bees")
    }
    site.processes.worker(concurrency=1)
    statuses: set[str] = set()

    async def are_indexed_and_counted() -> bool:
        (row,) = await invariants.rows(site, "knowledge_bases")
        statuses.add(row["status"])
        return bool(row["document_count"] == len(texts))

    async def has_failed() -> bool:
        return any(row.get("error") is not None for row in await site.jobs() if row["kind"] == "sync")

    await site.until(are_indexed_and_counted, site.jobs)
    await site.until(has_failed, site.jobs)
    (job,) = [row for row in await site.jobs() if row["kind"] == "sync"]
    assert (job["subject"]["document_id"], job["state"] == "dead") == (failing.id, False)
    assert statuses == {"active"}
    assert set(await site.tenant.found(kb.id, "year")) == texts.keys()


async def test_knowledge_base_is_activated_though_a_document_of_its_first_indexing_was_refused(site: Site) -> None:
    refused = (await site.tenant.upload("refused.txt", f"{REFUSED_TEXT} in the year 1000.")).document
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    kb = await site.tenant.knowledge_base()
    site.processes.worker()

    async def is_active() -> bool:
        (row,) = await invariants.rows(site, "knowledge_bases")
        return (row["status"], row["document_count"]) == ("active", 1)

    await site.until(is_active, site.jobs)
    assert await site.tenant.found(kb.id, "year") == [document.id]
    states = await site.services.ingestion.indexing_states.of_document(
        await site.services.ingestion.documents.get(site.tenant.id, refused.id)
    )
    assert [(state.state.value, state.error and state.error.code) for state in states] == [("failed", "text_refused")]


async def test_knowledge_base_is_activated_while_a_document_of_its_first_indexing_waits_for_its_provider(
    site: Site,
) -> None:
    unavailable = (await site.tenant.upload("unavailable.txt", f"{UNAVAILABLE_TEXT} in the year 1000.")).document
    document = (await site.tenant.upload("a.txt", prose("whales", 3))).document
    await site.tenant.drain()
    kb = await site.tenant.knowledge_base()
    site.processes.worker(concurrency=1)

    async def is_active() -> bool:
        (row,) = await invariants.rows(site, "knowledge_bases")
        return (row["status"], row["document_count"]) == ("active", 1)

    await site.until(is_active, site.jobs)
    assert await site.tenant.found(kb.id, "year") == [document.id]
    (job,) = [row for row in await site.jobs() if row["kind"] == "sync"]
    assert job["state"] != "dead"
    states = await site.services.ingestion.indexing_states.of_document(
        await site.services.ingestion.documents.get(site.tenant.id, unavailable.id)
    )
    assert [(state.state.value, state.error and state.error.code) for state in states] in (
        [("waiting_for_provider", "provider_unavailable")],
        [("indexing", "provider_unavailable")],  # at its next attempt
    )
