"""Calls to Microsoft Graph for drives."""

import re
from collections.abc import AsyncGenerator, AsyncIterator
from urllib.parse import quote, urlsplit

from pydantic import Field, JsonValue, SecretStr

from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ItemAccess, KindSchema, SourceContext
from analytiq.ingestion.sources.connections.oauth import (
    AccessTokens,
    Form,
    OAuthCredentials,
    SignInService,
    TokenClient,
)
from analytiq.ingestion.sources.connections.wire import read_as, readable
from analytiq.ingestion.sources.systems.microsoft.wire import Drive, DriveItem, Page, Permission

SERVICE = "Microsoft Graph"
PAGE_ITEMS = 200
MOST_PAGES = 20_000
MOST_DRIVES = 500
MOST_PEOPLE = 1000
DELEGATED_SCOPES = ("offline_access", "Files.Read.All", "Sites.Read.All")
_SELECTED = "id,name,size,cTag,webUrl,lastModifiedDateTime,parentReference,file,folder,root,deleted,package,malware"
_ID = re.compile(r"[A-Za-z0-9!_.$-]{1,300}")
_ORIGIN = r"^https?://[^\s/?#]+/?$"


class MicrosoftSettings(KindSchema):
    """The settings of every source of Microsoft Graph."""

    tenant: str = Field(
        default="organizations",
        pattern=r"^[A-Za-z0-9.-]{1,100}$",
        title="Tenant",
        description="Id or domain of the directory, such as example.onmicrosoft.com. Needed for a client secret",
    )
    folder: str = Field(
        default="", max_length=400, title="Folder", description="Only what is in this folder, such as Contracts/2026"
    )
    read_access: bool = Field(
        default=False, title="Read who may read", description="Costs one more request for each listed file"
    )
    api_url: str = Field(
        default="https://graph.microsoft.com",
        max_length=300,
        pattern=_ORIGIN,
        title="API address",
        description="Another one for national clouds",
    )
    login_url: str = Field(
        default="https://login.microsoftonline.com",
        max_length=300,
        pattern=_ORIGIN,
        title="Sign-in address",
        description="Another one for national clouds",
    )


def sign_in_service(settings: MicrosoftSettings) -> SignInService:
    """Return where a person signs in."""
    base = f"{settings.login_url.rstrip('/')}/{settings.tenant}/oauth2/v2.0"
    return SignInService(
        SERVICE,
        f"{base}/authorize",
        f"{base}/token",
        DELEGATED_SCOPES,
        {"response_mode": "query", "prompt": "select_account"},
    )


class MicrosoftRequests:
    """Requests for tokens: with a refresh token if a person signed in, otherwise as the application."""

    def __init__(self, settings: MicrosoftSettings, client_id: str | None, client_secret: SecretStr | None) -> None:
        self.token_url = f"{settings.login_url.rstrip('/')}/{settings.tenant}/oauth2/v2.0/token"
        self._scope = f"{settings.api_url.rstrip('/')}/.default"
        self._client_id = client_id
        self._secret = client_secret.get_secret_value() if client_secret else None

    def form(self, refresh_token: str | None) -> Form | None:
        """See TokenRequests."""
        if self._client_id is None:
            return None
        secret = {"client_secret": self._secret} if self._secret else {}
        if refresh_token is not None:
            scope = " ".join(DELEGATED_SCOPES)
            grant = {"grant_type": "refresh_token", "refresh_token": refresh_token, "scope": scope}
        elif self._secret is not None:
            grant = {"grant_type": "client_credentials", "scope": self._scope}
        else:
            return None
        return {"client_id": self._client_id, **secret, **grant}


class Graph:
    """Microsoft Graph, as far as drives need it."""

    def __init__(self, settings: MicrosoftSettings, credentials: OAuthCredentials, context: SourceContext) -> None:
        requests = MicrosoftRequests(settings, credentials.client_id, credentials.client_secret)
        tokens = AccessTokens(context, requests, credentials, service=SERVICE)
        self._origin = settings.api_url.rstrip("/")
        self._client = TokenClient(context.operator, f"{self._origin}/v1.0", tokens, service=SERVICE)

    async def drive_of(self, user: str | None) -> Drive:
        """Return the drive of a user, or of the person who signed in."""
        path = f"/users/{quote(user, safe='@')}/drive" if user else "/me/drive"
        return read_as(Drive, await self._client.get(path, {"$select": "id,name"}), service=SERVICE)

    async def libraries(self, site: str) -> list[Drive]:
        """Return the document libraries of a site, by its address."""
        parts = urlsplit(site)
        path = quote(parts.path.strip("/"))
        place = f"/sites/{parts.hostname}:/{path}" if path else f"/sites/{parts.hostname}"
        found = read_as(Drive, await self._client.get(place, {"$select": "id,name"}), service=SERVICE)
        drives: list[Drive] = []
        async for values in self._pages(f"/sites/{quote(found.id, safe=',')}/drives", {"$select": "id,name"}):
            drives += readable(Drive, values)[0]
            if len(drives) > MOST_DRIVES:
                raise PermanentError(f"The site has more than {MOST_DRIVES} libraries. Choose some by their names.")
        return sorted((drive for drive in drives if is_id(drive.id)), key=lambda drive: drive.id)

    async def changes(self, drive_id: str, link: str | None) -> Page:
        """Return a page of the items of a drive: all, or those that the link names."""
        if link is not None:
            self._require_own(link)
            return read_as(Page, await self._client.get(link), service=SERVICE)
        parameters = {"$top": PAGE_ITEMS, "$select": _SELECTED}
        return read_as(Page, await self._client.get(f"/drives/{drive_id}/root/delta", parameters), service=SERVICE)

    async def item(self, drive_id: str, item_id: str) -> DriveItem:
        """Return an item.

        Raises:
            NotFoundError: it does not exist.
        """
        if not is_id(item_id):
            raise NotFoundError("No item has such an id.")
        answer = await self._client.get(f"/drives/{drive_id}/items/{item_id}", {"$select": _SELECTED})
        return read_as(DriveItem, answer, service=SERVICE)

    async def access(self, drive_id: str, item_id: str) -> ItemAccess:
        """Return who may read an item."""
        people: set[str] = set()
        groups: set[str] = set()
        is_public = False
        async for values in self._pages(f"/drives/{drive_id}/items/{item_id}/permissions", {}):
            for permission in readable(Permission, values)[0]:
                is_public |= permission.link is not None and permission.link.scope in ("anonymous", "organization")
                for grantee in (permission.granted_to, *permission.granted_to_many):
                    if grantee is None:
                        continue
                    if grantee.user is not None and (name := grantee.user.email or grantee.user.id):
                        people.add(name)
                    for group in (grantee.group, grantee.site_group):
                        if group is not None and (name := group.email or group.id or group.name):
                            groups.add(name)
            if len(people) + len(groups) > MOST_PEOPLE:
                break
        return ItemAccess(people=tuple(sorted(people)), groups=tuple(sorted(groups)), is_public=is_public)

    def content(self, drive_id: str, item_id: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file: the service redirects to an address that needs no token."""
        return self._client.download(f"/drives/{drive_id}/items/{item_id}/content", most_bytes=most_bytes)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _pages(self, path: str, parameters: dict[str, str | int]) -> AsyncGenerator[list[JsonValue]]:
        link: str | None = path
        for _ in range(MOST_DRIVES):
            page = read_as(Page, await self._client.get(link, parameters), service=SERVICE)
            yield page.value
            link, parameters = page.next_link, {}
            if link is None:
                return
            self._require_own(link)
        raise PermanentError(f"{SERVICE} names pages of a list without end.")

    def _require_own(self, link: str) -> None:
        if not link.startswith(f"{self._origin}/"):
            raise PermanentError(f"{SERVICE} names a next page at another address. Check the API address.")


def is_id(text: str) -> bool:
    """Return True for the form of an id of a drive or an item."""
    return _ID.fullmatch(text) is not None and text.strip(".") != ""


def site_address(value: str) -> str:
    """Validate the address of a site.

    Raises:
        ValueError: it is none.
    """
    parts = urlsplit(value)
    if parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("Must be the address of a site, such as https://example.sharepoint.com/sites/team")
    return value


def no_drive(field: str, detail: str) -> InvalidInputError:
    """Return the error for settings that lead to no drive."""
    return InvalidInputError.of_field(field, detail)
