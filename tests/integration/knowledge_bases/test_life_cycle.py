"""Knowledge bases from creation to deletion: status, counts, lists, and what a deletion leaves behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from bson import ObjectId

from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError, PermanentError, TransientError
from analytiq.ingestion.membership import kb_changed
from analytiq.models.job import JobKind
from analytiq.models.job_payloads import KbMembershipPayload
from analytiq.models.knowledge_base import KnowledgeBase, KnowledgeBaseStatus
from analytiq.settings import QueueSettings
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import MIGRATIONS, migrate
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.repositories.knowledge_bases import NAMES_INDEX
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.tenant import Tenant, new_tenant, prose

Compose = Callable[..., Awaitable[Services]]
EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


async def now(tenant: Tenant, kb: KnowledgeBase) -> KnowledgeBase:
    return await tenant.services.ingestion.knowledge_bases.get(tenant.id, kb.id)


async def test_new_knowledge_base_knows_the_dimensions_of_its_model(tenant: Tenant) -> None:
    remote = await tenant.knowledge_base()
    local = await tenant.knowledge_base(embedding_model="local/all-minilm-l6-v2")
    assert (remote.embedding_dimensions, local.embedding_dimensions) == (64, 384)
    assert remote.status is KnowledgeBaseStatus.INDEXING


async def test_model_stays_the_local_one_where_there_is_a_key(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(embedding_model=None)
    assert kb.embedding_model == "local/all-minilm-l6-v2"


async def test_model_is_the_local_one_where_there_is_no_key(tenant: Tenant, migrated: MongoConnection) -> None:
    await migrated.database["llm_providers"].delete_many({})
    kb = await tenant.knowledge_base(embedding_model=None)
    assert kb.embedding_model == "local/all-minilm-l6-v2"


async def test_knowledge_base_without_documents_is_active_at_once(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ACTIVE


async def test_status_is_indexing_until_every_first_job_has_ended_the_failed_ones_too(
    compose_services: Compose, embedding_server: EmbeddingServer
) -> None:
    # Each document is a call of its own.
    tenant = await new_tenant(await compose_services(queue=QueueSettings(poll_seconds=0.05, batch_size=1)))
    for number in range(3):
        await tenant.document(f"{number}.txt", prose("whales", 5, first=10 * number))
    kb = await tenant.knowledge_base()
    embedding_server.script(None, Failure.UNAUTHORIZED, Failure.SLOW)
    working = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    await tenant.services.ingestion.life_cycle.settle_noted()
    before = await now(tenant, kb)
    assert (before.status, before.document_count, before.chunk_count) == (KnowledgeBaseStatus.INDEXING, 1, 5)
    embedding_server.release()
    await working
    after = await now(tenant, kb)
    assert (after.status, after.document_count, after.chunk_count) == (KnowledgeBaseStatus.ACTIVE, 2, 10)
    assert after.last_indexed_at is not None


async def test_knowledge_base_that_cannot_be_read_holds_up_no_other(
    tenant: Tenant, migrated: MongoConnection, eventually: EventuallyTrue
) -> None:
    life_cycle = tenant.services.ingestion.life_cycle
    broken, whole = await tenant.knowledge_base(), await tenant.knowledge_base()
    job = await tenant.services.repositories.jobs.get(kb_changed(tenant.id, whole.id).deduplication_key)
    assert job is not None
    await tenant.drain()
    rows = migrated.database["knowledge_bases"]
    await rows.update_one({"_id": ObjectId(broken.id)}, {"$set": {"chunk_size": "many"}})
    await rows.update_one({"_id": ObjectId(whole.id)}, {"$set": {"status": "indexing"}})
    for kb in (whole, broken):
        await life_cycle.after_job(job, KbMembershipPayload(kb_id=kb.id))
    settling = asyncio.create_task(life_cycle.settle_continuously())

    async def is_active() -> bool:
        return (await now(tenant, whole)).status is KnowledgeBaseStatus.ACTIVE

    try:
        await eventually(is_active)
        assert not settling.done()
    finally:
        settling.cancel()


async def test_large_knowledge_base_is_counted_less_often_and_holds_up_no_other(
    tenant: Tenant, eventually: EventuallyTrue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.knowledge_bases.life_cycle.PAUSE_SECONDS_PER_DOCUMENT", 3600.0)
    life_cycle = tenant.services.ingestion.life_cycle
    large = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    small = await tenant.knowledge_base()
    job = await tenant.services.repositories.jobs.get(kb_changed(tenant.id, small.id).deduplication_key)
    assert job is not None
    rows = tenant.services.connection.database["knowledge_bases"]
    await rows.update_many({}, {"$set": {"document_count": 7}})
    for kb in (large, small):
        await life_cycle.after_job(job, KbMembershipPayload(kb_id=kb.id))
    settling = asyncio.create_task(life_cycle.settle_continuously())

    async def counted(kb: KnowledgeBase) -> int:
        row = await rows.find_one({"_id": ObjectId(kb.id)})
        assert row is not None
        return int(row["document_count"])

    async def small_is_counted() -> bool:
        return await counted(small) == 0

    try:
        await eventually(small_is_counted)
    finally:
        settling.cancel()
    assert await counted(large) == 7
    await life_cycle.settle_noted()
    assert await counted(large) == 1


async def test_work_that_comes_after_the_first_indexing_does_not_change_the_status(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    embedding_server.script(Failure.UNAUTHORIZED)
    await tenant.document("bad.txt", prose("whales", 5))
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ACTIVE


async def test_running_worker_activates_and_counts_by_itself(tenant: Tenant, eventually: EventuallyTrue) -> None:
    runner = tenant.services.jobs.new_runner()
    working = asyncio.create_task(runner.run())
    settling = asyncio.create_task(tenant.services.ingestion.life_cycle.settle_continuously())
    kb = await tenant.knowledge_base()
    await tenant.upload("a.txt", prose("whales", 5))

    async def is_counted() -> bool:
        (listed,), _ = await tenant.services.ingestion.knowledge_bases.page(
            tenant.id, skip=0, limit=10, name_search=None
        )
        return (listed.status, listed.document_count, listed.chunk_count) == (KnowledgeBaseStatus.ACTIVE, 1, 5)

    await eventually(is_counted)
    await runner.stop(drain_seconds=10)
    await working
    settling.cancel()
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ACTIVE


async def test_counts_follow_what_joins_and_leaves(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    first = await tenant.document("a.txt", prose("whales", 5))
    await tenant.document("b.txt", prose("whales", 7))
    await tenant.set_tags(first, [])
    await tenant.drain()
    (listed,), total = await tenant.services.ingestion.knowledge_bases.page(
        tenant.id, skip=0, limit=10, name_search=None
    )
    assert (listed.document_count, listed.chunk_count, total) == (1, 7, 1)
    documents, total = await tenant.services.ingestion.knowledge_bases.documents(tenant.id, kb.id, skip=0, limit=10)
    assert [(document.document_name, document.chunk_count) for document in documents] == [("b.txt", 7)]
    assert total == 1


async def test_lists_are_by_organization_newest_first_and_searched_literally(tenant: Tenant) -> None:
    stranger = await new_tenant(tenant.services)
    await stranger.knowledge_base(name="a+b of others")
    for name in ("a+b", "aab", "A+B again"):
        await tenant.knowledge_base(name=name)
    page = tenant.services.ingestion.knowledge_bases.page

    async def names(name_search: str | None, skip: int = 0, limit: int = 10) -> list[str]:
        found, _ = await page(tenant.id, skip=skip, limit=limit, name_search=name_search)
        return [kb.name for kb in found]

    assert await names(None) == ["A+B again", "aab", "a+b"]
    assert await names("a+b") == ["A+B again", "a+b"]
    assert await names(None, skip=1, limit=1) == ["aab"]


async def test_name_that_another_has_is_refused_with_its_id(tenant: Tenant, embedding_server: EmbeddingServer) -> None:
    first = await tenant.knowledge_base(name="Big")
    second = await tenant.knowledge_base(name="Small")
    calls = len(embedding_server.requests)
    with pytest.raises(ConflictError, match=first.id) as refused:
        await tenant.knowledge_base(name="Big", embedding_model="openai/not-tried-yet")
    assert refused.value.code == "knowledge_base_name_taken"
    assert len(embedding_server.requests) == calls  # no provider is asked for a name that is taken
    with pytest.raises(ConflictError, match=first.id):
        await tenant.services.ingestion.knowledge_bases.change(tenant.id, second.id, {"name": "Big"})
    assert (await tenant.services.ingestion.knowledge_bases.change(tenant.id, first.id, {"name": "Big"})).name == "Big"
    stranger = await new_tenant(tenant.services)
    assert (await stranger.knowledge_base(name="Big")).name == "Big"


async def test_of_twenty_creations_of_one_name_at_once_one_is_made(tenant: Tenant, migrated: MongoConnection) -> None:
    made = await asyncio.gather(*(tenant.knowledge_base(name="Big") for _ in range(20)), return_exceptions=True)
    (only,) = [item for item in made if isinstance(item, KnowledgeBase)]
    assert [item.code for item in made if isinstance(item, ConflictError)] == ["knowledge_base_name_taken"] * 19
    assert all(only.id in str(item) for item in made if isinstance(item, ConflictError))
    names = [name for name in await migrated.database.list_collection_names() if name.startswith("kb_vectors_")]
    assert names == [f"kb_vectors_{only.id}"]


async def test_name_of_a_deleted_knowledge_base_is_free_at_once(tenant: Tenant) -> None:
    first = await tenant.knowledge_base(name="Big")
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, first.id)
    assert (await tenant.knowledge_base(name="Big")).id != first.id
    await tenant.drain()


async def test_names_that_an_older_release_let_in_twice_are_set_apart(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    rows = migrated.database["knowledge_bases"]
    await rows.drop_index(NAMES_INDEX)
    kept = [await tenant.knowledge_base() for _ in range(4)]
    for kb, name in zip(kept, ["Big", "Big (2)", "Big", "Big"], strict=True):
        await rows.update_one({"_id": ObjectId(kb.id)}, {"$set": {"name": name}})
    await migrated.database["schema_migrations"].update_one({}, {"$set": {"version": MIGRATIONS[-1].version - 1}})
    await migrate(migrated)
    assert [(await now(tenant, kb)).name for kb in kept] == ["Big", "Big (2)", "Big (3)", "Big (4)"]
    assert NAMES_INDEX in await rows.index_information()


async def test_deleted_knowledge_base_leaves_nothing(tenant: Tenant, migrated: MongoConnection) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.replace("a.txt", prose("birds", 5))
    await tenant.drain()
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    assert await now_or_none(tenant, kb) is None
    await tenant.drain()
    left: list[tuple[str, Any]] = []
    for name in await migrated.database.list_collection_names():
        assert kb.id not in name
        if name not in ("spu_ledger", "job_history"):  # what was paid for, and what was done, stays on the books
            left += [(name, row) async for row in migrated.database[name].find({}) if kb.id in str(row)]
    assert left == []
    assert (await tenant.services.tenancy.metering.totals(tenant.id, since=None, until=None))[0].kb_id == kb.id


async def now_or_none(tenant: Tenant, kb: KnowledgeBase) -> KnowledgeBase | None:
    try:
        return await now(tenant, kb)
    except NotFoundError:
        return None


async def test_knowledge_base_of_another_organization_can_neither_be_changed_nor_deleted(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    stranger = await new_tenant(tenant.services)
    service = tenant.services.ingestion.knowledge_bases
    operations: list[Callable[[], Awaitable[object]]] = [
        lambda: service.get(stranger.id, kb.id),
        lambda: service.change(stranger.id, kb.id, {"name": "x"}),
        lambda: service.delete(stranger.id, kb.id),
        lambda: service.documents(stranger.id, kb.id, skip=0, limit=10),
        lambda: service.delete(tenant.id, new_id()),
    ]
    for operation in operations:
        with pytest.raises(NotFoundError):
            await operation()
    assert (await now(tenant, kb)).name == kb.name


async def test_deleting_it_twice_is_not_found_the_second_time(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    with pytest.raises(NotFoundError):
        await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"chunker_type": "unknown"}, "chunker_type"),
        ({"chunk_size": 3}, "chunk_size"),
        ({"chunk_overlap": 16}, "chunk_overlap"),
        ({"embedding_model": "no/such/model"}, "embedding_model"),
    ],
)
async def test_wrong_configuration_is_refused_by_field_and_leaves_nothing(
    tenant: Tenant, migrated: MongoConnection, options: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        await tenant.knowledge_base(**options)
    assert [error.field for error in caught.value.errors] == [field]
    assert await leaves_nothing(migrated)


async def test_provider_that_does_not_answer_leaves_no_half_of_a_knowledge_base(
    tenant: Tenant, migrated: MongoConnection, embedding_server: EmbeddingServer
) -> None:
    embedding_server.script(*[Failure.SERVER_ERROR] * 3)
    with pytest.raises(TransientError):
        await tenant.knowledge_base()
    assert await leaves_nothing(migrated)


async def leaves_nothing(migrated: MongoConnection) -> bool:
    names = await migrated.database.list_collection_names(filter={"name": {"$regex": "^kb_vectors_"}})
    rows = await migrated.database["knowledge_bases"].count_documents({})
    return names == [] and rows == 0 and await migrated.database["jobs"].count_documents({}) == 0


async def test_unknown_tags_are_named_with_their_place(tenant: Tenant) -> None:
    stranger = await new_tenant(tenant.services)
    with pytest.raises(InvalidInputError) as caught:
        await tenant.services.ingestion.tags.require(
            tenant.id, [tenant.tag.id, stranger.tag.id, "no id", tenant.tag.id]
        )
    assert caught.value.code == "unknown_tag"
    assert [error.field for error in caught.value.errors] == ["tag_ids[1]", "tag_ids[2]"]
    known = await tenant.services.ingestion.tags.require(tenant.id, [tenant.tag.id, tenant.tag.id])
    assert known == [tenant.tag.id]


async def test_tag_in_use_cannot_be_deleted_and_says_by_whom(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(name="Whales and more")
    document = await tenant.document("a.txt", "text")
    with pytest.raises(ConflictError, match=r"1 documents and 1 knowledge bases.*Whales and more") as caught:
        await tenant.services.ingestion.tags.delete(tenant.id, tenant.tag.id)
    assert caught.value.code == "tag_in_use"
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    await tenant.services.ingestion.tags.delete(tenant.id, tenant.tag.id)
    with pytest.raises(NotFoundError):
        await tenant.services.ingestion.tags.get(tenant.id, tenant.tag.id)


async def test_same_tag_made_by_eight_at_once_is_made_once(tenant: Tenant) -> None:
    outcomes = await asyncio.gather(*(tenant.new_tag("same") for _ in range(8)), return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, ConflictError)]
    assert len(refused) == 7
    assert {error.code for error in refused} == {"tag_name_taken"}


async def test_drop_that_died_half_way_is_finished_by_the_next_attempt(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    await tenant.services.ingestion.knowledge_bases.delete(tenant.id, kb.id)
    await migrated.database.drop_collection(f"kb_vectors_{kb.id}")
    await migrated.database["document_index"].delete_many({"kb_id": kb.id})
    assert ((JobKind.DROP_KB.value, "available"), 1) in (await tenant.services.repositories.jobs.counts()).items()
    await tenant.drain()
    assert await migrated.database["generations"].count_documents({}) == 0
    assert await migrated.database["knowledge_bases"].count_documents({}) == 0


async def test_status_is_active_once_every_document_was_tried_though_one_waits_for_its_provider(
    compose_services: Compose, embedding_server: EmbeddingServer
) -> None:
    # Each document is a call of its own.
    tenant = await new_tenant(await compose_services(queue=QueueSettings(poll_seconds=0.05, batch_size=1)))
    for number in range(3):
        await tenant.document(f"{number}.txt", prose("whales", 5, first=10 * number))
    kb = await tenant.knowledge_base()
    embedding_server.script(None, *[Failure.UNAVAILABLE] * 3, Failure.SLOW)  # a call is repeated twice before it fails
    working = asyncio.create_task(tenant.drain())
    await asyncio.to_thread(embedding_server.wait_for_slow_call)
    await tenant.services.ingestion.life_cycle.settle_noted()
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.INDEXING, "one was not tried yet"
    embedding_server.release()
    embedding_server.script(*[Failure.UNAVAILABLE] * 100)
    await working
    after = await now(tenant, kb)
    assert (after.status, after.document_count) == (KnowledgeBaseStatus.ACTIVE, 2)


class ActsBeforeTheCountIsWritten:
    """The real counts; what happens elsewhere between their reading and their writing happens after the first."""

    def __init__(self, entries: IndexEntryRepository, action: Callable[[], Awaitable[object]]) -> None:
        self._entries = entries
        self._action: Callable[[], Awaitable[object]] | None = action

    async def statistics(self, kb_id: str) -> tuple[int, int]:
        counts = await self._entries.statistics(kb_id)
        if self._action is not None:
            action, self._action = self._action, None
            await action()
        return counts


async def listed_counts(tenant: Tenant) -> tuple[int, int]:
    (listed,), _ = await tenant.services.ingestion.knowledge_bases.page(tenant.id, skip=0, limit=10, name_search=None)
    return listed.document_count, listed.chunk_count


async def test_count_that_was_read_earlier_and_is_written_later_changes_nothing(
    tenant: Tenant, compose_services: Compose
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    other = tenant.seen_by(await compose_services())
    life_cycle = tenant.services.ingestion.life_cycle
    meanwhile = ActsBeforeTheCountIsWritten(life_cycle._entries, lambda: other.document("b.txt", prose("birds", 7)))
    life_cycle._entries = cast("IndexEntryRepository", meanwhile)
    assert not await life_cycle.settle(tenant.id, kb.id)
    assert await listed_counts(tenant) == (2, 12)


async def test_counts_of_a_knowledge_base_that_was_restored_without_its_epoch_are_written_again(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose("whales", 5))
    ahead = {"counted_epoch": 1000, "document_count": 3, "chunk_count": 3}
    await migrated.database["knowledge_bases"].update_one({}, {"$set": ahead})
    assert await tenant.services.ingestion.life_cycle.settle(tenant.id, kb.id)
    assert await listed_counts(tenant) == (1, 5)
    assert not await tenant.services.ingestion.life_cycle.settle(tenant.id, kb.id)


async def test_knowledge_base_whose_documents_could_not_be_gathered_is_in_error_until_the_job_is_replayed(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await tenant.document("a.txt", prose("whales", 5))
    kb = await tenant.knowledge_base()
    with monkeypatch.context() as broken:
        broken.setattr(tenant.services.repositories.knowledge_bases, "note_first_membership", fails_for_good)
        await tenant.drain()
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ERROR
    await tenant.services.jobs.operations.replay(tenant.id, f"membership_kb:{kb.id}")
    await tenant.drain()
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ACTIVE
    assert await tenant.found(kb.id, "year") == [document.id]


async def fails_for_good(*_: object) -> None:
    raise PermanentError("it cannot be done")


async def test_document_that_cost_its_worker_counts_as_tried(tenant: Tenant, eventually: EventuallyTrue) -> None:
    await tenant.document("a.txt", prose("whales", 5))
    kb = await tenant.knowledge_base()
    services = tenant.services
    gathering = await services.repositories.jobs.claim(
        [JobKind.MEMBERSHIP_KB], worker="w", lease_token=new_id(), lease_seconds=60
    )
    assert gathering is not None
    await services.jobs.new_runner()._run_job(gathering)
    await services.repositories.jobs.claim([JobKind.SYNC], worker="dies", lease_token=new_id(), lease_seconds=0.1)
    await services.ingestion.life_cycle.settle(tenant.id, kb.id)
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.INDEXING

    async def is_rescued() -> bool:
        return await services.repositories.jobs.rescue(max_deaths=8) == 1

    await eventually(is_rescued)
    await services.ingestion.life_cycle.settle(tenant.id, kb.id)
    assert (await now(tenant, kb)).status is KnowledgeBaseStatus.ACTIVE
