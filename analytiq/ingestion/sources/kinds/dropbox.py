"""Files of Dropbox; Paper documents are exported."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import ClassVar

from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import FetchedItem, KindSchema, ListedBatch, ListedItem, SourceContext
from analytiq.ingestion.sources.connections.oauth import SignInService
from analytiq.ingestion.sources.systems.dropbox.api import (
    DropboxApi,
    DropboxCredentials,
    DropboxSettings,
    is_id,
    sign_in_service,
)
from analytiq.ingestion.sources.systems.dropbox.listing import EXPORT, DropboxFiles
from analytiq.ingestion.sources.systems.remote_files.walk import type_of


class DropboxConnector:
    """Files that an account of Dropbox sees."""

    title: ClassVar[str] = "Dropbox"
    description: ClassVar[str] = "Files of a folder or an account, with Paper documents."
    settings_schema: ClassVar[type[KindSchema]] = DropboxSettings
    credentials_schema: ClassVar[type[KindSchema]] = DropboxCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = DropboxSettings.model_validate(settings, from_attributes=True)
        self._context = context
        given = DropboxCredentials.model_validate(credentials, from_attributes=True)
        self._api = DropboxApi(self._settings, given, context)
        self._files = DropboxFiles(self._api, self._settings, context)

    @classmethod
    def sign_in_service(cls, settings: KindSchema) -> SignInService:
        """See SignInKind."""
        return sign_in_service(DropboxSettings.model_validate(settings, from_attributes=True))

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: there is no such folder.
        """
        try:
            await self._api.first_page(self._settings.folder)
        except PermanentError:
            raise InvalidInputError.of_field(
                "settings.folder", "There is no such folder, or the namespace is not visible to the account."
            ) from None

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor has the next page."""
        async with aclosing(self._files.batches(cursor)) as batches:
            async for batch in batches:
                yield batch

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        if not is_id(external_id):
            return None
        try:
            return self._files.listed(await self._api.entry(external_id))
        except NotFoundError:
            return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        content = self._api.content(
            item.external_id, is_export=item.note == EXPORT, most_bytes=self._context.max_item_bytes
        )
        return FetchedItem(content, type_of(item.name), item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()
