"""The connector of the kinds whose items are files of Microsoft Graph."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import ClassVar

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.connections.oauth import OAuthCredentials, SignInService
from analytiq.ingestion.sources.systems.microsoft.graph import Graph, MicrosoftSettings, is_id, sign_in_service
from analytiq.ingestion.sources.systems.microsoft.listing import DriveListing, DriveScope
from analytiq.ingestion.sources.systems.microsoft.wire import Drive


class DriveConnector(ABC):
    """Files of some drives."""

    credentials_schema: ClassVar[type[KindSchema]] = OAuthCredentials

    def __init__(
        self, settings: MicrosoftSettings, credentials: KindSchema, context: SourceContext, *, names_drives: bool
    ) -> None:
        self._context = context
        stored = OAuthCredentials.model_validate(credentials, from_attributes=True)
        self.graph = Graph(settings, stored, context)
        folder = tuple(part.casefold() for part in settings.folder.split("/") if part)
        scope = DriveScope(folder, reads_access=settings.read_access, names_drives=names_drives)
        self._listing = DriveListing(self.graph, scope, context)

    @classmethod
    def sign_in_service(cls, settings: KindSchema) -> SignInService:
        """See SignInKind."""
        return sign_in_service(MicrosoftSettings.model_validate(settings, from_attributes=True))

    @abstractmethod
    async def drives(self) -> Sequence[Drive]:
        """Return the drives of the source.

        Raises:
            InvalidInputError: the settings name none.
        """

    async def check(self) -> None:
        """See Connector."""
        await self.drives()

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor has the next page of each drive."""
        drives = await self.drives()
        async with aclosing(self._listing.batches(drives, cursor)) as batches:
            async for batch in batches:
                yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        drive_id, _, item_id = external_id.partition("/")
        if not is_id(drive_id) or not is_id(item_id):
            return None
        for drive in await self.drives():
            if drive.id == drive_id:
                try:
                    return await self._listing.found(drive, await self.graph.item(drive_id, item_id))
                except NotFoundError:
                    return None
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        drive_id, _, item_id = item.external_id.partition("/")
        content = self.graph.content(drive_id, item_id, most_bytes=self._context.max_item_bytes)
        return FetchedItem(
            content=contents.existing(content), content_type="application/octet-stream", version=item.version
        )

    async def close(self) -> None:
        """See Connector."""
        await self.graph.close()
