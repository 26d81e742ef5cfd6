"""Files of a git repository, at the last commit of a branch or at a tag, over HTTP.

Nothing is checked out: trees and files are read from packs in a temporary file. Where the server has the filter
`blob:none`, the trees come first, and then the content of new and changed files only.
"""

import base64
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import ClassVar
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, field_validator

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemRefusedError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections.service_client import ServiceClient
from analytiq.ingestion.sources.systems.git.smart_http import GitRemote, ObjectMissingError
from analytiq.ingestion.sources.systems.git.snapshot import Contents, Snapshot
from analytiq.ingestion.sources.systems.remote_files.walk import (
    EntryKind,
    FileChoice,
    TreeWalk,
    listed_file,
    segments_of,
    type_of,
)
from analytiq.ingestion.sources.systems.web.addresses import normalized

BLOCK_BYTES = 256 * 1024
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
USER_OF_TOKENS = "x-access-token"
"""GitHub wants it, GitLab and Gitea take any."""
_PAGES = (
    ("github", "/blob/"),
    ("gitlab", "/-/blob/"),
    ("bitbucket", "/src/"),
    ("codeberg", "/src/branch/"),
    ("gitea", "/src/branch/"),
)
"""Part of a host's name → what stands between a repository's address and the branch in the address of a file."""


class GitSettings(KindSchema):
    """The settings of a git repository."""

    url: str = Field(
        title="Address of the repository",
        max_length=2000,
        description="Such as https://github.com/owner/name.git; not by SSH",
    )
    branch: str = Field(
        default="", max_length=250, title="Branch or tag", description="Empty: the repository's default branch"
    )
    folder: str = Field(default="", max_length=1000, title="Folder", description="Read only what is below this folder")
    include_hidden: bool = Field(
        default=False, title="Hidden files", description="Also read files and folders that begin with a dot"
    )

    @field_validator("url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        address = normalized(value.strip())
        if address is None or "?" in address:
            raise ValueError("Must be an address such as https://github.com/owner/name.git, without user and password")
        return address.rstrip("/")

    @field_validator("branch")
    @classmethod
    def _is_name(cls, value: str) -> str:
        name = value.strip()
        if not name.isprintable() or " " in name:
            raise ValueError("Must be the name of a branch or tag, without spaces")
        return name

    @field_validator("folder")
    @classmethod
    def _is_folder(cls, value: str) -> str:
        folder = value.strip().strip("/")
        if folder and segments_of(folder) is None:
            raise ValueError("Must be a path within the repository, without `..`")
        return folder


class GitCredentials(KindSchema):
    """A token, or a user with a password; neither for a public repository."""

    user: str | None = Field(
        default=None,
        max_length=200,
        title="User",
        description="Not needed with a token of GitHub, GitLab or Gitea; x-token-auth for one of Bitbucket",
    )
    password: SecretStr | None = Field(
        default=None, title="Token or password", description="A token needs the right to read the repository's content"
    )


class GitConnector:
    """A git repository."""

    title: ClassVar[str] = "Git repository"
    description: ClassVar[str] = "Files of a branch or tag of a repository on GitHub, GitLab or another git server."
    settings_schema: ClassVar[type[KindSchema]] = GitSettings
    credentials_schema: ClassVar[type[KindSchema]] = GitCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = GitSettings.model_validate(settings, from_attributes=True)
        secrets = GitCredentials.model_validate(credentials, from_attributes=True)
        self._context = context
        self._choice = FileChoice(context.accepts, self._settings.include_hidden)
        headers = {"accept": "*/*"}
        if secrets.password is not None:
            pair = f"{secrets.user or USER_OF_TOKENS}:{secrets.password.get_secret_value()}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        self._client = ServiceClient(context.operator, self._settings.url, headers=headers, service="The git server")
        self._remote = GitRemote(self._client)
        self._contents = Contents(self._remote, most_bytes=context.max_item_bytes)
        self._snapshot: Snapshot | None = None

    async def check(self) -> None:
        """See Connector.

        Raises:
            InvalidInputError: the repository has no such branch, tag or folder.
        """
        snapshot = await self._opened(await self._commit())
        try:
            await snapshot.entries(())
        except NotFoundError as error:
            raise InvalidInputError.of_field("settings.folder", error.detail) from None

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is the commit with the path of the last listed file.

        A listing stays at the commit that it began with, while the server has it.
        """
        first, position = json.loads(cursor) if cursor else (await self._commit(), None)
        if cursor is None and first == self._context.since:
            yield ListedBatch(items=(), cursor=json.dumps([first, None]), is_delta=True, next_since=first)
            return
        try:
            snapshot = await self._opened(first)
        except ObjectMissingError:
            # The branch was rewritten. What is listed already is compared again by the next run.
            snapshot = await self._opened(await self._commit())
        batches = TreeWalk(snapshot, self._choice, cursor=position).batches()
        try:
            async for batch in batches:
                position = batch.cursor
                items = [self._with_address(item) for item in batch.items]
                await self._expect(items)
                yield replace(batch, items=items, cursor=json.dumps([first, position]))
        finally:
            await batches.aclose()
        yield ListedBatch(items=(), cursor=json.dumps([first, position]), next_since=first)

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        segments = segments_of(external_id)
        if segments is None or not self._choice.takes(segments, is_folder=False):
            return None
        snapshot = await self._opened(await self._commit())
        try:
            entries = await snapshot.entries(segments[:-1])
        except NotFoundError:
            return None
        for entry in entries:
            if entry.name == segments[-1] and entry.kind is not EntryKind.FOLDER:
                return self._with_address(listed_file(segments, entry))
        return None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector."""
        content = await self._content(item.version or "")
        if content.startswith(LFS_POINTER):
            raise ItemRefusedError("Stored in Git LFS: the repository has only a pointer to the content.")
        return FetchedItem(content=_blocks(content), content_type=type_of(item.name), version=item.version)

    async def close(self) -> None:
        """See Connector."""
        if self._snapshot is not None:
            self._snapshot.close()
        self._contents.close()
        await self._client.close()

    async def _content(self, blob_id: str) -> bytes:
        if await self._remote.has_filter():
            return await self._contents.read(blob_id)
        snapshot = self._snapshot or await self._opened(await self._commit())
        content = await snapshot.content(blob_id)
        if content is None or len(content) > self._context.max_item_bytes:
            raise ItemRefusedError(f"Larger than {self._context.max_item_bytes:,} bytes.")
        return content

    async def _expect(self, items: list[ListedItem]) -> None:
        """Find out which items of a batch are new or changed: their content is requested together."""
        wanted = [item for item in items if item.skip_reason is None]
        known = await self._context.find_known([item.external_id for item in wanted])
        changed = (
            item.version
            for item in wanted
            if (before := known.get(item.external_id)) is None or before.version != item.version
        )
        self._contents.expect([version for version in changed if version is not None])

    async def _commit(self) -> str:
        """Return the id of the newest commit.

        Raises:
            InvalidInputError: there is no such branch or tag.
        """
        branch = self._settings.branch
        names = (f"refs/heads/{branch}", f"refs/tags/{branch}") if branch else ("refs/heads/",)
        found = await self._remote.references(*names)
        candidates = names if branch else ("HEAD", found.head or "", "refs/heads/main", "refs/heads/master")
        for name in candidates:
            if name in found.by_name:
                return found.by_name[name]
        reason = f"The repository has no branch or tag {branch!r}." if branch else "The repository is empty."
        raise InvalidInputError.of_field("settings.branch", reason)

    async def _opened(self, commit_id: str) -> Snapshot:
        if self._snapshot is None or self._snapshot.commit_id != commit_id:
            folder = segments_of(self._settings.folder) or ()
            opened = await Snapshot.read(self._remote, commit_id, folder, most_item_bytes=self._context.max_item_bytes)
            if self._snapshot is not None:
                self._snapshot.close()
            self._snapshot = opened
        return self._snapshot

    def _with_address(self, item: ListedItem) -> ListedItem:
        """Return an item with the address of its page, on hosts whose addresses are known."""
        host = urlsplit(self._settings.url).hostname or ""
        branch = self._settings.branch or "HEAD"
        for part, between in _PAGES:
            if part in host:
                path = quote("/".join(filter(None, (self._settings.folder, item.name))))
                base = self._settings.url.removesuffix(".git")
                return replace(item, source_url=f"{base}{between}{quote(branch)}/{path}")
        return item


async def _blocks(content: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(content), BLOCK_BYTES):
        yield content[at : at + BLOCK_BYTES]
