"""Tables are those of the document's present file, of its organization alone, and nothing of them is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analytiq.composition import Services
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError
from analytiq.ingestion.documents import tables as service
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.tables.deriving import digest_of
from analytiq.models.tables import SourceRow, TableQuery
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.document_pages import DocumentQuery
from tests.integration.tenant import Tenant, new_tenant

Compose = Callable[..., Awaitable[Services]]
PRICES = "item;price\ntea;1,50\nink;2,25\n"
TOTAL = TableQuery("SELECT sum(price) FROM rows")


@pytest.fixture
async def tenant(compose_services: Compose, migrated: MongoConnection) -> Tenant:
    del migrated
    return await new_tenant(await compose_services())


async def test_replaced_document_has_the_tables_of_its_new_file(tenant: Tenant) -> None:
    tables = tenant.services.ingestion.tables
    document = await tenant.document("prices.csv", PRICES)
    table_id = f"{document.id}-1"
    answers = await asyncio.gather(*(tables.query(tenant.id, table_id, TOTAL) for _ in range(3)))
    assert [found.answer.rows for found in answers] == [((3.75,),)] * 3
    first = answers[0].answer.source_rows[0]
    text = await tenant.services.repositories.texts.read(tenant.id, document.text_id or "")
    assert text.text[first.start : first.end] == "item: tea; price: 1,50"
    await tenant.replace("prices.csv", PRICES + "pen;10\n")
    with pytest.raises(ConflictError):
        await tables.query(tenant.id, table_id, TOTAL)
    await tenant.drain()
    assert (await tables.query(tenant.id, table_id, TOTAL)).answer.rows == ((13.75,),)


async def test_deleted_document_has_no_tables_and_its_rows_go_with_the_process(tenant: Tenant) -> None:
    tables = tenant.services.ingestion.tables
    document = await tenant.document("prices.csv", PRICES)
    found = await tables.of_document(tenant.id, document.id)
    assert [(table.row_count, len(table.columns)) for table in found.tables] == [(2, 2)]
    directory = tables._cache._directory
    assert directory is not None
    assert len(list(directory.iterdir())) == 1
    await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    for call in (
        tables.get(tenant.id, f"{document.id}-1"),
        tables.query(tenant.id, f"{document.id}-1", TOTAL),
        tables.of_document(tenant.id, document.id),
    ):
        with pytest.raises(NotFoundError):
            await call
    tables._cache._expire()
    assert len(list(directory.iterdir())) == 1  # until nobody has asked for five minutes
    for cached in tables._cache._kept.values():
        cached.idle_since -= 2 * 300
    tables._cache._expire()
    assert not list(directory.iterdir())
    tables.close()
    assert not Path(directory).exists()


async def test_documents_with_tables_are_listed_beside_spreadsheets(tenant: Tenant) -> None:
    tables = tenant.services.ingestion.tables
    await tenant.document("letter.md", "# Letter\n\nDear Ann, the table is set.\n")
    assert not await tables.has_any(tenant.id, DocumentQuery())
    sold = await tenant.document("sold.md", "# Sold\n\n| Item | Count |\n|---|---|\n| tea | 3 |\n| ink | 4 |\n")
    assert await tables.has_any(tenant.id, DocumentQuery())
    await tenant.document("prices.csv", PRICES)
    page, total = await tables.page(tenant.id, DocumentQuery(sort_field="document_name"), skip=0, limit=10)
    assert ([found.document.document_name for found in page], total) == (["sold.md", "prices.csv"], 2)
    answer = await tables.query(tenant.id, f"{sold.id}-1", TableQuery('SELECT sum("Count") FROM rows'))
    row = answer.answer.source_rows[1]
    text = await tenant.services.repositories.texts.read(tenant.id, sold.text_id or "")
    assert (answer.answer.rows, row.page_number, text.text[row.start : row.end]) == (((7,),), 1, "Item: ink; Count: 4")
    await tenant.replace("sold.md", "Nothing is sold.\n")
    await tenant.drain()
    assert [
        found.document.document_name for found in (await tables.page(tenant.id, DocumentQuery(), skip=0, limit=9))[0]
    ] == ["prices.csv"]


async def test_rows_on_pages_that_read_otherwise_now_have_no_places(tenant: Tenant) -> None:
    document = await tenant.document("prices.csv", PRICES)
    texts = tenant.services.repositories.texts
    text = await texts.read(tenant.id, document.text_id or "")
    other = replace(text, text=text.text.replace("tea", "TEA"))
    assert service._starts_of_same_pages(text, {1: digest_of(text, text.pages[0])}) == {1: 0}
    assert service._starts_of_same_pages(other, {1: digest_of(text, text.pages[0])}) == {}
    assert service._placed(SourceRow(1, (), 1, 3, 5), None) == SourceRow(1, (), 1)


async def test_tables_of_another_organization_are_unknown(tenant: Tenant) -> None:
    tables = tenant.services.ingestion.tables
    document = await tenant.document("prices.csv", PRICES)
    await tables.get(tenant.id, f"{document.id}-1")
    other = await new_tenant(tenant.services)
    assert await tables.page(other.id, DocumentQuery(), skip=0, limit=10) == ([], 0)
    for call in (tables.get(other.id, f"{document.id}-1"), tables.query(other.id, f"{document.id}-1", TOTAL)):
        with pytest.raises(NotFoundError):
            await call
    with pytest.raises(NotFoundError):
        await tables.of_document(other.id, document.id)


async def test_query_beyond_its_limits_is_ended_and_others_are_answered(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "QUERY_LIMITS", ParseLimits(memory_bytes=512 * 1024 * 1024, cpu_seconds=1))
    tables = tenant.services.ingestion.tables
    content = "number,note\n" + "".join(f"{number},note {number}\n" for number in range(3000))
    document = await tenant.document("notes.csv", content)
    table_id = f"{document.id}-1"
    endless = TableQuery("SELECT max(levenshtein(a.note, b.note || c.note)) FROM rows a, rows b, rows c")
    large = TableQuery("SELECT DISTINCT a.note || b.note FROM rows a, rows b")
    for query in (endless, large):
        with pytest.raises(InvalidInputError, match="The query needs more than 1 seconds or 512 MiB of memory"):
            await tables.query(tenant.id, table_id, query)
    answer = await tables.query(tenant.id, table_id, TableQuery("SELECT count(*) FROM rows WHERE number < 10"))
    assert (answer.answer.rows, answer.answer.source_row_count) == (((10,),), 10)


async def test_documents_without_tables_say_so(tenant: Tenant) -> None:
    tables = tenant.services.ingestion.tables
    text = await tenant.document("letter.txt", "Dear Ann,\nthe table is set.\n")
    assert (await tables.of_document(tenant.id, text.id)).tables == ()
    with pytest.raises(NotFoundError):
        await tables.get(tenant.id, f"{text.id}-1")
    await tenant.document("prices.csv", PRICES)
    page, total = await tables.page(tenant.id, DocumentQuery(), skip=0, limit=10)
    assert ([found.document.document_name for found in page], total) == (["prices.csv"], 1)
    for table_id in ("", "-1", "x", "x-1", f"{text.id}-", f"{text.id}-01", "\0", "a" * 2000):
        with pytest.raises(NotFoundError):
            await tables.get(tenant.id, table_id)
