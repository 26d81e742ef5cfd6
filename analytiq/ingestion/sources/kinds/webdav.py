"""Files of a WebDAV server, such as Nextcloud, ownCloud, Apache and IIS.

Nextcloud and ownCloud give each file an id, which stays when the file is renamed or moved. Other servers have none:
there the path identifies a file.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import quote

from pydantic import Field, SecretStr, field_validator, model_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError, PermanentError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemAccess,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.decoding import decoded
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.remote_files.passwords import PasswordAuthentication
from analytiq.ingestion.sources.systems.remote_files.walk import (
    EntryKind,
    FileChoice,
    RemoteEntry,
    Segments,
    TreeWalk,
    listed_file,
    segments_of,
    type_of,
)
from analytiq.ingestion.sources.systems.web.addresses import normalized
from analytiq.ingestion.sources.systems.webdav.multistatus import (
    REQUEST,
    Resource,
    date_of,
    decoded_path,
    read_resources,
)

SETTLED = timedelta(seconds=2)
"""Age from which a file's time, of whole seconds, tells its next change."""
FILE_ID = "fileid:"
"""The beginning of an external id that is the server's id of a file."""
MULTI_STATUS = 207
NO_ACCESS = ItemAccess()


class WebDavSettings(KindSchema):
    """The settings of a WebDAV source."""

    url: str = Field(
        title="Address of the folder",
        max_length=2000,
        description="For Nextcloud: https://cloud.example.com/remote.php/dav/files/USER/FOLDER/",
    )
    include_hidden: bool = Field(
        default=False, title="Hidden files", description="Also read files and folders that begin with a dot"
    )

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        address = normalized(value.strip())
        if address is None or "?" in address:
            raise ValueError("Must be an address such as https://cloud.example.com/dav/, without user and password")
        return f"{address.rstrip('/')}/"


class WebDavCredentials(KindSchema):
    """A user with a password, or a token; neither for a public folder."""

    user: str | None = Field(default=None, max_length=200, title="User")
    password: SecretStr | None = Field(
        default=None, title="Password", description="Of the user; in Nextcloud, an app password"
    )
    token: SecretStr | None = Field(
        default=None, title="Bearer token", description="Instead of a user: sent as Authorization: Bearer"
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "WebDavCredentials":
        if (self.user is None) != (self.password is None):
            raise ValueError("`user` and `password` belong together")
        if self.user is not None and self.token is not None:
            raise ValueError("Give either a user with a password, or a token")
        if self.user is not None and ":" in self.user:
            raise ValueError("The user must not contain a colon")
        token = self.token.get_secret_value() if self.token else ""
        if not (token.isascii() and token.isprintable()):
            raise ValueError("The token holds characters that cannot be sent")
        return self


class WebDavConnector:
    """A folder of a WebDAV server."""

    title: ClassVar[str] = "WebDAV"
    description: ClassVar[str] = "Files of Nextcloud, ownCloud and other WebDAV servers."
    settings_schema: ClassVar[type[KindSchema]] = WebDavSettings
    credentials_schema: ClassVar[type[KindSchema]] = WebDavCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = WebDavSettings.model_validate(settings, from_attributes=True)
        secrets = WebDavCredentials.model_validate(credentials, from_attributes=True)
        self._context = context
        self._choice = FileChoice(context.accepts, self._settings.include_hidden)
        headers = {"accept": "*/*"}
        if secrets.token is not None:
            headers["authorization"] = f"Bearer {secrets.token.get_secret_value()}"
        self._client = ServiceClient(context.operator, self._settings.url, headers=headers, service="The WebDAV server")
        if secrets.user is not None and secrets.password is not None:
            self._client.authenticate(PasswordAuthentication(secrets.user, secrets.password.get_secret_value()))
        self._shares: dict[Segments, ItemAccess] = {}
        """Return who may read the folders on the way to the one that was listed last."""

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: the address is no folder of a WebDAV server.
        """
        try:
            own = await self._own((), is_folder=True)
        except PermanentError as error:
            raise InvalidInputError.of_field("settings.url", error.detail) from None
        if not own.is_folder:
            raise InvalidInputError.of_field("settings.url", "The address is a file. Give the address of its folder.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the path of the last listed file."""
        await self.check()
        batches = TreeWalk(self, self._choice, cursor=cursor).batches()
        try:
            async for batch in batches:
                yield batch
        finally:
            await batches.aclose()

    async def entries(self, folder: Segments) -> Sequence[RemoteEntry]:
        """See RemoteFolders."""
        asked = self._path(folder)
        resources, now = await self._resources(folder, depth="1", is_folder=True)
        # A server behind a proxy may name other paths than those that it is asked for.
        paths = {resource.path: resource for resource in resources}
        own = paths.get(asked) or paths[min(paths, key=len)]
        self._note_share(folder, own)
        found: list[RemoteEntry] = []
        for resource in resources:
            name = resource.path.removeprefix(f"{own.path}/")
            if resource.path != name and segments_of(name) == (name,):
                found.append(self._entry(folder, name, resource, now))
        return found

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector. A file with an id of the server is looked for at its last path, then everywhere."""
        if not external_id.startswith(FILE_ID):
            return await self._at(segments_of(external_id), external_id)
        known = (await self._context.find_known([external_id])).get(external_id)
        if known is not None and known.note is not None:
            item = await self._at(segments_of(known.note), external_id)
            if item is not None:
                return item
        batches = self.list_changes(None)
        try:
            async for batch in batches:
                for item in batch.items:
                    if item.external_id == external_id:
                        return item
        finally:
            await batches.aclose()
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        return FetchedItem(
            content=self._blocks(segments_of(str(item.fields["path"]))),
            content_type=type_of(item.name),
            version=item.version,
        )

    async def close(self) -> None:
        """See Connector."""
        await self._client.close()

    async def _blocks(self, segments: Segments | None) -> AsyncIterator[bytes]:
        if segments is None:
            raise ItemGoneError("Its path is not known any more.")
        try:
            async for block in self._client.download(_quoted(segments), most_bytes=self._context.max_item_bytes):
                yield block
        except NotFoundError:
            raise ItemGoneError("Deleted or moved while the run was going on.") from None

    async def _at(self, segments: Segments | None, external_id: str) -> ListedItem | None:
        """Return the file at a path if it has this id."""
        if segments is None or not self._choice.takes(segments, is_folder=False):
            return None
        try:
            resources, now = await self._resources(segments, depth="0", is_folder=False)
            if resources[0].is_folder:
                return None
            if resources[0].owner is not None:
                for depth in range(len(segments)):
                    self._note_share(segments[:depth], await self._own(segments[:depth], is_folder=True))
        except NotFoundError:
            return None
        item = listed_file(segments, self._entry(segments[:-1], segments[-1], resources[0], now))
        return item if item.external_id == external_id else None

    async def _own(self, segments: Segments, *, is_folder: bool) -> Resource:
        return (await self._resources(segments, depth="0", is_folder=is_folder))[0][0]

    async def _resources(
        self, segments: Segments, *, depth: str, is_folder: bool
    ) -> tuple[list[Resource], datetime | None]:
        """Return at least one resource, with the server's time.

        Raises:
            PermanentError: the server does not answer as WebDAV servers do.
        """
        headers = {"depth": depth, "content-type": 'application/xml; charset="utf-8"'}
        path = f"{_quoted(segments)}{'/' if is_folder else ''}"
        async with self._client.stream("PROPFIND", path, body=REQUEST, headers=headers) as response:
            if response.status_code != MULTI_STATUS:
                raise PermanentError("The server does not answer like a WebDAV server. Check the address.")
            resources = await read_resources(decoded(response))
            now = date_of(response.headers.get("date", "")[:100])
        if not resources:
            raise PermanentError("The server does not describe the folder. Check the address.")
        return resources, now

    def _path(self, folder: Segments) -> str:
        return "/".join([decoded_path(self._settings.url) or "", *folder])

    def _entry(self, folder: Segments, name: str, resource: Resource, now: datetime | None) -> RemoteEntry:
        file_id = resource.file_id
        return RemoteEntry(
            name=name,
            kind=EntryKind.FOLDER if resource.is_folder else EntryKind.FILE,
            version=_version_of(resource, now),
            byte_size=resource.byte_size,
            external_id=f"{FILE_ID}{file_id}" if file_id else None,
            note="/".join([*folder, name]) if file_id else None,
            source_url=self._address_for_people((*folder, name), file_id),
            fields={"modified": resource.modified.astimezone(UTC).isoformat()} if resource.modified else {},
            access=_joined(self._shares.get(folder, NO_ACCESS), resource),
        )

    def _address_for_people(self, segments: Segments, file_id: str | None) -> str:
        base, is_cloud, _ = self._settings.url.partition("/remote.php/")
        if is_cloud and file_id and file_id.isdigit():
            return f"{base}/index.php/f/{file_id}"
        return f"{self._settings.url.rstrip('/')}{_quoted(segments)}"

    def _note_share(self, folder: Segments, own: Resource) -> None:
        """Note who may read a folder; what is shared with somebody includes all below it."""
        above = {each: access for each, access in self._shares.items() if folder[: len(each)] == each != folder}
        access = _joined(above.get(folder[:-1], NO_ACCESS) if folder else NO_ACCESS, own)
        self._shares = {**above, folder: access or NO_ACCESS}


def _joined(above: ItemAccess, resource: Resource) -> ItemAccess | None:
    if resource.owner is None:
        return None
    return ItemAccess(
        people=tuple(dict.fromkeys([resource.owner, *above.people, *resource.people])),
        groups=tuple(dict.fromkeys([*above.groups, *resource.groups])),
        is_public=above.is_public or resource.is_public,
    )


def _version_of(resource: Resource, now: datetime | None) -> str | None:
    """Return the ETag, else size and time; None if they may not tell the next change."""
    is_settled = resource.modified is None or (now or clock.now()) - resource.modified >= SETTLED
    etag = resource.etag
    if etag is not None and not etag.startswith("W/"):
        return etag
    if not is_settled:
        return None
    if etag is not None:
        # Servers weaken the ETag of a file that was just written, and strengthen it later.
        return etag.removeprefix("W/")
    return f"{resource.byte_size}:{resource.modified.isoformat()}" if resource.modified else None


def _quoted(segments: Segments) -> str:
    """Return an encoded path; a leading slash, so that the address of the source is what stands before it."""
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)
