"""Files of an SFTP server."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from pydantic import Field, PrivateAttr, SecretStr, field_validator, model_validator

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.base import (
    SEVERAL_LINES,
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
from analytiq.ingestion.sources.systems.sftp.client import Endpoint, RemoteFile, SftpClient
from analytiq.ingestion.sources.systems.sftp.host_keys import HostKey
from analytiq.ingestion.sources.systems.sftp.ssh import SshLogin, private_key

SETTLED_SECONDS = 2.0
"""Age from which a change of a file is told by its time, which is of whole seconds."""


class SftpSettings(KindSchema):
    """The settings of an SFTP source."""

    host: str = Field(min_length=1, max_length=253, title="Host", description="Such as files.example.com")
    port: int = Field(default=22, ge=1, le=65535, title="Port")
    path: str = Field(
        default=".",
        min_length=1,
        max_length=4000,
        title="Folder",
        description="Absolute, or below the folder of the user",
    )
    host_key: str = Field(
        default="",
        max_length=4000,
        title="Key of the server",
        description="Fingerprint (SHA256:…) or public key. Left empty, the test shows the key, for you to compare",
    )
    include_hidden: bool = Field(
        default=False, title="Hidden files", description="Also read files and folders that begin with a dot"
    )

    @field_validator("host")
    @classmethod
    def _is_host(cls, value: str) -> str:
        host = value.strip()
        if not host.isascii() or not host.isprintable() or any(letter in host for letter in " /@"):
            raise ValueError("Must be the name or address of a host, without user and path")
        return host

    @field_validator("path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if "\0" in value or ".." in value.split("/"):
            raise ValueError("Must be a path without `..`")
        return value.rstrip("/") or "/"

    @field_validator("host_key")
    @classmethod
    def _is_key(cls, value: str) -> str:
        if value.strip():
            HostKey.parse(value)
        return value.strip()


class SftpCredentials(KindSchema):
    """A user with a password or a private key."""

    user: str = Field(min_length=1, max_length=200, title="User")
    password: SecretStr | None = Field(default=None, title="Password")
    private_key: SecretStr | None = Field(
        default=None,
        title="Private key",
        description="In the format of OpenSSH or PEM, instead of a password",
        json_schema_extra=SEVERAL_LINES,
    )
    passphrase: SecretStr | None = Field(default=None, title="Passphrase of the private key")
    _login: SshLogin = PrivateAttr()

    @model_validator(mode="after")
    def _is_complete(self) -> "SftpCredentials":
        if self.password is None and self.private_key is None:
            raise ValueError("Give a password or a private key")
        passphrase = self.passphrase.get_secret_value() if self.passphrase else None
        # Kept: decrypting a key takes a second of processor time by design.
        self._login = SshLogin(
            self.user,
            self.password.get_secret_value() if self.password else None,
            private_key(self.private_key.get_secret_value(), passphrase) if self.private_key else None,
        )
        return self

    @property
    def login(self) -> SshLogin:
        """The user with the password or the decrypted key."""
        return self._login


class SftpConnector:
    """A folder of an SFTP server."""

    title: ClassVar[str] = "SFTP"
    description: ClassVar[str] = "Files of a server that is reached by SSH."
    settings_schema: ClassVar[type[KindSchema]] = SftpSettings
    credentials_schema: ClassVar[type[KindSchema]] = SftpCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = SftpSettings.model_validate(settings, from_attributes=True)
        login = SftpCredentials.model_validate(credentials, from_attributes=True).login
        self._context = context
        self._choice = FileChoice(context.accepts, self._settings.include_hidden)
        key = HostKey.parse(self._settings.host_key) if self._settings.host_key else None
        endpoint = Endpoint(self._settings.host, self._settings.port, key)
        self._client = SftpClient(endpoint, login, requirement(context.operator))

    async def check(self) -> None:
        """See Connector.

        Raises:
            HostKeyError: the server's key is not the given one, or none is given.
            InvalidInputError: the path is no folder.
        """
        try:
            found = await self._client.described(self._path(()), follows_links=True)
        except NotFoundError:
            raise InvalidInputError.of_field("settings.path", "The server has no such folder.") from None
        if found.kind not in (EntryKind.FOLDER, None):
            raise InvalidInputError.of_field("settings.path", "The path is a file. Give its folder.")

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
        found: list[RemoteEntry] = []
        for each in await self._client.folder(self._path(folder)):
            if segments_of(each.name) == (each.name,):
                known = each
                if each.kind is None:
                    described = await self._client.described(self._path((*folder, each.name)))
                    known = RemoteFile(each.name, described.kind, described.byte_size, described.modified_at)
                found.append(_entry(known))
        return found

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        segments = segments_of(external_id)
        if segments is None or not self._choice.takes(segments, is_folder=False):
            return None
        try:
            found = await self._client.described(self._path(segments))
        except NotFoundError:
            return None
        entry = _entry(RemoteFile(segments[-1], found.kind, found.byte_size, found.modified_at))
        return listed_file(segments, entry) if entry.kind is not EntryKind.FOLDER else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        segments = segments_of(item.external_id)
        return FetchedItem(content=self._blocks(segments), content_type=type_of(item.name), version=item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._client.close()

    async def _blocks(self, segments: Segments | None) -> AsyncIterator[bytes]:
        try:
            if segments is None:
                raise NotFoundError("No path of a file.")
            async for block in self._client.content(self._path(segments), most_bytes=self._context.max_item_bytes):
                yield block
        except NotFoundError:
            raise ItemGoneError("Deleted or moved while the run was going on.") from None

    def _path(self, segments: Segments) -> str:
        root = self._settings.path
        return "/".join([root.rstrip("/"), *segments]) if segments else root


def _entry(found: RemoteFile) -> RemoteEntry:
    modified = found.modified_at
    version = None
    if modified is not None and found.byte_size is not None and clock.now().timestamp() - modified >= SETTLED_SECONDS:
        version = f"{found.byte_size}:{modified}"
    return RemoteEntry(
        name=found.name,
        kind=found.kind or EntryKind.OTHER,
        version=version,
        byte_size=found.byte_size,
        fields={"modified": datetime.fromtimestamp(modified, UTC).isoformat()} if modified is not None else {},
    )
