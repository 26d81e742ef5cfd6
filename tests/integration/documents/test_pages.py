"""Pages of the list of documents: every way of finding one gives what sorting all of them would."""

import itertools
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from bson import ObjectId

from analytiq import clock
from analytiq.composition import Services
from analytiq.models.document import DocumentState
from analytiq.models.file_type import CONTENT_TYPES, FileType, file_type_of
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories import document_pages
from analytiq.storage.repositories.document_pages import DocumentQuery
from analytiq.storage.repositories.documents import SORT_FIELDS
from tests.integration.tenant import new_tenant

Compose = Callable[..., Awaitable[Services]]
COUNT = 90


async def fill(migrated: MongoConnection, organization_id: str) -> list[dict[str, object]]:
    now = clock.now()
    rows: list[dict[str, object]] = [
        {
            "_id": ObjectId(), "organization_id": organization_id, "identity": f"{organization_id} {number}",
            "document_name": f"{'Scan' if number % 9 else 'Note'} {number % 40}.txt", "byte_size": number * 7 % 20,
            "sha256": "0", "content_type": "text/plain", "file_id": "0" * 24, "tag_ids": [], "metadata": {}, "rev": 0,
            "state": "failed" if number % 3 else "extracted", "created_at": now - timedelta(seconds=number % 30),
            "updated_at": now - timedelta(seconds=number * 11 % 50),
        }
        for number in range(COUNT)
    ]  # fmt: skip
    await migrated.database["docs"].insert_many(rows)
    return rows


@pytest.mark.parametrize("is_deep", [False, True])
@pytest.mark.parametrize("few", [0, 5_000])
async def test_page_is_the_slice_of_all_documents_in_that_order(
    compose_services: Compose, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch, is_deep: bool, few: int
) -> None:
    monkeypatch.setattr(document_pages, "DEEP_SKIP", 0 if is_deep else 1_000)
    monkeypatch.setattr(document_pages, "FEW_NAMED", few)
    tenant = await new_tenant(await compose_services())
    other = await new_tenant(tenant.services)
    rows = await fill(migrated, tenant.id)
    await fill(migrated, other.id)
    names: tuple[str | None, ...] = (None, "note", "scan", "nothing")
    states: tuple[tuple[DocumentState, ...], ...] = ((), (DocumentState.FAILED,))
    for field, descending, name, wanted in itertools.product(SORT_FIELDS, (True, False), names, states):
        query = DocumentQuery(name_search=name, states=wanted, sort_field=field, descending=descending)
        expected = sorted(
            (
                row
                for row in rows
                if (name is None or name in str(row["document_name"]).lower())
                and (not wanted or row["state"] == "failed")
            ),
            key=lambda row, field=field: (row[field], row["_id"]),
            reverse=descending,
        )
        for skip in (0, 17, 1_000):
            found, total = await tenant.services.ingestion.documents.page(tenant.id, query, skip=skip, limit=10)
            assert total == len(expected)
            assert [item.id for item in found] == [str(row["_id"]) for row in expected[skip : skip + 10]], query


@pytest.mark.parametrize("field", SORT_FIELDS)
async def test_no_order_of_the_list_is_made_by_sorting_all_documents(
    compose_services: Compose, migrated: MongoConnection, field: str
) -> None:
    tenant = await new_tenant(await compose_services())
    await fill(migrated, tenant.id)
    await migrated.database.command("profile", 2)
    try:
        await tenant.services.ingestion.documents.page(tenant.id, DocumentQuery(sort_field=field), skip=0, limit=10)
    finally:
        await migrated.database.command("profile", 0)
    (asked,) = [row async for row in migrated.database["system.profile"].find({"op": "query", "command.find": "docs"})]
    await migrated.database["system.profile"].drop()
    assert not asked.get("hasSortStage")
    assert asked["docsExamined"] == 10


async def test_list_by_types_of_files_shows_each_document_under_its_type(
    compose_services: Compose, migrated: MongoConnection
) -> None:
    tenant = await new_tenant(await compose_services())
    rows = await fill(migrated, tenant.id)
    named = [name for of_one in CONTENT_TYPES.values() for name in of_one]
    unnamed = [
        "text/plain",
        "text/x-c++",
        "text/csv+x",
        "image/png",
        "image/svg+xml",
        "video/mp4",
        "application/pdfx",
        "",
    ]
    kinds = named + unnamed
    own = {row["_id"]: kinds[number % len(kinds)] for number, row in enumerate(rows)}
    for row_id, content_type in own.items():
        await migrated.database["docs"].update_one({"_id": row_id}, {"$set": {"content_type": content_type}})
    for wanted in (
        *[(file_type,) for file_type in FileType],
        (FileType.PDF, FileType.IMAGE),
        (FileType.TEXT, FileType.OTHER),
    ):
        found, total = await tenant.services.ingestion.documents.page(
            tenant.id, DocumentQuery(file_types=wanted), skip=0, limit=100
        )
        expected = {str(row_id) for row_id, content_type in own.items() if file_type_of(content_type) in wanted}
        assert {item.id for item in found} == expected, wanted
        assert total == len(expected) > 0
