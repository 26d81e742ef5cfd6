"""Projects of GitLab: issues and merge requests with their comments, wikis and files."""

import mimetypes
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
from analytiq.ingestion.sources.systems.gitlab.api import GitLabApi
from analytiq.ingestion.sources.systems.gitlab.items import ItemId, ProjectItems, issue_page, wiki_text
from analytiq.ingestion.sources.systems.gitlab.listing import (
    FILES,
    ISSUES,
    MERGE_REQUESTS,
    WIKI,
    Choice,
    Held,
    Listing,
    Since,
)
from analytiq.ingestion.sources.systems.gitlab.wire import Project

MOST_PROJECTS = 500
"""Most projects of a source: their states are in the position of a run."""
DOCUMENTATION = ("*.md", "*.mdx", "*.rst", "*.adoc", "*.txt")


class GitLabSettings(KindSchema):
    """The settings of projects."""

    projects: tuple[str, ...] = Field(default=(), max_length=200, description="Paths, as GROUP/NAME, or ids")
    groups: tuple[str, ...] = Field(
        default=(), max_length=20, description="Groups by path or id, with all projects of their subgroups"
    )
    issues: bool = Field(default=True, description="Each issue with its comments as a document")
    merge_requests: bool = Field(default=True, description="Each merge request with its comments as a document")
    wiki: bool = Field(default=True, description="Each page of the wikis as a document")
    files: bool = Field(default=True, description="Each file that the patterns choose as a document")
    file_patterns: tuple[str, ...] = Field(
        default=DOCUMENTATION, max_length=100, description="Files to read; `*` also matches slashes: `*` for all"
    )
    branch: str | None = Field(default=None, max_length=250, description="Branch of the files; none: the default one")
    confidential: bool = Field(default=False, description="Also read confidential issues that the token may read")
    archived: bool = Field(default=False, description="Also read archived projects of the groups")
    api_url: HttpUrl = Field(
        default=HttpUrl("https://gitlab.com/api/v4"),
        title="Address of the API",
        description="For a GitLab of your own: https://HOST/api/v4",
    )

    @field_validator("projects", "groups", "file_patterns")
    @classmethod
    def _are_short(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if any(not 1 <= len(name) <= 255 or name.count("*") > 10 or "\0" in name for name in names):
            raise ValueError("Each has 1 to 255 characters, and at most 10 wildcards `*`")
        return names


class GitLabCredentials(KindSchema):
    """The token of a person, project or group."""

    token: SecretStr | None = Field(
        default=None, description="Access token with the scope read_api; none: what everybody may read"
    )


class GitLabConnector:
    """Projects of a GitLab."""

    title: ClassVar[str] = "GitLab"
    description: ClassVar[str] = "Issues, merge requests, wikis and files of projects."
    settings_schema: ClassVar[type[KindSchema]] = GitLabSettings
    credentials_schema: ClassVar[type[KindSchema]] = GitLabCredentials

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        self._settings = GitLabSettings.model_validate(settings, from_attributes=True)
        self._context = context
        token = GitLabCredentials.model_validate(credentials, from_attributes=True).token
        self._api = GitLabApi(
            context.operator,
            api_url=str(self._settings.api_url),
            token=token.get_secret_value().strip() if token else None,
        )
        self._projects: dict[int, Project] | None = None
        self._missing: list[str] = []
        self._made: dict[int, ProjectItems] = {}
        self._held = Held()
        chosen = self._settings
        wanted = {ISSUES: chosen.issues, MERGE_REQUESTS: chosen.merge_requests, WIKI: chosen.wiki, FILES: chosen.files}
        self._parts = frozenset(part for part, is_wanted in wanted.items() if is_wanted)

    async def check(self) -> None:
        """See Connector.

        Raises:
            NotFoundError: a project does not exist, or there is none.
        """
        projects = await self._chosen()
        if self._missing:
            raise NotFoundError(" ".join(self._missing))
        if not projects:
            raise NotFoundError("There are no projects. Name some, or a group that has some.")

    async def list_changes(self, cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """See Connector. The cursor is a project with the time of an issue, or the path of a page or file."""
        projects = await self._chosen()
        choice = Choice(
            parts=self._parts,
            with_confidential=self._settings.confidential,
            branch=self._settings.branch,
            accepts_path=self._accepts_path,
            accepts=self._context.accepts,
        )
        listing = Listing(self._api, choice, self._since(), self._held)
        problems = self._missing
        async with aclosing(listing.batches(projects, self._items_of, cursor)) as batches:
            async for batch in batches:
                yield replace(batch, problems=(*problems, *batch.problems)) if problems else batch
                problems = []

    async def find(self, external_id: str) -> ListedItem | None:
        """See Connector."""
        wanted = ItemId.parsed(external_id)
        project = (await self._chosen()).get(wanted.project) if wanted is not None else None
        if wanted is None or project is None or wanted.part not in self._parts:
            return None
        item = await self._found(await self._items_of(project), wanted)
        return item if item is not None and self._context.accepts(item.name) else None

    async def fetch(self, item: ListedItem) -> FetchedItem:
        """See Connector.

        Raises:
            ItemGoneError: it was deleted, or moved to another project.
        """
        wanted = ItemId.parsed(item.external_id)
        project = (await self._chosen()).get(wanted.project) if wanted is not None else None
        if wanted is None or project is None:
            raise ItemGoneError("The project does not exist any more, or the token may not see it.")
        if wanted.part == FILES:
            content = self._api.download(project, item.version or "", most_bytes=self._context.max_item_bytes)
            kind = mimetypes.guess_type(wanted.path)[0] or "application/octet-stream"
            return FetchedItem(content, kind, item.version)
        if wanted.part == WIKI:
            text = self._held.texts.get(item.external_id) or await self._wiki_text(project, wanted.path)
            is_markdown = item.name.endswith(".md")
            return FetchedItem(contents.text(text), "text/markdown" if is_markdown else "text/plain", item.version)
        page = await self._issue_page(project, wanted, item.external_id)
        return FetchedItem(contents.text(page), "text/markdown", item.version)

    async def close(self) -> None:
        """See Connector."""
        await self._api.close()

    def _accepts_path(self, path: str) -> bool:
        return any(fnmatchcase(path, pattern) for pattern in self._settings.file_patterns)

    def _since(self) -> Since | None:
        try:
            return Since.model_validate_json(self._context.since) if self._context.since else None
        except ValidationError:
            return None

    async def _chosen(self) -> dict[int, Project]:
        """Return the chosen projects by id, and note those that do not exist."""
        if self._projects is None:
            found: dict[int, Project] = {}
            missing: list[str] = []
            named = await mapped(self._named, self._settings.projects)
            for name, project in zip(self._settings.projects, named, strict=True):
                if project is None:
                    missing.append(f"{name}: there is no such project, or the token may not see it.")
                else:
                    found[project.id] = project
            for group in self._settings.groups:
                try:
                    for project in await self._api.projects(group):
                        if self._settings.archived or not project.archived:
                            found[project.id] = project
                except NotFoundError:
                    missing.append(f"{group}: there is no such group, or the token may not see it.")
            kept = dict(sorted(found.items())[:MOST_PROJECTS])
            if len(found) > len(kept):
                missing.append(f"There are more than {MOST_PROJECTS} projects; the newest are left out.")
            self._projects, self._missing = kept, missing
        return self._projects

    async def _named(self, name: str) -> Project | None:
        try:
            return await self._api.project(name)
        except NotFoundError:
            return None

    async def _items_of(self, project: Project) -> ProjectItems:
        if project.id not in self._made:
            access = await self._api.access_of(project)
            self._made[project.id] = ProjectItems(project, access, self._settings.branch)
        return self._made[project.id]

    async def _found(self, items: ProjectItems, wanted: ItemId) -> ListedItem | None:
        if wanted.part == WIKI:
            page = await self._api.wiki_page(items.project, wanted.path)
            return items.wiki_page(page) if page is not None else None
        if wanted.part == FILES:
            head = await self._api.head(items.project, self._settings.branch)
            if head is None or not self._accepts_path(wanted.path):
                return None
            entry = await self._api.file(items.project, wanted.path, head)
            return items.file(entry) if entry is not None else None
        issue = await self._api.issue(items.project, wanted.part, wanted.iid)
        if issue is None or (issue.confidential and not self._settings.confidential):
            return None
        return items.issue(wanted.part, issue)

    async def _wiki_text(self, project: Project, slug: str) -> str:
        page = await self._api.wiki_page(project, slug)
        if page is None:
            raise ItemGoneError("The page was deleted, or has another name.")
        return wiki_text(page)

    async def _issue_page(self, project: Project, wanted: ItemId, external_id: str) -> str:
        issue = self._held.issues.get(external_id) or await self._api.issue(project, wanted.part, wanted.iid)
        if issue is None:
            raise ItemGoneError("It was deleted, or moved to another project.")
        notes = await self._api.notes(project, wanted.part, wanted.iid) if issue.user_notes_count else []
        return issue_page(project, wanted.part, issue, notes)
