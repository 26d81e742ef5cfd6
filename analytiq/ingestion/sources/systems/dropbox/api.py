"""Calls to Dropbox, and the tokens for them."""

import json
import re
from collections.abc import AsyncIterator

from pydantic import Field, JsonValue, field_validator

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import (
    ItemGoneError,
    KindSchema,
    PositionExpiredError,
    SourceContext,
)
from analytiq.ingestion.sources.connections.decoding import bounded
from analytiq.ingestion.sources.connections.oauth import (
    AccessTokens,
    Form,
    OAuthCredentials,
    SignInService,
    TokenClient,
    refresh_form,
)
from analytiq.ingestion.sources.connections.wire import read_as
from analytiq.ingestion.sources.systems.dropbox.wire import Entry, Listing, Revisions

SERVICE = "Dropbox"
API = "https://api.dropboxapi.com"
CONTENT = "https://content.dropboxapi.com"
CONSENT = "https://www.dropbox.com/oauth2/authorize"
SCOPES = ("files.metadata.read", "files.content.read")
PAGE_ITEMS = 500
_ID = re.compile(r"id:[A-Za-z0-9_-]{1,200}")
_ORIGIN = r"^https?://[^\s/?#]+/?$"


class DropboxSettings(KindSchema):
    """The settings of a Dropbox."""

    folder: str = Field(
        default="", max_length=4000, title="Folder", description="Path: only what is in it, at any depth, such as /Team"
    )
    namespace: str | None = Field(
        default=None,
        pattern=r"^[0-9]{1,30}$",
        title="Namespace",
        description="Id of a team space or team folder that paths begin at, instead of the person's own folder",
    )
    api_url: str = Field(default=API, max_length=300, pattern=_ORIGIN, title="API address")
    content_url: str = Field(default=CONTENT, max_length=300, pattern=_ORIGIN, title="Address of contents")

    @field_validator("folder")
    @classmethod
    def _is_path(cls, value: str) -> str:
        path = value.strip().strip("/")
        if any(part in ("", ".", "..") for part in path.split("/")) and path:
            raise ValueError("Must be the path of a folder")
        if not path.isprintable():
            raise ValueError("Must be printable")
        return f"/{path}" if path else ""


class DropboxCredentials(OAuthCredentials):
    """The tokens of a sign-in."""


def sign_in_service(settings: DropboxSettings) -> SignInService:
    """Return where a person signs in."""
    base = settings.api_url.rstrip("/")
    # Consent has a host of its own.
    consent = CONSENT if base == API else f"{base}/oauth2/authorize"
    return SignInService(SERVICE, consent, f"{base}/oauth2/token", SCOPES, {"token_access_type": "offline"})


class DropboxRequests:
    """Requests for tokens with a refresh token."""

    def __init__(self, settings: DropboxSettings, credentials: DropboxCredentials) -> None:
        self.token_url = f"{settings.api_url.rstrip('/')}/oauth2/token"
        self._credentials = credentials

    def form(self, refresh_token: str | None) -> Form | None:
        """See TokenRequests."""
        return refresh_form(self._credentials, refresh_token)


class DropboxApi:
    """Dropbox, as far as it is read. Every refusal of an existing endpoint has status 409."""

    def __init__(self, settings: DropboxSettings, credentials: DropboxCredentials, context: SourceContext) -> None:
        tokens = AccessTokens(context, DropboxRequests(settings, credentials), credentials, service=SERVICE)
        self._client = TokenClient(context.operator, f"{settings.api_url.rstrip('/')}/2", tokens, service=SERVICE)
        content = f"{settings.content_url.rstrip('/')}/2"
        self._contents = TokenClient(context.operator, content, tokens, service=SERVICE)
        self._headers: dict[str, str] = {}
        if settings.namespace is not None:
            root = {".tag": "namespace_id", "namespace_id": settings.namespace}
            self._headers["dropbox-api-path-root"] = json.dumps(root)

    async def first_page(self, folder: str) -> Listing:
        """Return the first page of all files and folders below a folder.

        Raises:
            PermanentError: there is no such folder.
        """
        body: JsonValue = {
            "path": folder,
            "recursive": True,
            "include_deleted": False,
            "include_non_downloadable_files": True,
            "limit": PAGE_ITEMS,
        }
        return read_as(Listing, await self._called("/files/list_folder", body), service=SERVICE)

    async def next_page(self, cursor: str) -> Listing:
        """Return the page behind a cursor: of the listing, or of the changes since.

        Raises:
            PositionExpiredError: Dropbox does not know the cursor any more.
        """
        try:
            answer = await self._called("/files/list_folder/continue", {"cursor": cursor})
        except PositionExpiredError:
            raise
        except PermanentError:
            # "reset", or a folder that is gone: status 409; another account's cursor: 400.
            raise PositionExpiredError(f"{SERVICE} does not know the position any more.") from None
        return read_as(Listing, answer, service=SERVICE)

    async def entry(self, path: str) -> Entry:
        """Return the file or folder of an id or a path.

        Raises:
            NotFoundError: it does not exist, or is not visible.
        """
        try:
            answer = await self._called("/files/get_metadata", {"path": path})
        except PermanentError:
            raise NotFoundError(f"{SERVICE} does not have it.") from None
        return read_as(Entry, answer, service=SERVICE)

    async def deleted_id(self, path: str) -> str | None:
        """Return the id of the last file at a path where none is any more; None for a folder, or if it is unknown."""
        body: JsonValue = {"path": path, "mode": {".tag": "path"}, "limit": 1}
        try:
            found = read_as(Revisions, await self._called("/files/list_revisions", body), service=SERVICE)
        except PermanentError:
            return None
        return found.entries[0].id if found.entries else None

    async def content(self, file_id: str, *, is_export: bool, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file, or its export.

        Raises:
            ItemGoneError: it does not exist any more.
            ItemRefusedError: it is larger.
        """
        path = "/files/export" if is_export else "/files/download"
        headers = {**self._headers, "dropbox-api-arg": json.dumps({"path": file_id})}
        try:
            async with self._contents.stream("POST", path, headers=headers) as response:
                async for block in bounded(response, most_bytes=most_bytes):
                    yield block
        except PermanentError:
            raise ItemGoneError("Deleted, or not to be read any more, while the run was going on.") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._contents.close()

    async def _called(self, path: str, body: JsonValue) -> JsonValue:
        return await self._client.call("POST", path, body=body, headers=self._headers)


def is_id(text: str) -> bool:
    """Return True for the form of a file's id."""
    return _ID.fullmatch(text) is not None
