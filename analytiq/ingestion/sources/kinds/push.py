"""A source that lists nothing: its items are pushed to its inbound address."""

from collections.abc import AsyncGenerator
from typing import ClassVar

from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    NoCredentials,
    SourceContext,
)


class PushSettings(KindSchema):
    """The settings of a push source: none."""


class PushConnector:
    """A source whose items are pushed."""

    title: ClassVar[str] = "Push"
    description: ClassVar[str] = "Items that your own programs push to the inbound address of the source."
    settings_schema: ClassVar[type[KindSchema]] = PushSettings
    credentials_schema: ClassVar[type[KindSchema]] = NoCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        del settings, credentials, context

    async def check(self) -> None:
        """See Connector. There is nothing to reach."""

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. A run lists nothing, and removes nothing: pushed items stay until they are pushed away."""
        del cursor
        for batch in ():
            yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        del external_id
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector.

        Raises:
            ItemRefusedError: always; the pusher sends the content.
        """
        raise ItemRefusedError(f"The item {item.external_id[:200]!r} is pushed. Push it again to change it.")

    async def close(self) -> None:
        """See Connector."""
