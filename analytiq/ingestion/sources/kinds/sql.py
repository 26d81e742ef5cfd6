"""Rows of a database by a query."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import ClassVar

from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.systems.sql.connection import QueryRefusedError, SqlDatabase
from analytiq.ingestion.sources.systems.sql.documents import RowDocument, RowDocuments, RowGroup
from analytiq.ingestion.sources.systems.sql.listing import Place, RowListing, next_since, since_of
from analytiq.ingestion.sources.systems.sql.queries import SourceQuery, described
from analytiq.ingestion.sources.systems.sql.settings import SqlCredentials, SqlSettings
from analytiq.ingestion.sources.systems.sql.values import Key, key_of

CONTENT_TYPE = "text/markdown; charset=utf-8"


class SqlConnector:
    """A query of a database."""

    title: ClassVar[str] = "SQL database"
    description: ClassVar[str] = "Rows of PostgreSQL, MySQL or MariaDB, chosen by a query. Each key is a document."
    settings_schema: ClassVar[type[KindSchema]] = SqlSettings
    credentials_schema: ClassVar[type[KindSchema]] = SqlCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = SqlSettings.model_validate(settings, from_attributes=True)
        password = SqlCredentials.model_validate(credentials, from_attributes=True).password.get_secret_value()
        self._context = context
        # The rows of a listing are under way on one connection while items are fetched on the other.
        self._listed = SqlDatabase(context.operator, self._settings, password)
        self._asked = SqlDatabase(context.operator, self._settings, password)
        self._query: SourceQuery | None = None
        self._documents: dict[str, RowDocument] = {}

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: the query lacks a column that the settings name.
        """
        query = await self._described()
        # The time limit and the read-only transaction decide on rows only.
        statement = query.listing(after=None, since=None).limit(1)
        async with aclosing(self._asked.pieces(statement)) as pieces:
            async for piece in pieces:
                for row in piece:
                    values = dict(zip(query.columns, row, strict=True))
                    RowDocuments(self._settings, query).of(RowGroup(query.key_of(values), [values]))

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor has the last listed key."""
        query = await self._described()
        place = Place.read(cursor) if cursor else self._first_place()
        is_delta = place.since is not None
        if not place.is_done:
            most = self._context.max_item_bytes
            batches = RowListing(self._listed, query, most_bytes=most).batches(place)
            async with aclosing(batches):
                async for batch in batches:
                    place = batch.place
                    yield ListedBatch(items=self._items(query, batch.groups), cursor=place.written(), is_delta=is_delta)
        since = None
        if self._settings.updated_column is not None:
            since = next_since(place, overlap_seconds=self._settings.overlap_seconds)
        yield ListedBatch(items=(), cursor=place.written(), is_delta=is_delta, next_since=since)

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        query = await self._described()
        key = key_of(external_id, count=len(query.keys))
        group = None if key is None else await self._group(query, key)
        if group is None:
            return None
        return next(iter(self._items(query, [group])), None)

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        document = self._documents.get(item.external_id)
        if document is None or document.version != item.version:
            await self.find(item.external_id)
            document = self._documents.get(item.external_id)
        if document is None:
            raise ItemGoneError("Its rows were deleted while the run was going on.")
        return FetchedItem(_block(document.content), CONTENT_TYPE, document.version)

    async def close(self) -> None:
        """See Connector."""
        await self._listed.close()
        await self._asked.close()

    async def _described(self) -> SourceQuery:
        if self._query is None:
            self._query = SourceQuery(self._settings, await self._asked.columns(described(self._settings)))
        return self._query

    def _first_place(self) -> Place:
        if self._settings.updated_column is None or self._context.since is None:
            return Place()
        return Place(since=since_of(self._context.since))

    async def _group(self, query: SourceQuery, key: Key) -> RowGroup | None:
        group = RowGroup(key)
        try:
            async with aclosing(self._asked.pieces(query.one(key))) as pieces:
                async for piece in pieces:
                    for row in piece:
                        values = dict(zip(query.columns, row, strict=True))
                        # A collation may take other keys for equal.
                        if query.key_of(values) == key:
                            group.add(values, most_bytes=self._context.max_item_bytes)
        except QueryRefusedError:
            # The columns were readable, so the id is of another type than the key columns.
            return None
        return group if group.byte_size else None

    def _items(self, query: SourceQuery, groups: Sequence[RowGroup]) -> list[ListedItem]:
        """Return the items of groups, and keep their documents until the next ones."""
        made = RowDocuments(self._settings, query)
        self._documents = {}
        items: list[ListedItem] = []
        for group in groups:
            document = made.of(group)
            if not self._context.accepts(document.name):
                continue
            self._documents[document.external_id] = document
            size = len(document.content)
            is_too_large = group.is_too_large or size > self._context.max_item_bytes
            items.append(
                ListedItem(
                    external_id=document.external_id,
                    name=document.name,
                    version=document.version,
                    byte_size=size,
                    fields=document.fields,
                    skip_reason="Its rows have more text than an item may have." if is_too_large else None,
                )
            )
        return items


async def _block(content: bytes) -> AsyncIterator[bytes]:
    yield content
