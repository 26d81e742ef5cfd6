"""`/tables`: tables of documents, and queries about their rows."""

from typing import Annotated

from fastapi import APIRouter, Query

from analytiq.storage.repositories.document_pages import DocumentQuery
from api.api_route import ApiRoute
from api.context import CurrentOrganization, Limit, NameSearch, ServicesOf, Skip
from api.schemas.jobs import SubjectId
from api.schemas.tables import DocumentTablesResponse, TableList, TableQueryBody, TableQueryResponse, TableResponse

router = APIRouter(prefix="/tables", tags=["tables"], route_class=ApiRoute)


@router.get("", operation_id="list_tables")
async def list_tables(
    *,
    services: ServicesOf,
    organization: CurrentOrganization,
    skip: Skip = 0,
    limit: Limit = 10,
    name_search: NameSearch = None,
    document_id: Annotated[
        SubjectId | None, Query(description="This document's tables, whenever its text was extracted")
    ] = None,
    kb_id: Annotated[SubjectId | None, Query(description="Documents with a tag of this knowledge base")] = None,
    tag_ids: Annotated[
        str | None, Query(description="Comma-separated ids. Documents must have all of these tags")
    ] = None,
) -> TableList:
    """List the tables of documents, with columns and sample rows; the newest documents first.

    Spreadsheets and CSV files have tables. PDF, Word, PowerPoint, HTML, Markdown, e-mail and EPUB files have those that
    name their columns; a table that goes on over pages is one. The files are read for the call, about a second for each
    million cells or 30 pages of a PDF; a process keeps what it has read for some minutes. Documents that are not read
    within 20 seconds have a `problem`: ask for each by `document_id`.
    """
    tables = services.ingestion.tables
    if document_id is not None:
        found = await tables.of_document(organization.id, document_id)
        return TableList(documents=[DocumentTablesResponse.from_tables(found)], total_count=1, skip=0)
    members = None if kb_id is None else (await services.ingestion.knowledge_bases.get(organization.id, kb_id)).tag_ids
    query = DocumentQuery(
        name_search=name_search,
        any_tag_ids=members,
        tag_ids=tuple(part.strip() for part in (tag_ids or "").split(",") if part.strip()),
    )
    page, total = await tables.page(organization.id, query, skip=skip, limit=limit)
    return TableList(
        documents=[DocumentTablesResponse.from_tables(found) for found in page], total_count=total, skip=skip
    )


@router.get("/{table_id}", operation_id="get_table")
async def get_table(services: ServicesOf, organization: CurrentOrganization, table_id: str) -> TableResponse:
    """Return a table with its columns and first rows."""
    document, table = await services.ingestion.tables.get(organization.id, table_id)
    return TableResponse.from_table(document, table)


@router.post("/{table_id}/query", operation_id="query_table")
async def query_table(
    services: ServicesOf, organization: CurrentOrganization, table_id: str, body: TableQueryBody
) -> TableQueryResponse:
    """Answer a query about the rows of a table by SQL: sums, counts, groups, filters, sorting.

    The table is named `rows`. Functions that compute are allowed; files, settings, other tables and changes are not. A
    query has 10 seconds of processor time and 768 MiB of memory.
    """
    return TableQueryResponse.from_answer(
        await services.ingestion.tables.query(organization.id, table_id, body.query())
    )
