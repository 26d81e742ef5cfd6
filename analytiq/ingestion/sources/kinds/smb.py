"""Files of a Windows share (SMB 2 and 3)."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence, Set
from typing import ClassVar

from pydantic import Field, SecretStr, field_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.outbound import requirement
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
from analytiq.ingestion.sources.systems.smb.client import SmbClient
from analytiq.ingestion.sources.systems.smb.listing import SmbEntry
from analytiq.ingestion.sources.systems.smb.protocol import SharePlace, SmbLogin

SETTLED_SECONDS = 2.0
"""Age from which a change of a file is told by its times: some file systems count in steps of two seconds."""
_NOT_IN_NAMES = frozenset('<>:"|?*')


class SmbSettings(KindSchema):
    """The settings of an SMB source."""

    server: str = Field(min_length=1, max_length=253, title="Server", description="Such as files.example.com")
    port: int = Field(default=445, ge=1, le=65535, title="Port")
    share: str = Field(
        min_length=1, max_length=80, title="Share", description="Its name, such as Contracts of \\\\server\\Contracts"
    )
    path: str = Field(
        default="", max_length=4000, title="Folder", description="Below the share; left empty, the whole share"
    )
    require_encryption: bool = Field(
        default=False,
        title="Require encryption",
        description="Refuse a server that cannot encrypt (before SMB 3). Others are always encrypted",
    )
    include_hidden: bool = Field(
        default=False, title="Hidden files", description="Also read hidden files, and those that begin with a dot"
    )

    @field_validator("server")
    @classmethod
    def _is_host(cls, value: str) -> str:
        host = value.strip()
        if not host.isascii() or not host.isprintable() or any(letter in host for letter in " /@\\"):
            raise ValueError("Must be the name or address of a host, without share and path")
        return host

    @field_validator("share")
    @classmethod
    def _is_share(cls, value: str) -> str:
        share = value.strip()
        if not share or not share.isprintable() or any(letter in _NOT_IN_NAMES or letter in "/\\" for letter in share):
            raise ValueError("Must be the name of a share, without server and path")
        return share

    @field_validator("path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        segments = [segment for segment in value.replace("\\", "/").split("/") if segment]
        if any(segment in (".", "..") or "\0" in segment or _NOT_IN_NAMES & set(segment) for segment in segments):
            raise ValueError('Must be a path without `..` and without any of < > : " | ? *')
        return "/".join(segments)


class SmbCredentials(KindSchema):
    """A user with a password."""

    user: str = Field(min_length=1, max_length=200, title="User")
    password: SecretStr = Field(min_length=1, title="Password")
    domain: str = Field(
        default="", max_length=200, title="Domain", description="Left empty for users of the server itself"
    )

    @property
    def login(self) -> SmbLogin:
        """The user with the password."""
        return SmbLogin(self.user, self.password.get_secret_value(), self.domain)


class SmbConnector:
    """A folder of a Windows share."""

    title: ClassVar[str] = "Windows share (SMB)"
    description: ClassVar[str] = "Files of a share of Windows, Samba or a NAS."
    settings_schema: ClassVar[type[KindSchema]] = SmbSettings
    credentials_schema: ClassVar[type[KindSchema]] = SmbCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = SmbSettings.model_validate(settings, from_attributes=True)
        login = SmbCredentials.model_validate(credentials, from_attributes=True).login
        self._context = context
        self._choice = FileChoice(context.accepts, self._settings.include_hidden)
        self._root = tuple(self._settings.path.split("/")) if self._settings.path else ()
        self._ids: dict[Segments, int] = {}
        place = SharePlace(
            self._settings.server, self._settings.port, self._settings.share, self._settings.require_encryption
        )
        self._client = SmbClient(place, login, requirement(context.operator))

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: the share or the path is no folder.
        """
        try:
            await self._client.require_folder(self._root)
        except NotFoundError:
            raise InvalidInputError.of_field("settings.path", "The share has no such folder.") from None

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
        found = await self._client.folder((*self._root, *folder), follows=not folder)
        around = self._around(folder, found)
        return [self._entry(entry, around) for entry in found if entry.name != "." and self._shows(entry)]

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        segments = segments_of(external_id)
        if segments is None or any(_NOT_IN_NAMES & set(segment) or "\\" in segment for segment in segments):
            return None
        if not self._choice.takes(segments, is_folder=False):
            return None
        around: set[int] = set()
        try:
            for length in range(1, len(segments)):
                folder = await self._found(segments[:length])
                if folder is None or self._entry(folder, around).kind is not EntryKind.FOLDER:
                    return None
                around.add(folder.file_id)
            found = await self._found(segments)
        except NotFoundError:
            return None
        entry = self._entry(found, around) if found is not None else None
        return listed_file(segments, entry) if entry is not None and entry.kind is not EntryKind.FOLDER else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        segments = segments_of(item.external_id)
        return FetchedItem(content=self._blocks(segments), content_type=type_of(item.name), version=item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._client.close()

    async def _found(self, path: Segments) -> SmbEntry | None:
        listed = await self._client.folder((*self._root, *path[:-1]), path[-1], follows=len(path) == 1)
        # The server compares without regard to case; the documents do not.
        return next((entry for entry in listed if entry.name == path[-1] and self._shows(entry)), None)

    async def _blocks(self, segments: Segments | None) -> AsyncIterator[bytes]:
        try:
            if segments is None:
                raise NotFoundError("No path of a file.")
            path = (*self._root, *segments)
            async for block in self._client.content(path, most_bytes=self._context.max_item_bytes):
                yield block
        except NotFoundError:
            raise ItemGoneError("Deleted or moved while the run was going on.") from None

    def _around(self, folder: Segments, found: Sequence[SmbEntry]) -> set[int]:
        """Return the numbers of the folder and of those around it, as far as the server tells them."""
        self._ids = {path: number for path, number in self._ids.items() if path == folder[: len(path)]}
        own = next((entry.file_id for entry in found if entry.name == "."), 0)
        if own:
            self._ids[folder] = own
        return set(self._ids.values())

    def _shows(self, entry: SmbEntry) -> bool:
        return self._settings.include_hidden or not entry.is_hidden

    def _entry(self, found: SmbEntry, around: Set[int]) -> RemoteEntry:
        kind = EntryKind.FOLDER if found.is_folder else EntryKind.FILE
        # Samba follows symbolic links itself: a folder that is also one around it is a link to that.
        if found.is_link or (found.is_folder and found.file_id and found.file_id in around):
            kind = EntryKind.LINK
        elif found.is_device:
            kind = EntryKind.OTHER
        written = found.written_at
        version = None
        if written is not None and (clock.now() - written).total_seconds() >= SETTLED_SECONDS:
            version = f"{found.byte_size}:{found.written}:{found.changed}"
        return RemoteEntry(
            name=found.name,
            kind=kind,
            version=version,
            byte_size=found.byte_size,
            fields={"modified": written.isoformat()} if written is not None else {},
        )
