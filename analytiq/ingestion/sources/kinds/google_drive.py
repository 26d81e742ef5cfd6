"""Files of Google Drive; documents of Google's editors are exported."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import ClassVar

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.connections.oauth import SignInService
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.google.api import (
    DriveApi,
    GoogleCredentials,
    GoogleDriveSettings,
    is_id,
    sign_in_service,
)
from analytiq.ingestion.sources.systems.google.listing import DriveFiles


class GoogleDriveConnector:
    """Files that an account of Google sees."""

    title: ClassVar[str] = "Google Drive"
    description: ClassVar[str] = "Files of a folder, a shared drive or an account, with Google Docs, Sheets and Slides."
    settings_schema: ClassVar[type[KindSchema]] = GoogleDriveSettings
    credentials_schema: ClassVar[type[KindSchema]] = GoogleCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = GoogleDriveSettings.model_validate(settings, from_attributes=True)
        self._context = context
        given = GoogleCredentials.model_validate(credentials, from_attributes=True)
        self._api = DriveApi(self._settings, given, context)
        self._files = DriveFiles(self._api, self._settings, context)

    @classmethod
    def sign_in_service(cls, settings: KindSchema) -> SignInService:
        """See SignInKind."""
        return sign_in_service(GoogleDriveSettings.model_validate(settings, from_attributes=True))

    async def check(self) -> None:
        """See Connector."""
        await self._api.start_token()
        if self._settings.folder is not None:
            try:
                await self._api.file(self._settings.folder)
            except NotFoundError:
                raise InvalidInputError.of_field(
                    "settings.folder", "There is no such folder. Share it with the account that reads it."
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
            return await self._files.listed(await self._api.file(external_id))
        except NotFoundError:
            return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        most = self._context.max_item_bytes
        export = self._files.export_of(item.note or "")
        if export is None:
            content = contents.existing(self._api.content(item.external_id, most_bytes=most))
            return FetchedItem(content, item.note or "application/octet-stream", item.version)
        exported = contents.existing(self._api.exported(item.external_id, export[0], most_bytes=most))
        return FetchedItem(_exportable(exported), export[0], item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()


async def _exportable(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for block in content:
            yield block
    except CredentialsRefusedError:
        # The same token has listed it.
        raise ItemRefusedError("Google does not export it: larger than 10 MB, or its owner forbids it.") from None
