"""Listings of GitLab: project by project, issues and merge requests by their last change, then the wiki and files."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import BaseModel, Field, ValidationError

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ListedBatch, ListedItem
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.connections.side_by_side import mapped
from analytiq.ingestion.sources.systems.code_hosts.changed_list import ListPosition, latest, second_before
from analytiq.ingestion.sources.systems.gitlab.api import MOST_PAGES, GitLabApi
from analytiq.ingestion.sources.systems.gitlab.items import ProjectItems, wiki_text
from analytiq.ingestion.sources.systems.gitlab.wire import Entry, Issue, Project

BATCH = 100
"""Most files or pages of a batch."""
ISSUES, MERGE_REQUESTS, WIKI, FILES = "issues", "merge_requests", "wiki", "file"
PARTS = (ISSUES, MERGE_REQUESTS, WIKI, FILES)
MakeItems = Callable[[Project], Awaitable[ProjectItems]]


class Known(BaseModel):
    """Facts that a complete run knows of a project."""

    changed: dict[str, datetime] = Field(default_factory=dict[str, datetime])
    """The last change by part: of issues, and of merge requests."""
    head: str | None = None
    """The commit whose files are known."""


class Since(BaseModel):
    """The position of a complete run: its projects by id."""

    projects: dict[int, Known]


class Position(BaseModel):
    """The position within a run. What is in `projects` is the position of the run when it is complete."""

    is_delta: bool
    projects: dict[int, Known] = Field(default_factory=dict[int, Known])
    project: int = 0
    part: int = 0
    """The number of the part; behind the last one the project is done."""
    place: ListPosition = ListPosition()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts that a source takes from its projects."""

    parts: frozenset[str]
    with_confidential: bool
    branch: str | None
    accepts_path: Callable[[str], bool]
    accepts: Callable[[str], bool]


@dataclass(slots=True)
class Held:
    """Content of the items of the present batch, by external id."""

    issues: dict[str, Issue] = field(default_factory=dict[str, Issue])
    texts: dict[str, str] = field(default_factory=dict[str, str])

    def clear(self) -> None:
        """Forget all."""
        self.issues.clear()
        self.texts.clear()


class Listing:
    """One listing of the chosen projects."""

    def __init__(self, api: GitLabApi, choice: Choice, since: Since | None, held: Held) -> None:
        self._api = api
        self._choice = choice
        self._since = since
        self._held = held
        self._changes: dict[int, set[str]] = {}

    async def batches(
        self, projects: Mapping[int, Project], make: MakeItems, cursor: str | None
    ) -> AsyncGenerator[ListedBatch]:
        """Yield the batches behind a cursor; `make` returns what makes the items of a project."""
        position = _parsed(cursor) or await self._begin(projects)
        for project_id in sorted(projects):
            if project_id < position.project:
                continue
            if project_id != position.project:
                position = Position(is_delta=position.is_delta, projects=position.projects, project=project_id)
            try:
                items = await make(projects[project_id])
                async for following, batch in self._project(items, position):
                    position = following
                    yield batch
            except (NotFoundError, PermanentError, CredentialsRefusedError) as error:
                position = _given_up(position)
                problem = f"{projects[project_id].path_with_namespace}: {error.detail}"
                yield ListedBatch((), position.model_dump_json(), problems=(problem,), is_delta=position.is_delta)
        end = Since(projects=position.projects).model_dump_json()
        yield ListedBatch((), position.model_dump_json(), is_delta=position.is_delta, next_since=end)

    async def _begin(self, projects: Mapping[int, Project]) -> Position:
        """Return the first position: changes only, if GitLab tells all of them since the last run."""
        known = self._since.projects if self._since else {}
        is_delta = bool(known) and known.keys() <= projects.keys()
        states: dict[int, Known] = {}
        found = await mapped(self._head, projects.values())
        for (project_id, project), head in zip(projects.items(), found, strict=True):
            before = known.get(project_id, Known())
            states[project_id] = before.model_copy(update={"head": head})
            if is_delta and before.head is not None and before.head != head:
                is_delta = head is not None and await self._compared(project, before.head, head) is not None
        if not is_delta:
            states = {each: Known(head=state.head) for each, state in states.items()}
        return Position(is_delta=is_delta, projects=states)

    async def _head(self, project: Project) -> str | None:
        with_files = FILES in self._choice.parts and project.has(FILES)
        return await self._api.head(project, self._choice.branch) if with_files else None

    async def _compared(self, project: Project, base: str, head: str) -> set[str] | None:
        if project.id not in self._changes:
            found = await self._api.changed_paths(project, base, head)
            if found is None:
                return None
            self._changes[project.id] = found
        return self._changes[project.id]

    async def _project(self, items: ProjectItems, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the items of a project part by part, with the position behind them."""
        for number, part in enumerate(PARTS):
            if number < position.part:
                continue
            if number > position.part:
                position = position.model_copy(update={"part": number, "place": ListPosition(), "path": ""})
            if part not in self._choice.parts or not items.project.has(part):
                continue
            if part in (ISSUES, MERGE_REQUESTS):
                batches = self._issues(items, part, position)
            else:
                batches = self._pages(items, position) if part == WIKI else self._files(items, position)
            async for following, batch in batches:
                position = following
                yield following, batch

    async def _issues(
        self, items: ProjectItems, part: str, position: Position
    ) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the issues or merge requests that changed since a time, all if there is none."""
        project = items.project
        state = position.projects.get(project.id, Known())
        place = position.place
        if place.since is None and part in state.changed:
            place = ListPosition(since=second_before(state.changed[part]))
        for _ in range(MOST_PAGES * 10):
            issues, is_last = await self._api.issues(project, part, since=place.since, page=place.page)
            entries = [(issue.iid, issue.updated_at) for issue in issues]
            changed = latest(state.changed.get(part), entries)
            if changed is not None:
                state = state.model_copy(update={"changed": {**state.changed, part: changed}})
            new = [issue for issue in issues if issue.iid not in place.seen]
            place = place.behind(entries)
            position = position.model_copy(
                update={
                    "place": place,
                    "projects": {**position.projects, project.id: state},
                    "part": position.part + is_last,
                }
            )
            if is_last:
                position = position.model_copy(update={"place": ListPosition()})
            yield position, self._batch_of(items, part, new, position)
            if is_last:
                return
            if not issues:
                break
        raise PermanentError("GitLab lists pages without end. Run again later.")

    def _batch_of(self, items: ProjectItems, part: str, issues: Sequence[Issue], position: Position) -> ListedBatch:
        self._held.clear()
        listed: list[ListedItem] = []
        removed: list[str] = []
        for issue in issues:
            item = items.issue(part, issue)
            if issue.confidential and not self._choice.with_confidential:
                if position.is_delta:
                    removed.append(item.external_id)  # it may have been open to all before
            elif self._choice.accepts(item.name):
                listed.append(item)
                self._held.issues[item.external_id] = issue
        return ListedBatch(listed, position.model_dump_json(), removed=tuple(removed), is_delta=position.is_delta)

    async def _pages(self, items: ProjectItems, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the pages of the wiki, which GitLab gives at once."""
        pages = [page for page in await self._api.wiki(items.project) if page.slug > position.path]
        for start in range(0, max(len(pages), 1), BATCH):
            some = pages[start : start + BATCH]
            self._held.clear()
            listed: list[ListedItem] = []
            for page in some:
                item = items.wiki_page(page)
                if self._choice.accepts(item.name):
                    listed.append(item)
                    self._held.texts[item.external_id] = wiki_text(page)
            position = _moved(position, some[-1].slug if some else "", is_last=start + BATCH >= len(pages))
            yield position, ListedBatch(listed, position.model_dump_json(), is_delta=position.is_delta)

    async def _files(self, items: ProjectItems, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the files of the project, or those that changed, by path."""
        project = items.project
        head = position.projects.get(project.id, Known()).head
        before = self._since.projects.get(project.id) if self._since and position.is_delta else None
        if head is None and self._choice.branch:
            raise NotFoundError(f"There is no branch {self._choice.branch!r}.")
        files: dict[str, Entry] = {}
        removed: list[str] = []
        if head is not None and (before is None or before.head != head):
            files = await self._api.files(project, head)
            if before is not None and before.head is not None:
                changed = await self._compared(project, before.head, head)
                if changed is None:
                    raise PermanentError("GitLab does not tell the changes any more. Run again.")
                removed = [items.file_id(path) for path in sorted(changed - files.keys())]
                files = {path: entry for path, entry in files.items() if path in changed}
        paths = sorted(path for path in files if path > position.path and self._choice.accepts_path(path))
        for start in range(0, max(len(paths), 1), BATCH):
            some = paths[start : start + BATCH]
            listed = [item for path in some if self._choice.accepts((item := items.file(files[path])).name)]
            is_last = start + BATCH >= len(paths)
            position = _moved(position, some[-1] if some else "", is_last=is_last)
            gone = tuple(removed) if is_last else ()
            yield position, ListedBatch(listed, position.model_dump_json(), removed=gone, is_delta=position.is_delta)


def _moved(position: Position, path: str, *, is_last: bool) -> Position:
    """Return the position behind a path, or behind its part."""
    if is_last:
        return position.model_copy(update={"part": position.part + 1, "path": ""})
    return position.model_copy(update={"path": path})


def _given_up(position: Position) -> Position:
    """Return the position behind a project that cannot be read; the next run reads all its files."""
    state = position.projects.get(position.project, Known()).model_copy(update={"head": None})
    projects = {**position.projects, position.project: state}
    return position.model_copy(update={"part": len(PARTS), "projects": projects})


def _parsed(cursor: str | None) -> Position | None:
    try:
        return Position.model_validate_json(cursor) if cursor else None
    except ValidationError:
        return None
