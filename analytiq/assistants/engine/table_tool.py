"""The tool `query_table`: the tables of the knowledge bases' documents, listed and asked by SQL."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.inference.llm.base import Tool
from analytiq.inference.llm.bounding import LONGEST_ARGUMENTS
from analytiq.inference.llm.quoting import one_line, quoted
from analytiq.ingestion.documents.tables import DocumentTables, TableAnswer, Tables, table_id_of
from analytiq.ingestion.knowledge_bases.service import KnowledgeBases
from analytiq.models.document import DocumentState
from analytiq.models.index_types import IndexType
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.tables import DocumentTable, TableQuery
from analytiq.retrieval.filters.compilers.documents import compile_filter
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import And, Filter
from analytiq.retrieval.pipeline.request import SearchResult
from analytiq.storage.repositories.document_pages import DocumentQuery

NAME = "query_table"
TABLE_TOOL = Tool(
    name=NAME,
    description=(
        "Compute over the tables of the documents: sums, counts, averages, groups, filters, sorting. Without `sql`,"
        " list the tables with their ids and columns; then ask one of them"
    ),
    parameters={
        "type": "object",
        "properties": {
            "table_id": {"type": "string", "description": "Id of a table, as listed"},
            "sql": {
                "type": "string",
                "description": 'One SELECT of DuckDB\'s SQL about the table rows: SELECT "Region", sum("Amount") FROM'
                " rows GROUP BY 1",
            },
            "document_name": {"type": "string", "description": "For the list: a part of the document's name"},
        },
    },
)
_KNOWN = ("table_id", "sql", "document_name")
MOST_TOLD = 6000
"""Characters of a list or a result that the model reads."""
LISTED_DOCUMENTS = 10
CITED_ROWS = 10
"""Rows that become passages, which the model can cite."""
RESULT_ROWS = 200
_LISTED_COLUMNS = 40
_ROWS_APART = 10_000_000
"""Added to a row's number for its place among the chunks of its document, which has fewer."""


@dataclass(frozen=True, slots=True)
class TableCall:
    """The outcome of a call: a text for the model, and the rows to cite as passages."""

    asked: str
    told: str
    rows: tuple[SearchResult, ...] = ()


class TableTool:
    """Answers the tool's calls about the documents of knowledge bases."""

    def __init__(self, tables: Tables, knowledge_bases: KnowledgeBases) -> None:
        self._tables = tables
        self._knowledge_bases = knowledge_bases

    async def tools(self, organization_id: str, kb_ids: Sequence[str]) -> list[Tool]:
        """Return the tool, if the knowledge bases have a document with tables."""
        query = _members(await self._present(organization_id, kb_ids))
        return [TABLE_TOOL] if await self._tables.has_any(organization_id, query) else []

    async def call(self, organization_id: str, kb_ids: Sequence[str], scope: Filter, arguments: str) -> TableCall:
        """Make a call; `scope` is a resolved filter on the documents.

        Raises:
            AnalytiqError: an invalid call, an unknown table, a wrong query; the error is sent to the model.
        """
        values = _values(arguments)
        held = await self._present(organization_id, kb_ids)
        if "sql" not in values and "table_id" not in values:
            query = _members(held, scope, name=values.get("document_name"))
            page, total = await self._tables.page(organization_id, query, skip=0, limit=LISTED_DOCUMENTS)
            return TableCall("tables", _list_text(page, total))
        table_id = values.get("table_id", "")
        only = parse_filter({"document_id": table_id.partition("-")[0]})
        found = await self._tables.members(organization_id, _members(held, And((scope, only))))
        if not found:
            raise NotFoundError(f"No table has the id {table_id[:80]!r}. Call {NAME} without sql for the tables.")
        if "sql" not in values:
            document, table = await self._tables.get(organization_id, table_id)
            return TableCall("tables", _list_text([DocumentTables(document, (table,))], 1))
        asked = TableQuery(values["sql"], RESULT_ROWS, CITED_ROWS)
        answer = await self._tables.query(organization_id, table_id, asked)
        kb = next(one for one in held if set(one.tag_ids) & set(answer.document.tag_ids))
        return TableCall(values["sql"], _result_text(answer), await self._passages(kb.id, answer))

    async def _present(self, organization_id: str, kb_ids: Sequence[str]) -> list[KnowledgeBase]:
        found: list[KnowledgeBase] = []
        for kb_id in kb_ids:
            try:
                found.append(await self._knowledge_bases.get(organization_id, kb_id))
            except NotFoundError:  # deleted meanwhile
                continue
        return found

    async def _passages(self, kb_id: str, found: TableAnswer) -> tuple[SearchResult, ...]:
        document, table = found.document, found.table
        texts = await self._tables.row_texts(found)
        return tuple(
            SearchResult(
                kb_id=kb_id,
                content=text,
                source=document.document_name,
                document_id=document.id,
                relevance=1.0,
                chunk_index=_ROWS_APART * table.number + row.number,
                index_type=IndexType.PARAGRAPH,
                is_matched=True,
                first_page=row.page_number,
                last_page=row.page_number,
                start=row.start or 0,
                end=row.end or 0,
                text_hash=document.text_hash,
                page_name=table.page_name,
                source_url=document.source_url,
            )
            for row, text in texts
        )


def _members(held: Sequence[KnowledgeBase], scope: Filter | None = None, *, name: str | None = None) -> DocumentQuery:
    tags = tuple(dict.fromkeys(tag_id for one in held for tag_id in one.tag_ids))
    condition: Mapping[str, object] = {} if scope is None else compile_filter(scope)
    return DocumentQuery(
        name_search=name, any_tag_ids=tags, filter=condition, states=(DocumentState.EXTRACTED,),
        has_tables=scope is None,
    )  # fmt: skip


def _values(arguments: str) -> dict[str, str]:
    try:
        values: object = json.loads(arguments or "{}") if len(arguments) <= LONGEST_ARGUMENTS else None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise InvalidInputError('The arguments are not a JSON object. Write {"table_id": "…", "sql": "SELECT …"}.')
    given = cast("dict[str, JsonValue]", values)
    for name, value in given.items():
        if name not in _KNOWN:
            raise InvalidInputError(f"{NAME} takes no {name[:80]!r}. It takes {', '.join(_KNOWN)}.")
        if value is not None and not isinstance(value, str):
            raise InvalidInputError.of_field(name, "Must be a text.")
    return {name: value for name, value in given.items() if isinstance(value, str) and value.strip()}


def _list_text(page: Sequence[DocumentTables], total: int) -> str:
    lines: list[str] = []
    left = MOST_TOLD
    for found in page:
        for table in found.tables:
            line = _table_line(found, table)
            left -= len(line)
            if left < 0:
                lines.append("Further tables are left out: name a part of the document's name.")
                return "\n".join(lines)
            lines.append(line)
    if total > len(page):
        lines.append(f"{total - len(page)} further documents have tables: name a part of the document's name.")
    return "\n".join(["Tables:", *lines]) if lines else "The documents have no tables."


def _table_line(found: DocumentTables, table: DocumentTable) -> str:
    columns = [
        f"{json.dumps(one_line(column.name), ensure_ascii=False)} {column.type.value}"
        + (f" in {column.unit}" if column.unit else "")
        for column in table.columns[:_LISTED_COLUMNS]
    ]
    more = f"; {len(table.columns) - _LISTED_COLUMNS} more" if len(table.columns) > _LISTED_COLUMNS else ""
    title = f", {quoted(table.title)}" if table.title else ""
    name = f"{table_id_of(found.document.id, table)}: {quoted(found.document.document_name)}{title}"
    return f"- {name}, {table.row_count} rows: {'; '.join(columns)}{more}"


def _result_text(found: TableAnswer) -> str:
    answer = found.answer
    lines = [" | ".join(one_line(name) for name, _ in answer.columns)]
    left, is_cut = MOST_TOLD, answer.is_truncated
    for row in answer.rows:
        line = " | ".join(_shown(value) for value in row)
        left -= len(line)
        if left < 0:
            is_cut = True
            break
        lines.append(line)
    count = answer.source_row_count
    lines.append(f"({'The first rows of the result' if is_cut else 'The whole result'}; it rests on {count} rows.)")
    return "\n".join(lines)


def _shown(value: JsonValue) -> str:
    if isinstance(value, str):
        return one_line(value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)
