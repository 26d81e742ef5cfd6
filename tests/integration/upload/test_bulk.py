"""Files in bulk: what is sent by itself does not wait for all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from analytiq.composition import Services
from analytiq.errors import AnalytiqError
from analytiq.ingestion.upload.request import UploadRequest
from analytiq.ingestion.upload.store import WITH_DOCUMENT_BYTES, UploadResult
from analytiq.models.document import ExternalIdentity
from analytiq.models.job import Priority
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.storage.client import MongoConnection
from analytiq.telemetry import checkpoints
from tests.integration.tenant import Tenant, prose

Compose = Callable[..., Awaitable[Services]]

IN_BULK = 44
"""More than a batch of the queue, so that some are left when the first batch is done."""


@pytest.fixture
def at_checkpoints() -> Iterator[None]:
    yield
    checkpoints.install(None)


async def sent(
    tenant: Tenant,
    files: Sequence[tuple[str, str]],
    *,
    policy: DuplicatePolicy = DuplicatePolicy.RETURN,
    items: Sequence[ExternalIdentity | None] | None = None,
    metadata: Sequence[dict[str, Any] | None] | None = None,
    is_bulk: bool = False,
) -> list[UploadResult | AnalytiqError]:
    """Send files in one call."""
    requests = [
        UploadRequest(
            staged=await tenant.stage(name, content),
            tag_ids=[tenant.tag.id],
            metadata=None if metadata is None else metadata[index],
            policy=policy,
            external_identity=None if items is None else items[index],
            is_bulk=is_bulk,
        )
        for index, (name, content) in enumerate(files)
    ]
    return await tenant.services.ingestion.uploads.commit_all(requests)


def told(results: Sequence[UploadResult | AnalytiqError]) -> list[str]:
    """The outcomes, or the codes of refusals."""
    return [result.code if isinstance(result, AnalytiqError) else result.outcome.value for result in results]


def ids(results: Sequence[UploadResult | AnalytiqError]) -> list[str]:
    return [result.document.id for result in results if isinstance(result, UploadResult)]


async def content_of(tenant: Tenant, document_id: str) -> str:
    _, source = await tenant.services.ingestion.documents.original(tenant.id, document_id)
    return b"".join([block async for block in source]).decode()


async def commits_during(work: Awaitable[Any]) -> int:
    count = 0

    async def note(name: str) -> None:
        nonlocal count
        count += name == "upload.committed"

    checkpoints.install(note)
    await work
    return count


@pytest.mark.usefixtures("at_checkpoints")
async def test_seventy_files_are_two_transactions_and_each_is_whole(tenant: Tenant) -> None:
    files = [(f"{number}.txt", f"content {number}" if number else "") for number in range(70)]
    results: list[UploadResult | AnalytiqError] = []

    async def send() -> None:
        results.extend(await sent(tenant, files))

    assert await commits_during(send()) == 2
    assert told(results) == ["created"] * 70
    assert [await content_of(tenant, document_id) for document_id in ids(results)] == [content for _, content in files]
    jobs = {f"extract:{document_id}" for document_id in ids(results)}
    assert await tenant.services.repositories.jobs.existing(jobs) == jobs


async def test_each_file_is_answered_for_itself(tenant: Tenant) -> None:
    known = (await tenant.upload("known.txt", "known")).document.id
    files = [
        ("new.txt", "new"),
        ("known.txt", "known"),
        ("bad.txt", "x"),
        ("new.txt", "new"),
        ("big.txt", prose("a", 2000)),
    ]
    assert len(files[4][1]) > WITH_DOCUMENT_BYTES
    results = await sent(tenant, files, metadata=[{"k": 1}, None, {"a.b": 1}, None, None])
    assert told(results) == ["created", "returned", "invalid_input", "returned", "created"]
    first, existing, again, big = ids(results)
    assert (existing, again) == (known, first)
    assert await content_of(tenant, big) == files[4][1]


async def test_next_versions_and_copies_in_one_call_end_in_the_order_sent(tenant: Tenant) -> None:
    files = [("a.txt", "one"), ("b.txt", "b"), ("a.txt", "two"), ("a.txt", "three")]
    results = await sent(tenant, files, policy=DuplicatePolicy.REPLACE)
    assert told(results) == ["created", "created", "replaced", "replaced"]
    assert await content_of(tenant, ids(results)[0]) == "three"
    copies = await sent(tenant, [("b.txt", "b"), ("c.txt", "c"), ("c.txt", "c")], policy=DuplicatePolicy.CREATE)
    assert told(copies) == ["created"] * 3
    assert len({*ids(results), *ids(copies)}) == 5


async def test_items_of_another_system_become_their_documents_in_one_call(tenant: Tenant) -> None:
    items = [ExternalIdentity(source="wiki", external_id=name, version="1") for name in ("a", "b", "a")]
    files = [("same.txt", "same"), ("same.txt", "same"), ("same.txt", "same")]
    results = await sent(tenant, files, items=items)
    assert told(results) == ["created", "created", "returned"]
    assert told(await sent(tenant, files, items=items)) == ["returned"] * 3
    later = [item.model_copy(update={"version": "2"}) for item in items[:2]]
    changed = await sent(tenant, [("same.txt", "new"), ("same.txt", "same")], items=later)
    assert (told(changed), ids(changed)) == (["replaced", "returned"], ids(results)[:2])


async def test_quota_takes_what_fits_and_refuses_the_rest_of_a_call(tenant: Tenant) -> None:
    await tenant.services.ingestion.storage.set_quota(tenant.id, max_bytes=None, max_documents=3)
    results = await sent(tenant, [(f"{number}.txt", f"{number}") for number in range(5)])
    assert told(results) == ["created"] * 3 + ["storage_quota_exceeded"] * 2
    assert (await tenant.services.ingestion.storage.account(tenant.id)).used.documents == 3


@pytest.mark.usefixtures("at_checkpoints")
async def test_four_clients_with_a_file_each_share_a_commit(tenant: Tenant) -> None:
    staged = [await tenant.stage(f"{number}.txt", f"{number}") for number in range(5)]
    metadata: list[dict[str, Any] | None] = [None, None, {"a.b": 1}, None, None]
    outcomes: list[object] = []

    async def send() -> None:
        uploads = tenant.services.ingestion.uploads
        sending = (
            uploads.commit(staged[each], tag_ids=None, metadata=metadata[each], policy=DuplicatePolicy.RETURN)
            for each in range(5)
        )
        outcomes.extend(await asyncio.gather(*sending, return_exceptions=True))

    # The first does not wait for the others; they share the next commit, and an error is its caller's own.
    assert await commits_during(send()) == 2
    assert [isinstance(outcome, UploadResult) for outcome in outcomes] == [True, True, False, True, True]


@pytest.mark.usefixtures("at_checkpoints")
async def test_caller_that_goes_away_takes_no_other_upload_with_it(tenant: Tenant) -> None:
    staged = [await tenant.stage(f"{number}.txt", f"{number}") for number in range(4)]
    uploads = tenant.services.ingestion.uploads
    sending = [
        asyncio.create_task(uploads.commit(each, tag_ids=None, metadata=None, policy=DuplicatePolicy.RETURN))
        for each in staged
    ]

    async def leave(name: str) -> None:
        if name == "upload.committed":
            sending[1].cancel()  # while it waits
            checkpoints.install(leave_within)

    async def leave_within(name: str) -> None:
        if name == "upload.committed":
            sending[2].cancel()  # while its batch is being answered

    checkpoints.install(leave)
    results = await asyncio.gather(*sending, return_exceptions=True)
    for result in (results[0], results[3]):
        assert isinstance(result, UploadResult)
        assert result.outcome is UploadOutcome.CREATED
    assert isinstance(results[1], asyncio.CancelledError)
    checkpoints.install(None)
    assert (await tenant.upload("4.txt", "4")).outcome is UploadOutcome.CREATED


async def test_same_call_at_the_same_time_in_two_processes_makes_each_document_once(
    tenant: Tenant, compose_services: Compose
) -> None:
    files = [(f"{number}.txt", f"{number}") for number in range(30)]
    elsewhere = tenant.seen_by(await compose_services())
    here, there = await asyncio.gather(sent(tenant, files), sent(elsewhere, files))
    assert ids(here) == ids(there)
    assert sorted(told(here) + told(there)) == ["created"] * 30 + ["returned"] * 30


@pytest.mark.usefixtures("at_checkpoints")
async def test_single_upload_into_the_same_knowledge_base_is_indexed_before_the_rest_of_a_bulk(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    await tenant.knowledge_base()
    await tenant.drain()
    files = [(f"{number}.txt", f"number {number} of many") for number in range(IN_BULK)]
    await sent(tenant, files, is_bulk=True)
    single = (await tenant.upload("single.txt", "the only one")).document.id
    before_single: set[str] = set()
    priorities: dict[str, set[int]] = {}
    is_found = False

    async def note(name: str) -> None:
        nonlocal is_found
        if name.startswith(("membership.", "indexing.")):
            async for job in migrated.database["jobs"].find({"kind": "sync"}):
                priorities.setdefault(job["subject"]["document_id"], set()).add(job["priority"])
        if name == "indexing.committed" and not is_found:
            indexed = {row["document_id"] async for row in migrated.database["document_index"].find()}
            is_found = single in indexed
            before_single.update(indexed)

    checkpoints.install(note)
    await tenant.drain()
    assert is_found
    assert priorities.pop(single) == {Priority.INTERACTIVE}
    assert set().union(*priorities.values()) == {Priority.BULK}
    assert len(before_single) < IN_BULK * 3 // 4 + 4
