"""Client calls for tables of documents."""

from collections.abc import Iterator

from analytiq.client.connection import Connection
from analytiq.client.paths import segment
from analytiq.client.table_models import DocumentTables, Table, TableAnswer

_PAGE_SIZE = 10


class TableCalls(Connection):
    """Calls for tables."""

    def tables(
        self, *, name_search: str | None = None, kb_id: str | None = None, tag_ids: str | None = None
    ) -> Iterator[DocumentTables]:
        """Yield the spreadsheets with their tables, the newest first.

        Args:
            name_search: a part of the document's name.
            kb_id: of the knowledge base whose documents are wanted.
            tag_ids: comma-separated; documents have all of them.
        """
        query = {"name_search": name_search, "kb_id": kb_id, "tag_ids": tag_ids}
        skip = 0
        while True:
            # Small pages: the files are read for each.
            page = self._page("/tables", "documents", DocumentTables, query, skip=skip, limit=_PAGE_SIZE)
            yield from page.items
            skip += len(page.items)
            if not page.items or skip >= page.total_count:
                return

    def document_tables(self, document_id: str) -> DocumentTables:
        """Return the tables of one document, also of HTML, Markdown and Word files."""
        query = {"document_id": document_id}
        return self._page("/tables", "documents", DocumentTables, query, skip=0, limit=1).items[0]

    def table(self, table_id: str) -> Table:
        """Return a table with its columns and first rows."""
        return Table.model_validate_json(self._transport.call("GET", f"/tables/{segment(table_id)}"))

    def query_table(self, table_id: str, sql: str, *, max_rows: int = 100, max_source_rows: int = 20) -> TableAnswer:
        """Ask a table by one SELECT about `rows`.

        Raises:
            ProblemError: the query is wrong or needs too much (`invalid_query`), or there is no such table.
        """
        body = {"sql": sql, "max_rows": max_rows, "max_source_rows": max_source_rows}
        path = f"/tables/{segment(table_id)}/query"
        return TableAnswer.model_validate_json(self._transport.call("POST", path, json=body, is_repeatable=True))
