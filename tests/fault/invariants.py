"""Invariants of the state after all work, read from the database without the library wherever that is possible."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.fault.reader import QUESTION, by_document, text_of, without_spaces
from tests.fault.site import Site

LASTING = ("spu_ledger", "spu_savings", "spu_accounts", "job_history")
"""Collections that may still name a deleted knowledge base: charges and savings stay, the history for a month."""


async def hold(site: Site, expected: Mapping[str, Mapping[str, str]]) -> None:
    """Assert everything.

    Args:
        expected: of each knowledge base that exists, each document that is to be found in it, and its text.
    """
    for kb_id, texts in expected.items():
        await _search_finds(site, kb_id, texts)
    await rows_hold(site, expected)


async def rows_hold(site: Site, expected: Mapping[str, Mapping[str, str]]) -> None:
    """Assert everything but what a search finds, which shows at most 100 chunks."""
    await _entries_are_whole(site, expected)
    await _statistics_are_counts(site, expected)
    await _files_and_texts_belong_to_documents(site)
    await _nothing_is_left_over(site, expected)
    await books_balance(site)


async def _search_finds(site: Site, kb_id: str, texts: Mapping[str, str]) -> None:
    answer = await site.tenant.search(kb_id, QUESTION, top_k=100)
    found = {document_id: text_of(results) for document_id, results in by_document(answer.results).items()}
    assert found == {document_id: without_spaces(text) for document_id, text in texts.items()}
    assert answer.total_count == len(answer.results)


async def _entries_are_whole(site: Site, expected: Mapping[str, Mapping[str, str]]) -> None:
    """One entry a pair, one current generation an entry, as many vectors as it should have, and no others."""
    entries = await rows(site, "document_index")
    pairs = sorted((row["kb_id"], row["document_id"]) for row in entries)
    assert pairs == sorted((kb_id, document_id) for kb_id, texts in expected.items() for document_id in texts)
    generations = {
        str(row["_id"]): (row["kb_id"], row["state"], row["chunk_count"]) for row in await rows(site, "generations")
    }
    assert generations == {row["generation_id"]: (row["kb_id"], "current", row["chunk_count"]) for row in entries}
    for kb_id in expected:
        vectors = Counter([row["generation_id"] for row in await rows(site, f"kb_vectors_{kb_id}")])
        assert vectors == {row["generation_id"]: row["chunk_count"] for row in entries if row["kb_id"] == kb_id}


async def _statistics_are_counts(site: Site, expected: Mapping[str, Mapping[str, str]]) -> None:
    entries = await rows(site, "document_index")
    knowledge_bases = {str(row["_id"]): row for row in await rows(site, "knowledge_bases")}
    assert knowledge_bases.keys() == expected.keys()
    for kb_id, row in knowledge_bases.items():
        chunks = [entry["chunk_count"] for entry in entries if entry["kb_id"] == kb_id]
        assert (row["status"], row["document_count"], row["chunk_count"]) == ("active", len(chunks), sum(chunks))


async def _files_and_texts_belong_to_documents(site: Site) -> None:
    documents = await rows(site, "docs")
    assert {row["state"] for row in documents} <= {"extracted"}
    assert {str(row["_id"]) for row in await rows(site, "fs.files")} == {row["file_id"] for row in documents}
    assert {str(row["files_id"]) for row in await rows(site, "fs.chunks")} == {row["file_id"] for row in documents}
    texts = {str(row["_id"]): row["state"] for row in await rows(site, "document_texts")}
    assert texts == {row["text_id"]: "current" for row in documents}
    assert {row["text_id"] for row in await rows(site, "document_text_segments")} <= texts.keys()


async def _nothing_is_left_over(site: Site, expected: Mapping[str, Mapping[str, str]]) -> None:
    assert await site.jobs() == []
    assert await rows(site, "uploads") == []
    names = await site.database.list_collection_names()
    assert {name for name in names if name.startswith("kb_vectors_")} == {f"kb_vectors_{kb_id}" for kb_id in expected}
    assert {str(row["_id"]) for row in await rows(site, "kb_epochs")} == expected.keys()
    changes = await rows(site, "kb_changes")
    assert {row["kb_id"] for row in changes} <= expected.keys()
    for row in await rows(site, "kb_epochs"):
        epochs = sorted(change["epoch"] for change in changes if change["kb_id"] == str(row["_id"]))
        assert epochs == list(range(1, row["epoch"] + 1))


async def books_balance(site: Site) -> None:
    """For each organization, model and operation, SPUs are the cache rows that it first stored, evicted ones too."""
    cached: Counter[tuple[str, ...]] = Counter()
    for row in await rows(site, "embedding_cache"):
        cached[row["payer_organization_id"], row["embedding_model"], row["operation"]] += 1
    for row in await rows(site, "embedding_cache_removed"):
        cached[row["organization_id"], row["embedding_model"], row["operation"]] += row["rows"]
    charged: Counter[tuple[str, ...]] = Counter()
    for row in await rows(site, "spu_ledger"):
        charged[row["organization_id"], row["embedding_model"], row["operation"]] += row["spus"]
    assert charged == cached
    # By their ids: a reservation is open in the account until its release, and may have been charged before.
    charges = {str(row["_id"]): row for row in await rows(site, "spu_ledger")}
    used: Counter[str] = Counter()
    for row in await rows(site, "spu_accounts"):
        unreleased = [charges[reservation]["spus"] for reservation in row["open"] if reservation in charges]
        used[str(row["_id"])] += row["used"] + sum(unreleased)
    ledger: Counter[str] = Counter()
    for row in charges.values():
        ledger[row["organization_id"]] += row["spus"]
    assert used == ledger


async def nothing_names(site: Site, identifier: str, *, but: tuple[str, ...] = ()) -> None:
    """No row of any collection holds the id of something that was deleted."""
    for name in await site.database.list_collection_names():
        assert identifier not in name
        if name not in but:
            naming = [row for row in await rows(site, name) if identifier in str(row)]
            assert naming == [], f"{name} still names {identifier}"


async def rows(site: Site, collection: str) -> list[dict[str, Any]]:
    return [row async for row in site.database[collection].find()]
