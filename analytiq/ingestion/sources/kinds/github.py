"""Repositories of GitHub: issues and pull requests with their comments, and files."""

import mimetypes
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import ClassVar

from pydantic import Field, HttpUrl, SecretStr, ValidationError, field_validator

from analytiq.errors import NotFoundError
from analytiq.ingestion.sources.base import (
    FetchedItem,
    ItemGoneError,
    KindSchema,
    ListedBatch,
    ListedItem,
    SourceContext,
)
from analytiq.ingestion.sources.connections import contents
from analytiq.ingestion.sources.connections.side_by_side import mapped
from analytiq.ingestion.sources.systems.github.api import GitHubApi
from analytiq.ingestion.sources.systems.github.items import ItemId, RepositoryItems, issue_page
from analytiq.ingestion.sources.systems.github.listing import Choice, Listing, Since
from analytiq.ingestion.sources.systems.github.wire import Issue, Repository

MOST_REPOSITORIES = 500
"""Most repositories of a source: their states are in the position of a run."""
DOCUMENTATION = ("*.md", "*.mdx", "*.rst", "*.adoc", "*.txt")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")


class GitHubSettings(KindSchema):
    """The settings of repositories."""

    repositories: tuple[str, ...] = Field(default=(), max_length=200, description="As OWNER/NAME")
    organizations: tuple[str, ...] = Field(
        default=(), max_length=20, description="Organizations, or people, with all their repositories"
    )
    issues: bool = Field(default=True, description="Each issue with its comments as a document")
    pull_requests: bool = Field(default=True, description="Each pull request with comments and reviews as a document")
    files: bool = Field(default=True, description="Each file that the patterns choose as a document")
    file_patterns: tuple[str, ...] = Field(
        default=DOCUMENTATION, max_length=100, description="Files to read; `*` also matches slashes: `*` for all"
    )
    branch: str | None = Field(default=None, max_length=250, description="Branch of the files; none: the default one")
    archived: bool = Field(default=False, description="Also read archived repositories of the organizations")
    api_url: HttpUrl = Field(
        default=HttpUrl("https://api.github.com"),
        title="Address of the API",
        description="For GitHub Enterprise Server: https://HOST/api/v3",
    )

    @field_validator("repositories")
    @classmethod
    def _are_repositories(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(_NAME.fullmatch(name) is None or name.endswith(("/.", "/..")) for name in names):
            raise ValueError("A repository is named OWNER/NAME")
        return names

    @field_validator("organizations")
    @classmethod
    def _are_owners(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(_OWNER.fullmatch(name) is None for name in names):
            raise ValueError("An organization is named by letters, digits and hyphens")
        return names

    @field_validator("file_patterns")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if any(not 1 <= len(pattern) <= 200 or pattern.count("*") > 10 for pattern in patterns):
            raise ValueError("A pattern has 1 to 200 characters, and at most 10 wildcards `*`")
        return patterns


class GitHubCredentials(KindSchema):
    """The token of a person or app."""

    token: SecretStr | None = Field(
        default=None,
        description="Personal access token with the right to read contents, issues, pull requests and metadata;"
        " none: public repositories, 60 calls an hour",
    )


class GitHubConnector:
    """Repositories of GitHub or GitHub Enterprise."""

    title: ClassVar[str] = "GitHub"
    description: ClassVar[str] = "Issues, pull requests and files of repositories."
    settings_schema: ClassVar[type[KindSchema]] = GitHubSettings
    credentials_schema: ClassVar[type[KindSchema]] = GitHubCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = GitHubSettings.model_validate(settings, from_attributes=True)
        self._context = context
        token = GitHubCredentials.model_validate(credentials, from_attributes=True).token
        self._api = GitHubApi(
            context.operator,
            api_url=str(self._settings.api_url),
            token=token.get_secret_value().strip() if token else None,
        )
        self._repositories: dict[int, Repository] | None = None
        self._missing: list[str] = []
        self._made: dict[int, RepositoryItems] = {}
        self._held: dict[str, Issue] = {}

    async def check(self) -> None:
        """See Connector.

        Raises:
            NotFoundError: a repository does not exist, or there is none.
        """
        repositories = await self._chosen()
        if self._missing:
            raise NotFoundError(" ".join(self._missing))
        if not repositories:
            raise NotFoundError("There are no repositories. Name some, or an organization that has some.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is a repository with the time of an issue or the path of a file."""
        repositories = await self._chosen()
        listing = Listing(self._api, self._choice(), self._items_of, self._since(), self._held)
        problems = self._missing
        async with aclosing(listing.batches(repositories, cursor)) as batches:
            async for batch in batches:
                yield _with_problems(batch, problems)
                problems = []

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        wanted = ItemId.parsed(external_id)
        repository = (await self._chosen()).get(wanted.repository) if wanted is not None else None
        if wanted is None or repository is None:
            return None
        item = await self._found(await self._items_of(repository), wanted)
        return item if item is not None and self._context.accepts(item.name) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector.

        Raises:
            ItemGoneError: it was deleted, or moved to another repository.
        """
        wanted = ItemId.parsed(item.external_id)
        repository = (await self._chosen()).get(wanted.repository) if wanted is not None else None
        if wanted is None or repository is None:
            raise ItemGoneError("The repository does not exist any more, or the token may not see it.")
        if wanted.path is not None:
            content = self._api.download(repository, item.version or "", most_bytes=self._context.max_item_bytes)
            kind = mimetypes.guess_type(wanted.path)[0] or "application/octet-stream"
            return FetchedItem(content, kind, item.version)
        issue = self._held.get(item.external_id) or await self._api.issue(repository, wanted.number or 0)
        if issue is None:
            raise ItemGoneError("It was deleted, or moved to another repository.")
        page = issue_page(repository, issue, await self._api.comments(repository, issue))
        return FetchedItem(contents.text(page), "text/markdown", item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    def _choice(self) -> Choice:
        settings = self._settings
        return Choice(
            issues=settings.issues,
            pull_requests=settings.pull_requests,
            files=settings.files,
            branch=settings.branch,
            accepts_path=self._accepts_path,
            accepts=self._context.accepts,
        )

    def _accepts_path(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self._settings.file_patterns)

    def _since(self) -> Since | None:
        try:
            return Since.model_validate_json(self._context.since) if self._context.since else None
        except ValidationError:
            return None

    async def _chosen(self) -> dict[int, Repository]:
        """Return the chosen repositories by id, and note those that do not exist."""
        if self._repositories is None:
            found: dict[int, Repository] = {}
            missing: list[str] = []
            named = await mapped(self._named, self._settings.repositories)
            for name, repository in zip(self._settings.repositories, named, strict=True):
                if repository is None:
                    missing.append(f"{name}: there is no such repository, or the token may not see it.")
                else:
                    found[repository.id] = repository
            for owner in self._settings.organizations:
                try:
                    for repository in await self._api.repositories(owner):
                        if not repository.disabled and (self._settings.archived or not repository.archived):
                            found[repository.id] = repository
                except NotFoundError:
                    missing.append(f"{owner}: there is no such organization or person.")
            kept = dict(sorted(found.items())[:MOST_REPOSITORIES])
            if len(found) > len(kept):
                missing.append(f"There are more than {MOST_REPOSITORIES} repositories; the newest are left out.")
            self._repositories, self._missing = kept, missing
        return self._repositories

    async def _named(self, name: str) -> Repository | None:
        try:
            return await self._api.repository(name)
        except NotFoundError:
            return None

    async def _items_of(self, repository: Repository) -> RepositoryItems:
        if repository.id not in self._made:
            access = await self._api.access_of(repository)
            self._made[repository.id] = RepositoryItems(repository, access, self._settings.branch)
        return self._made[repository.id]

    async def _found(self, items: RepositoryItems, wanted: ItemId) -> ListedItem | None:
        if wanted.path is not None:
            head = await self._api.head(items.repository, self._settings.branch) if self._settings.files else None
            if head is None or not self._accepts_path(wanted.path):
                return None
            entry = await self._api.file(items.repository, wanted.path, head)
            return items.file(entry) if entry is not None else None
        issue = await self._api.issue(items.repository, wanted.number or 0)
        return items.issue(issue) if issue is not None and self._choice().takes(issue) else None


def _with_problems(batch: ListedBatch, problems: list[str]) -> ListedBatch:
    return replace(batch, problems=(*problems, *batch.problems)) if problems else batch
