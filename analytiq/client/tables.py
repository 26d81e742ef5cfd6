"""Operations on tables of documents."""

from analytiq.client.calls import all_items, get, page, post
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.steps import Flow, Items
from analytiq.client.table_models import DocumentTables, Table, TableAnswer

_PAGE_SIZE = 10


class TableCalls(Calls):
    """Tables of spreadsheets and other documents."""

    @listing
    def tables(
        self, *, name_search: str | None = None, kb_id: str | None = None, tag_ids: str | None = None
    ) -> Items[DocumentTables]:
        """Yield the spreadsheets with their tables, the newest first.

        Args:
            name_search: a part of the document's name.
            kb_id: of the knowledge base whose documents are wanted.
            tag_ids: comma-separated; documents have all of them.
        """
        query = {"name_search": name_search, "kb_id": kb_id, "tag_ids": tag_ids}
        # Small pages: the files are read for each.
        return all_items("/tables", "documents", DocumentTables, query, page_size=_PAGE_SIZE)

    @operation
    def document_tables(self, document_id: str) -> Flow[DocumentTables]:
        """Return the tables of one document, also of HTML, Markdown and Word files."""
        query = {"document_id": document_id}
        return (yield from page("/tables", "documents", DocumentTables, query, skip=0, limit=1)).items[0]

    @operation
    def table(self, table_id: str) -> Flow[Table]:
        """Return a table with its columns and first rows."""
        return get(f"/tables/{segment(table_id)}", Table)

    @operation
    def query_table(
        self, table_id: str, sql: str, *, max_rows: int = 100, max_source_rows: int = 20
    ) -> Flow[TableAnswer]:
        """Ask a table by one SELECT about `rows`.

        Raises:
            ProblemError: the query is wrong or needs too much (`invalid_query`), or there is no such table.
        """
        body = {"sql": sql, "max_rows": max_rows, "max_source_rows": max_source_rows}
        return post(f"/tables/{segment(table_id)}/query", TableAnswer, body, changes=False)
