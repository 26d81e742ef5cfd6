"""Documents with folders: identity, merging, lookups by path, and what a search shows of them."""

import asyncio
from typing import Any

import pytest

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.lookup import BATCH
from analytiq.ingestion.upload.store import UploadResult
from analytiq.models.upload import DuplicatePolicy, UploadOutcome
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.documents import DocumentQuery
from tests.integration.tenant import Tenant, new_tenant, prose

ORIGIN = "laptop:/home/ada/contracts"


async def put(
    tenant: Tenant,
    path: str,
    content: str,
    *,
    policy: DuplicatePolicy = DuplicatePolicy.RETURN,
    tags: list[str] | None = None,
    merges: bool = False,
    origin: str | None = None,
    **metadata: str,
) -> UploadResult:
    """Upload a file as a form does whose paths come after the files."""
    staged = await tenant.stage(path.rpartition("/")[2], content)
    return await tenant.services.ingestion.uploads.commit(
        staged, tag_ids=tags, metadata=metadata or None, policy=policy, merges=merges, path=path, origin=origin
    )


async def test_equal_bytes_in_two_folders_are_two_documents(tenant: Tenant) -> None:
    first = await put(tenant, "acme/2023/contract.txt", prose("whales", 3))
    second = await put(tenant, "acme/2024/contract.txt", prose("whales", 3))
    again = await put(tenant, "acme/2023/contract.txt", prose("whales", 3))
    assert (first.outcome, second.outcome, again.outcome) == ("created", "created", "returned")
    assert again.document.id == first.document.id != second.document.id


async def test_replacement_is_of_the_file_in_the_same_folder_only(tenant: Tenant) -> None:
    kept = await put(tenant, "2023/contract.txt", prose("whales", 3))
    first = await put(tenant, "2024/contract.txt", prose("whales", 3))
    second = await put(tenant, "2024/contract.txt", prose("birds", 3), policy=DuplicatePolicy.REPLACE)
    assert (second.outcome, second.document.id) == (UploadOutcome.REPLACED, first.document.id)
    now = await tenant.services.ingestion.documents.get(tenant.id, kept.document.id)
    assert now.sha256 == kept.document.sha256


async def test_search_cites_the_path_and_filters_by_folder(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    for year in (2022, 2023, 2024):
        await put(tenant, f"acme/{year}/contract.txt", prose("whales", 3, first=year), tags=[tenant.tag.id])
    await tenant.drain()
    answer = await tenant.search(kb.id, "whales", top_k=100)
    assert {result.source for result in answer.results} == {f"acme/{year}/contract.txt" for year in (2022, 2023, 2024)}
    only = tenant.services.retrieval.search.resolve_filter
    tree = await only(tenant.organization, {"document_name": {"$prefix": "acme/2023/"}})
    narrowed = await tenant.search(kb.id, "whales", top_k=100, filter=tree)
    assert {result.source for result in narrowed.results} == {"acme/2023/contract.txt"}


async def test_merging_adds_tags_and_metadata_to_the_document_that_exists(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kb = await tenant.knowledge_base()
    other = await tenant.new_tag("other")
    first = await put(tenant, "a/b.txt", prose("whales", 3), tags=[other.id], year="2023", kind="x")
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == []
    text_id = (await tenant.services.ingestion.documents.get(tenant.id, first.document.id)).text_id
    for policy in (DuplicatePolicy.RETURN, DuplicatePolicy.REPLACE):
        merged = await put(
            tenant, "a/b.txt", prose("whales", 3),
            policy=policy, tags=[tenant.tag.id], merges=True, origin=ORIGIN, year="2024",
        )  # fmt: skip
        assert merged.outcome is UploadOutcome.RETURNED
        assert merged.document.tag_ids == (other.id, tenant.tag.id)
        assert merged.document.metadata == {"year": "2024", "kind": "x"}
        assert merged.document.origin == ORIGIN
    await tenant.drain()
    assert await tenant.found(kb.id, "whales") == [first.document.id]
    # The bytes were there: nothing is stored or read again.
    assert (await tenant.services.ingestion.documents.get(tenant.id, first.document.id)).text_id == text_id
    assert await migrated.database["fs.files"].count_documents({}) == 1


async def test_merging_replacement_keeps_the_tags_that_the_document_has(tenant: Tenant) -> None:
    other = await tenant.new_tag("other")
    await put(tenant, "a.txt", "old", tags=[other.id], kind="x")
    replaced = await put(
        tenant, "a.txt", "new", policy=DuplicatePolicy.REPLACE, tags=[tenant.tag.id], merges=True, year="2024"
    )
    assert replaced.outcome is UploadOutcome.REPLACED
    assert replaced.document.tag_ids == (other.id, tenant.tag.id)
    assert replaced.document.metadata == {"kind": "x", "year": "2024"}


async def test_twenty_merges_at_once_lose_no_tag(tenant: Tenant) -> None:
    await put(tenant, "a.txt", "text")
    tags = [await tenant.new_tag(f"tag {number}") for number in range(20)]
    await asyncio.gather(*(put(tenant, "a.txt", "text", tags=[tag.id], merges=True) for tag in tags))
    (document,), _ = await tenant.services.ingestion.documents.page(tenant.id, DocumentQuery(), skip=0, limit=10)
    assert set(document.tag_ids) == {tag.id for tag in tags}


async def test_origin_that_a_document_has_stays_until_it_is_replaced(tenant: Tenant) -> None:
    await put(tenant, "a.txt", "old", origin=ORIGIN)
    returned = await put(tenant, "a.txt", "old", merges=True, origin="other")
    replaced = await put(tenant, "a.txt", "new", policy=DuplicatePolicy.REPLACE, origin="other")
    assert (returned.document.origin, replaced.document.origin) == (ORIGIN, "other")


async def test_path_that_is_none_leaves_no_document(tenant: Tenant) -> None:
    with pytest.raises(InvalidInputError):
        await put(tenant, "../a.txt", "text")
    assert (await tenant.services.ingestion.documents.page(tenant.id, DocumentQuery(), skip=0, limit=1))[1] == 0


async def test_lists_are_narrowed_to_a_folder_and_not_to_its_namesakes(tenant: Tenant) -> None:
    for path in ("a/x.txt", "a/b/y.txt", "a.txt", "a b/x.txt", "ab/x.txt", "A/x.txt", "a-/x.txt", "a0/x.txt"):
        await put(tenant, path, "text")

    async def listed(**query: Any) -> list[str]:
        wanted = DocumentQuery(sort_field="document_name", descending=False, **query)
        return [item.document_name for item in (await tenant.services.ingestion.documents.page(
            tenant.id, wanted, skip=0, limit=100
        ))[0]]  # fmt: skip

    assert await listed(folder="a") == ["a/b/y.txt", "a/x.txt"]
    assert await listed(folder="a", name_search="Y.TXT") == ["a/b/y.txt"]
    assert await listed(name_search="b/y") == ["a/b/y.txt"]


async def test_lookup_of_a_folder_answers_every_document_once_across_batches(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analytiq.ingestion.documents.lookup.BATCH", 3)
    stranger = await new_tenant(tenant.services)
    await put(stranger, "a/secret.txt", "text")
    made = [await put(tenant, f"a/{number}.txt", "text") for number in range(7)]
    made.append(await put(tenant, "a/3.txt", "text", policy=DuplicatePolicy.CREATE))
    await put(tenant, "b/0.txt", "text")
    lookups, after, found = tenant.services.ingestion.lookups, None, list[str]()
    while True:
        batch = await lookups.below(tenant.id, "a", after=after)
        found += [document.id for document in batch.documents]
        if batch.next is None:
            break
        after = batch.next
    assert sorted(found) == sorted(result.document.id for result in made)
    at = await lookups.at_paths(tenant.id, ["a/3.txt", "a/secret.txt", "b/0.txt"], after=None)
    assert [document.document_name for document in at.documents] == ["a/3.txt", "a/3.txt", "b/0.txt"]
    assert BATCH == 1000


async def test_progress_of_many_is_that_of_each_and_of_no_other_organization(tenant: Tenant) -> None:
    await tenant.knowledge_base()
    stranger = await new_tenant(tenant.services)
    foreign = await stranger.document("a.txt", prose("whales", 2))
    done = await tenant.document("done.txt", prose("whales", 2))
    waiting = (await tenant.upload("waiting.txt", prose("birds", 2))).document
    answered = await tenant.services.ingestion.lookups.progress(
        tenant.id, [done.id, waiting.id, foreign.id, "f" * 24, "x"]
    )
    states = {item.document.id: [state.state.value for state in item.knowledge_bases] for item in answered}
    assert states == {done.id: ["indexed"], waiting.id: ["waiting"]}
