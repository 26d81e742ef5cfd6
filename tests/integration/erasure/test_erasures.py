"""Erased is erased: everything of an organization, or of some documents, and a report that proves it."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from analytiq import clock
from analytiq.composition import Services
from analytiq.errors import AccessDeniedError, ConflictError, InvalidInputError, LeaseLostError, NotFoundError
from analytiq.ingestion.upload import parts as part_uploads
from analytiq.models.erasure import (
    CacheFate,
    DocumentSelection,
    Erasure,
    ErasureOptions,
    ErasureState,
    LedgerFate,
)
from analytiq.models.organization import CacheScope
from analytiq.models.upload import DuplicatePolicy
from analytiq.settings import ErasureSettings
from analytiq.storage.repositories.backup_holds import BackupHoldRepository
from analytiq.telemetry import checkpoints
from tests.integration.conftest import Compose
from tests.integration.tenant import Tenant, new_tenant, prose
from tests.integration.zip_files import zip_of

DELETED = ErasureOptions(ledger=LedgerFate.DELETE)
ANYTHING = ErasureOptions()


@pytest.fixture
async def services(compose_services: Compose) -> Services:
    """One whose erasures wait for nobody."""
    return await compose_services(erasure=ErasureSettings(quiet_seconds=0))


@pytest.fixture
def hook() -> Iterator[None]:
    """Whatever a test installs is taken away."""
    yield
    checkpoints.install(None)


async def furnish(tenant: Tenant) -> str:
    """Something in every collection; returns the knowledge base."""
    kb = await tenant.knowledge_base()
    await tenant.document("whales.txt", prose("whales", 4), metadata={"uploader": "anna"})
    await tenant.document("birds.txt", prose("birds", 3), metadata={"uploader": "bert"})
    await tenant.document("long.txt", prose("snails", 2000))
    await tenant.replace("birds.txt", prose("birds", 5))
    await tenant.services.tenancy.organizations.issue_token(tenant.id, name="token")
    await tenant.drain()
    await tenant.search(kb.id, "whales")
    await tenant.upload("waiting.txt", prose("moths", 2))  # its job waits
    return kb.id


async def places_that_name(services: Services, *ids: str) -> dict[str, int]:
    """Count the rows of each collection that name one of the ids anywhere, by looking at every byte of all."""
    found: dict[str, int] = {}
    for name in await services.connection.database.list_collection_names():
        count = 0
        async for row in services.connection.database[name].find({}):
            count += any(id_ in repr(row) for id_ in ids)
        if count or any(id_ in name for id_ in ids):
            found[name] = count
    return found


async def erase(services: Services, organization_id: str, options: ErasureOptions = DELETED) -> Erasure:
    requested = await services.operations.erasures.request_organization(
        organization_id, requested_by="test", options=options
    )
    return await services.operations.erasures.run(requested.id)


async def test_erased_organization_is_named_by_nothing_but_the_report(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    files = services.connection.database["fs.files"].find({"metadata.organization_id": tenant.id})
    file_ids = [str(row["_id"]) async for row in files]
    assert len(await places_that_name(services, tenant.id, *file_ids)) > 15
    report = await erase(services, tenant.id)
    assert (report.state, report.left) == (ErasureState.DONE, {})
    assert report.counts["docs"] == 4
    assert report.counts["kb_vectors_"] > 2000
    assert report.counts["fs_chunks"] == 4
    assert await places_that_name(services, tenant.id, *file_ids) == {"erasures": 1}
    assert await services.connection.database["fs.chunks"].count_documents({}) == 0


async def test_other_organizations_lose_nothing(services: Services, tenant: Tenant) -> None:
    other = await new_tenant(services)
    kb_id = await furnish(other)
    await furnish(tenant)
    await other.search(kb_id, "whales")
    found = await other.search(kb_id, "whales")  # what the cache saved has a row from the second time on
    await services.tenancy.metering.totals(other.id, since=None, until=None)  # and is written before it is read
    before = await places_that_name(services, other.id)
    await erase(services, tenant.id)
    assert await places_that_name(services, other.id) == before
    assert [item.content for item in (await other.search(kb_id, "whales")).results] == [
        item.content for item in found.results
    ]


async def test_dry_run_counts_what_would_go_and_changes_nothing(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    before = await places_that_name(services, tenant.id)
    dry = await services.operations.erasures.request_organization(
        tenant.id, requested_by="test", options=DELETED, is_dry_run=True
    )
    assert (dry.state, dry.is_dry_run, dry.documents) == (ErasureState.DONE, True, 4)
    assert await places_that_name(services, tenant.id) == {**before, "erasures": 1}
    report = await erase(services, tenant.id)
    expected = {name: count for name, count in dry.counts.items() if name not in ("organizations", "kb_epochs")}
    assert {name: report.counts.get(name) for name in expected} == expected


async def test_request_closes_the_organization_at_once(services: Services, tenant: Tenant) -> None:
    kb_id = await furnish(tenant)
    issued = await services.tenancy.organizations.issue_token(tenant.id, name="late")
    await services.tenancy.organizations.open_with(issued.secret.get_secret_value())
    requested = await services.operations.erasures.request_organization(
        tenant.id, requested_by="test", options=ANYTHING
    )
    assert requested.tombstoned_at is not None
    with pytest.raises(AccessDeniedError):
        await services.tenancy.organizations.open_with(issued.secret.get_secret_value())
    with pytest.raises(NotFoundError):
        await services.tenancy.organizations.get(tenant.id)
    with pytest.raises(ConflictError):
        await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=ANYTHING)
    assert kb_id in requested.kb_ids


async def test_worker_does_an_erasure_and_leaves_no_history_of_it(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    requested = await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=DELETED)
    runner = services.jobs.new_runner()
    await runner.run_until_idle()
    report = await services.operations.erasures.get(requested.id)
    assert report.state is ErasureState.DONE
    assert await places_that_name(services, tenant.id) == {"erasures": 1}


async def test_charges_are_anonymized_deleted_or_kept_by_choice(services: Services) -> None:
    ledger = services.connection.database["spu_ledger"]
    for fate in LedgerFate:
        tenant = await new_tenant(services)
        kb = await tenant.knowledge_base()
        await tenant.document("a.txt", prose(f"subject-{fate}", 3))
        ((charged,),) = [await ledger.find({"organization_id": tenant.id}).to_list()]
        await erase(services, tenant.id, ErasureOptions(ledger=fate))
        row = await ledger.find_one({"_id": charged["_id"]})
        match fate:
            case LedgerFate.KEEP:
                assert row == charged
            case LedgerFate.DELETE:
                assert row is None
            case LedgerFate.ANONYMIZE:
                assert row == {**charged, "organization_id": "", "kb_id": None}
        assert kb.id not in repr(row) or fate is LedgerFate.KEEP


async def test_shared_embeddings_are_deleted_or_no_longer_say_who_paid(services: Services) -> None:
    cache = services.connection.database["embedding_cache"]
    for fate, left in ((CacheFate.DELETE, 0), (CacheFate.ANONYMIZE, 3)):
        tenant = await new_tenant(services)
        await tenant.knowledge_base()
        await tenant.document("a.txt", prose("birds", 3))
        assert await cache.count_documents({"payer_organization_id": tenant.id}) == 3
        await erase(services, tenant.id, ErasureOptions(cache=fate))
        assert await cache.count_documents({"payer_organization_id": tenant.id}) == 0
        assert await cache.count_documents({}) == left


@pytest.mark.usefixtures("hook")
@pytest.mark.parametrize("place", ["erasure.tombstoned", "erasure.collection_erased", "erasure.erased"])
async def test_erasure_that_stops_anywhere_is_brought_to_its_end_by_another_process(
    services: Services, compose_services: Compose, tenant: Tenant, place: str
) -> None:
    await furnish(tenant)
    passed = 0

    async def stop(name: str) -> None:
        nonlocal passed
        passed += name == place
        if name == place and passed == (8 if place == "erasure.collection_erased" else 1):
            raise OperationFailure("the test stops it here")

    checkpoints.install(stop)
    with pytest.raises(OperationFailure):
        await erase(services, tenant.id)
    checkpoints.install(None)
    rows = services.connection.database["erasures"]
    await rows.update_many({}, {"$set": {"lease_expires_at": datetime(2000, 1, 1, tzinfo=UTC)}})  # it was killed
    other = await compose_services(erasure=ErasureSettings(quiet_seconds=0))
    await other.operations.erasures.keep_up()
    await other.jobs.new_runner().run_until_idle()
    ((report,), _) = await other.operations.erasures.page(tenant.id, skip=0, limit=10)
    assert (report.state, report.left) == (ErasureState.DONE, {})
    assert await places_that_name(services, tenant.id) == {"erasures": 1}


@pytest.mark.usefixtures("hook")
async def test_upload_and_jobs_under_way_bring_nothing_back(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    staged = await tenant.stage("slow.bin", b"x" * 300_000)
    assert staged.content is None  # its bytes are written, under a lease
    looked = 0

    async def go_on(name: str) -> None:
        nonlocal looked
        if name == "erasure.erased" and not looked:
            looked += 1
            with pytest.raises(Exception, match=r"."):
                await services.ingestion.uploads.commit(
                    staged, tag_ids=[], metadata=None, policy=DuplicatePolicy.CREATE
                )
            # A small file, and a tag: whoever was let in before the organization was closed may still write these.
            await tenant.upload("late.txt", "late words", tags=[])
            await tenant.new_tag("late")

    checkpoints.install(go_on)
    report = await erase(services, tenant.id)
    assert looked
    assert report.looks > 1
    assert await places_that_name(services, tenant.id) == {"erasures": 1}
    assert await services.connection.database["fs.chunks"].count_documents({}) == 0


async def test_what_comes_back_after_the_proof_is_erased_again(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    report = await erase(services, tenant.id)
    await tenant.upload("very late.txt", "late words", tags=[])
    await services.operations.erasures.keep_up()
    await services.jobs.new_runner().run_until_idle()
    again = await services.operations.erasures.get(report.id)
    assert again.state is ErasureState.DONE
    assert await places_that_name(services, tenant.id) == {"erasures": 1}


async def test_proof_waits_until_work_under_way_had_time_to_end(compose_services: Compose) -> None:
    services = await compose_services(erasure=ErasureSettings(quiet_seconds=3600))
    tenant = await new_tenant(services)
    await furnish(tenant)
    requested = await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=DELETED)
    await services.jobs.new_runner().run_until_idle()
    waiting = await services.operations.erasures.get(requested.id)
    assert waiting.state is ErasureState.PROVING
    assert waiting.left == {}
    rows = services.connection.database["erasures"]
    await rows.update_one({}, {"$set": {"tombstoned_at": clock.now() - timedelta(hours=2)}})
    assert (await services.operations.erasures.run(requested.id)).state is ErasureState.DONE


async def test_erasure_waits_for_a_backup(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    holds = BackupHoldRepository(services.connection)
    hold = await holds.take(tenant.id, reason="a backup")
    requested = await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=DELETED)
    await services.jobs.new_runner().run_until_idle()
    assert (await services.operations.erasures.get(requested.id)).state is ErasureState.ERASING
    assert await services.connection.database["fs.chunks"].count_documents({}) > 0
    await holds.release(tenant.id, hold)
    assert (await services.operations.erasures.run(requested.id)).state is ErasureState.DONE


async def test_unknown_organization_cannot_be_erased(services: Services) -> None:
    for organization_id in ("f" * 24, "no id"):
        with pytest.raises(NotFoundError):
            await services.operations.erasures.request_organization(
                organization_id, requested_by="test", options=ANYTHING
            )


async def test_collection_that_nobody_described_is_erased_by_its_organization_id(
    services: Services, tenant: Tenant
) -> None:
    database = services.connection.database
    try:
        await database["of_a_later_release"].insert_many([{"organization_id": tenant.id}, {"organization_id": "other"}])
        report = await erase(services, tenant.id)
        assert report.counts["of_a_later_release"] == 1
        assert await database["of_a_later_release"].count_documents({}) == 1
    finally:
        await database.drop_collection("of_a_later_release")


async def erase_documents(services: Services, tenant: Tenant, **selection: Any) -> Erasure:
    requested = await services.operations.erasures.request_documents(
        tenant.id, DocumentSelection(**selection), requested_by="test"
    )
    erasing = asyncio.create_task(services.operations.erasures.run(requested.id))
    while not erasing.done():  # the part of a worker
        await tenant.drain()
        await asyncio.wait([erasing], timeout=0.05)
    return erasing.result()


async def test_documents_of_one_person_are_erased_with_all_that_hangs_on_them(
    services: Services, tenant: Tenant
) -> None:
    kb_id = await furnish(tenant)
    (whales,) = await services.repositories.documents.named(tenant.id, "whales.txt")
    report = await erase_documents(services, tenant, metadata={"uploader": "anna"})
    assert (report.state, report.documents, report.document_ids) == (ErasureState.DONE, 1, (whales.id,))
    assert (await places_that_name(services, whales.id)).keys() <= {"erasures", "kb_changes"}
    assert "birds.txt" in {item.source for item in (await tenant.search(kb_id, "birds")).results}


async def test_parts_of_an_erased_container_are_named_and_erased_with_it(services: Services, tenant: Tenant) -> None:
    inner = zip_of({"deep.txt": prose("whales", 4)})
    content = zip_of({"inner.zip": inner, "birds.txt": prose("birds", 4)})
    box = (await tenant.upload("a.zip", content, metadata={"uploader": "anna"})).document
    other = (await tenant.upload("other.zip", zip_of({"kept.txt": prose("moths", 4)}))).document
    await tenant.drain()
    ids = await services.repositories.document_parts.ids_below(tenant.id, box.id)
    assert len(ids) == 3
    selection = DocumentSelection(document_ids=(box.id,))
    dry = await services.operations.erasures.request_documents(
        tenant.id, selection, requested_by="test", is_dry_run=True
    )
    assert (dry.documents, dry.counts["docs"], dry.holder_ids) == (4, 4, ())
    report = await erase_documents(services, tenant, document_ids=(box.id,))
    assert (report.documents, set(report.document_ids)) == (4, {box.id, *ids})
    assert report.holder_ids == ()
    assert (await places_that_name(services, box.id, *ids)).keys() <= {"erasures", "kb_changes"}
    assert len(await services.repositories.document_parts.ids_below(tenant.id, other.id)) == 1


async def test_parts_that_are_taken_in_while_their_container_is_erased_are_named_too(
    services: Services, tenant: Tenant, hook: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_uploads, "BATCH", 2)
    box = (await tenant.upload("a.zip", zip_of({f"{n}.txt": prose(f"whale {n}", 2) for n in range(8)}))).document
    erasing: list[asyncio.Task[Erasure]] = []

    async def erase_meanwhile(name: str) -> None:
        if name == "parts.taken" and not erasing:
            erasing.append(asyncio.create_task(erase_documents(services, tenant, document_ids=(box.id,))))

    checkpoints.install(erase_meanwhile)
    await tenant.drain()
    report = await erasing[0]
    left = await services.connection.database["docs"].count_documents({"organization_id": tenant.id})
    assert left == 0
    assert report.documents == len(report.document_ids) >= 3
    assert await places_that_name(services, *report.document_ids) == {"erasures": 1}


async def test_report_of_an_erased_part_names_the_container_that_still_holds_it(
    services: Services, tenant: Tenant
) -> None:
    box = (await tenant.upload("a.zip", zip_of({"whales.txt": prose("whales", 4)}))).document
    await tenant.drain()
    (part,) = await services.repositories.document_parts.ids_below(tenant.id, box.id)
    dry = await services.operations.erasures.request_documents(
        tenant.id, DocumentSelection(document_ids=(part,)), requested_by="test", is_dry_run=True
    )
    report = await erase_documents(services, tenant, document_ids=(part,))
    assert (dry.holder_ids, report.holder_ids) == ((box.id,), (box.id,))
    together = await erase_documents(services, tenant, name_contains="a.zip")
    assert together.holder_ids == ()


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"name_contains": "WHAL"}, {"whales.txt"}),
        ({"name_contains": ".*"}, set()),
        ({"metadata": {"uploader": "bert"}}, {"birds.txt"}),
        ({"metadata": {"uploader": "bert"}, "name_contains": "whales"}, set()),
        ({"uploaded_before": datetime(2000, 1, 1, tzinfo=UTC)}, set()),
        ({"uploaded_before": datetime(2100, 1, 1, tzinfo=UTC)}, {"whales.txt", "birds.txt", "long.txt", "waiting.txt"}),
        ({"document_ids": ("f" * 24,)}, set()),
    ],
)
async def test_dry_run_selects_what_fits_all_that_is_given(
    services: Services, tenant: Tenant, selection: dict[str, Any], expected: set[str]
) -> None:
    await furnish(tenant)
    dry = await services.operations.erasures.request_documents(
        tenant.id, DocumentSelection(**selection), requested_by="test", is_dry_run=True
    )
    assert dry.documents == len(expected)
    assert dry.counts.get("docs", 0) == len(expected)
    await erase_documents(services, tenant, **selection)
    left = services.connection.database["docs"].find({"organization_id": tenant.id})
    names = {row["document_name"] async for row in left}
    assert names == {"whales.txt", "birds.txt", "long.txt", "waiting.txt"} - expected


async def test_documents_by_tag_are_those_with_every_tag(services: Services, tenant: Tenant) -> None:
    second = await tenant.new_tag("second")
    await tenant.upload("both.txt", "both", tags=[tenant.tag.id, second.id])
    await tenant.upload("one.txt", "one", tags=[tenant.tag.id])
    dry = await services.operations.erasures.request_documents(
        tenant.id,
        DocumentSelection(tag_ids=(tenant.tag.id, second.id)),
        requested_by="test",
        is_dry_run=True,
    )
    assert dry.documents == 1


async def test_selection_by_nothing_is_refused(services: Services, tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError):
        await services.operations.erasures.request_documents(tenant.id, DocumentSelection(), requested_by="test")


async def test_documents_of_another_organization_are_never_selected(services: Services, tenant: Tenant) -> None:
    other = await new_tenant(services)
    document = (await other.upload("theirs.txt", "theirs", tags=[])).document
    report = await erase_documents(services, tenant, document_ids=(document.id,))
    assert report.documents == 0
    assert await services.ingestion.documents.get(other.id, document.id)


async def test_scope_of_the_cache_is_erased_and_search_goes_on(services: Services, tenant: Tenant) -> None:
    cache = services.connection.database["embedding_cache"]
    await services.connection.database["organizations"].update_many({}, {"$set": {"cache_scope": "organization"}})
    private = tenant.organization.model_copy(update={"cache_scope": CacheScope.ORGANIZATION})
    own = Tenant(services, private, tenant.tag)
    kb_id = (await own.knowledge_base()).id
    await own.document("whales.txt", prose("whales", 4))
    assert await cache.count_documents({"scope": tenant.id}) == 4
    dry = await services.operations.erasures.request_cache(
        tenant.id, requested_by="test", includes_shared=False, is_dry_run=True
    )
    assert dry.counts == {"embedding_cache": 4}
    requested = await services.operations.erasures.request_cache(tenant.id, requested_by="test", includes_shared=False)
    report = await services.operations.erasures.run(requested.id)
    assert report.counts == {"embedding_cache": 4}
    assert await cache.count_documents({"scope": tenant.id}) == 0
    assert await own.found(kb_id, "whales")


async def test_erasures_of_an_organization_are_shown_to_it_and_to_no_other(services: Services, tenant: Tenant) -> None:
    other = await new_tenant(services)
    mine = await services.operations.erasures.request_cache(
        tenant.id, requested_by="test", includes_shared=True, is_dry_run=True
    )
    assert (await services.operations.erasures.get(mine.id, organization_id=tenant.id)).id == mine.id
    with pytest.raises(NotFoundError):
        await services.operations.erasures.get(mine.id, organization_id=other.id)
    assert (await services.operations.erasures.page(other.id, skip=0, limit=10))[1] == 0
    assert (await services.operations.erasures.page(None, skip=0, limit=10))[1] == 1


@pytest.mark.usefixtures("hook")
async def test_process_that_lost_its_lease_stops(services: Services, tenant: Tenant) -> None:
    await furnish(tenant)
    rows = services.connection.database["erasures"]

    async def steal(name: str) -> None:
        if name == "erasure.collection_erased":
            await rows.update_many({}, {"$set": {"lease_token": "another"}})

    requested = await services.operations.erasures.request_organization(tenant.id, requested_by="test", options=DELETED)
    checkpoints.install(steal)
    with pytest.raises(LeaseLostError):
        await services.operations.erasures.run(requested.id)


async def apply_retention(services: Services, tenant: Tenant) -> int:
    return await services.operations.retention.apply(await services.tenancy.organizations.get(tenant.id))


async def test_documents_past_their_days_are_deleted_and_younger_files_are_not(
    services: Services, tenant: Tenant
) -> None:
    database = services.connection.database
    for name in ("old.txt", "replaced.txt", "young.txt"):
        await tenant.upload(name, prose(name, 2), tags=[])
    long_ago = clock.now() - timedelta(days=40)
    await database["docs"].update_many({"document_name": {"$ne": "young.txt"}}, {"$set": {"created_at": long_ago}})
    await database["fs.files"].update_many({"filename": {"$ne": "young.txt"}}, {"$set": {"uploadDate": long_ago}})
    await tenant.replace("replaced.txt", "newer words")
    assert await apply_retention(services, tenant) == 0, "it is off by default"
    await services.operations.retention.set_days(tenant.id, 30)
    assert await apply_retention(services, tenant) == 1
    names = {row["document_name"] async for row in database["docs"].find({})}
    assert names == {"replaced.txt", "young.txt"}
    await services.operations.retention.set_days(tenant.id, None)
    await database["fs.files"].update_many({}, {"$set": {"uploadDate": long_ago}})
    assert await apply_retention(services, tenant) == 0


async def test_runs_on_texts_go_by_age_and_those_of_documents_and_unfinished_ones_stay(
    services: Services, tenant: Tenant
) -> None:
    runs = services.connection.database["prompt_runs"]
    long_ago = clock.now() - timedelta(days=40)
    of_all = {"organization_id": tenant.id, "created_at": long_ago, "prompt_id": "p", "version": 1}
    await runs.insert_many(
        [
            {**of_all, "input_text": "old", "document_id": None, "ended_at": long_ago},
            {**of_all, "input_text": "unfinished", "document_id": None, "ended_at": None},
            {**of_all, "input_text": "recent", "document_id": None, "ended_at": clock.now()},
            {**of_all, "input_text": "of a document", "document_id": "d", "ended_at": long_ago},
            {
                **of_all,
                "input_text": "another's",
                "organization_id": "f" * 24,
                "document_id": None,
                "ended_at": long_ago,
            },
        ]
    )
    await apply_retention(services, tenant)
    assert await runs.count_documents({}) == 5, "it is off by default"
    await services.operations.retention.set_days(tenant.id, 30)
    await apply_retention(services, tenant)
    left = {row["input_text"] async for row in runs.find({})}
    assert left == {"unfinished", "recent", "of a document", "another's"}


async def test_days_that_make_no_sense_are_refused(services: Services, tenant: Tenant) -> None:
    for days in (0, -1, 36_501):
        with pytest.raises(InvalidInputError):
            await services.operations.retention.set_days(tenant.id, days)
    with pytest.raises(NotFoundError):
        await services.operations.retention.set_days("f" * 24, 1)


async def test_crowd_that_uploads_searches_and_works_on_brings_nothing_back(compose_services: Compose) -> None:
    services = await compose_services(erasure=ErasureSettings(quiet_seconds=3))
    tenant = await new_tenant(services)
    kb_id = await furnish(tenant)
    worker = (await compose_services()).jobs.new_runner()
    working = asyncio.create_task(worker.run())
    sent = 0

    async def person(number: int) -> None:
        """Asks for entry before each call, as the API does; is in the middle of one when the organization closes."""
        nonlocal sent
        for turn in range(1000):
            try:
                await services.tenancy.organizations.get(tenant.id)
            except NotFoundError:
                return
            await tenant.upload(f"{number}-{turn}.txt", prose("lynxes", 3, first=turn * 3))
            await tenant.search(kb_id, "lynxes")
            sent += 1

    people = [asyncio.create_task(person(number)) for number in range(4)]
    while sent < 20:
        await asyncio.wait(people, timeout=0.05)
    report = await erase(services, tenant.id)
    await asyncio.gather(*people, return_exceptions=True)
    await worker.stop(drain_seconds=5)
    await working
    assert (report.state, report.left) == (ErasureState.DONE, {})
    assert await places_that_name(services, tenant.id, kb_id) == {"erasures": 1}
