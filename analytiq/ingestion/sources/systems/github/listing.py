"""Listings of GitHub: repository by repository, first issues by their last change, then files by path."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import BaseModel, Field, ValidationError

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ListedBatch, ListedItem
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.connections.side_by_side import mapped
from analytiq.ingestion.sources.systems.code_hosts.changed_list import ListPosition, latest, second_before
from analytiq.ingestion.sources.systems.github.api import MOST_PAGES, PAGE, GitHubApi
from analytiq.ingestion.sources.systems.github.items import RepositoryItems
from analytiq.ingestion.sources.systems.github.wire import Comparison, Entry, Issue, Repository

BATCH = 100
"""Most files of a batch."""
MakeItems = Callable[[Repository], Awaitable[RepositoryItems]]


class Known(BaseModel):
    """Facts that a complete run knows of a repository."""

    changed: datetime | None = None
    """The last change of an issue."""
    etag: str | None = None
    """Of the list of issues since then."""
    head: str | None = None
    """The commit whose files are known."""


class Since(BaseModel):
    """The position of a complete run: its repositories by id."""

    repositories: dict[int, Known]


class Position(BaseModel):
    """The position within a run. What is in `repositories` is the position of the run when it is complete."""

    is_delta: bool
    repositories: dict[int, Known] = Field(default_factory=dict[int, Known])
    repository: int = 0
    place: ListPosition = ListPosition()
    are_issues_done: bool = False
    path: str = ""
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The parts that a source takes from its repositories."""

    issues: bool
    pull_requests: bool
    files: bool
    branch: str | None
    accepts_path: Callable[[str], bool]
    accepts: Callable[[str], bool]

    def takes(self, issue: Issue) -> bool:
        """Return True if an issue or pull request is taken."""
        return self.pull_requests if issue.is_pull_request else self.issues


@dataclass(slots=True)
class Listing:
    """One listing of the chosen repositories."""

    api: GitHubApi
    choice: Choice
    make: MakeItems
    since: Since | None
    held: dict[str, Issue]
    """Issues of the present batch by external id."""
    _changes: dict[int, Comparison] = field(default_factory=dict[int, Comparison])

    async def batches(self, repositories: Mapping[int, Repository], cursor: str | None) -> AsyncGenerator[ListedBatch]:
        """Yield the batches behind a cursor."""
        position = _parsed(cursor) or await self._begin(repositories)
        for repository_id in sorted(repositories):
            if repository_id < position.repository or (repository_id == position.repository and position.is_done):
                continue
            if repository_id != position.repository:
                position = _entered(position, repository_id)
            try:
                items = await self.make(repositories[repository_id])
                if not position.are_issues_done:
                    async for following, batch in self._issues(items, position):
                        position = following
                        yield batch
                async for following, batch in self._files(items, position):
                    position = following
                    yield batch
            except (NotFoundError, PermanentError, CredentialsRefusedError) as error:
                position = _given_up(position)
                problem = f"{repositories[repository_id].full_name}: {error.detail}"
                yield ListedBatch((), position.model_dump_json(), problems=(problem,), is_delta=position.is_delta)
        end = Since(repositories=position.repositories)
        yield ListedBatch((), position.model_dump_json(), is_delta=position.is_delta, next_since=end.model_dump_json())

    async def _begin(self, repositories: Mapping[int, Repository]) -> Position:
        """Return the first position: changes only, if GitHub tells all of them since the last run."""
        known = self.since.repositories if self.since else {}
        is_delta = bool(known) and known.keys() <= repositories.keys()
        heads: dict[int, Known] = {}
        found = await mapped(self._head, repositories.values())
        for (repository_id, repository), head in zip(repositories.items(), found, strict=True):
            before = known.get(repository_id, Known())
            heads[repository_id] = before.model_copy(update={"head": head})
            if is_delta and before.head is not None and before.head != head:
                is_delta = head is not None and await self._compared(repository, before.head, head) is not None
        if not is_delta:
            heads = {each: Known(head=state.head) for each, state in heads.items()}
        return Position(is_delta=is_delta, repositories=heads)

    async def _head(self, repository: Repository) -> str | None:
        return await self.api.head(repository, self.choice.branch) if self.choice.files else None

    async def _compared(self, repository: Repository, base: str, head: str) -> Comparison | None:
        if repository.id not in self._changes:
            found = await self.api.changes(repository, base, head)
            if found is None:
                return None
            self._changes[repository.id] = found
        return self._changes[repository.id]

    async def _issues(self, items: RepositoryItems, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the issues that changed since a time, all if there is none, with the position behind them."""
        repository = items.repository
        if not (self.choice.issues or self.choice.pull_requests):
            return
        state = position.repositories.get(repository.id, Known())
        place = position.place
        if place.since is None and state.changed is not None:
            place = ListPosition(since=second_before(state.changed))
        asked, etag = place.since, state.etag if place.is_first else None
        for _ in range(MOST_PAGES * 10):
            answer, issues = await self.api.issues(repository, since=place.since, page=place.page, etag=etag)
            if answer.is_unchanged:
                return
            entries = [(issue.number, issue.updated_at) for issue in issues]
            is_last = len(issues) < PAGE and answer.link("next") is None
            state = state.model_copy(update={"changed": latest(state.changed, entries)})
            # The next run asks for the same list only if nothing in it is newer than what was known.
            is_same = (
                place.is_first and is_last and asked is not None and second_before(state.changed or asked) == asked
            )
            state = state.model_copy(update={"etag": answer.headers.get("etag") if is_same else None})
            new = [issue for issue in issues if issue.number not in place.seen]
            place, etag = place.behind(entries), None
            position = position.model_copy(
                update={
                    "place": place,
                    "repositories": {**position.repositories, repository.id: state},
                    "are_issues_done": is_last,
                }
            )
            yield position, self._batch_of(items, new, position)
            if is_last:
                return
            if not issues:
                break
        raise PermanentError("GitHub lists pages without end. Run again later.")

    def _batch_of(self, items: RepositoryItems, issues: Sequence[Issue], position: Position) -> ListedBatch:
        self.held.clear()
        listed: list[ListedItem] = []
        for issue in issues:
            item = items.issue(issue)
            if self.choice.takes(issue) and self.choice.accepts(item.name):
                listed.append(item)
                self.held[item.external_id] = issue
        return ListedBatch(listed, position.model_dump_json(), is_delta=position.is_delta)

    async def _files(self, items: RepositoryItems, position: Position) -> AsyncGenerator[tuple[Position, ListedBatch]]:
        """Yield the files of the repository, or those that changed, by path."""
        repository = items.repository
        head = position.repositories.get(repository.id, Known()).head
        before = self.since.repositories.get(repository.id) if self.since and position.is_delta else None
        files: dict[str, Entry] = {}
        removed: list[str] = []
        problems: list[str] = []
        if self.choice.files and head is None and self.choice.branch:
            problems.append(f"{repository.full_name}: there is no branch {self.choice.branch!r}.")
        if head is not None and (before is None or before.head != head):
            files = await self.api.files(repository, head)
            if before is not None and before.head is not None:
                compared = await self._compared(repository, before.head, head)
                if compared is None:
                    raise PermanentError("GitHub does not tell the changes any more. Run again.")
                removed = _removed_paths(compared, files)
                changed = {file.filename for file in compared.files}
                files = {path: entry for path, entry in files.items() if path in changed}
        chosen = [
            item
            for path, entry in sorted(files.items())
            if path > position.path
            and self.choice.accepts_path(path)
            and self.choice.accepts((item := items.file(entry)).name)
        ]
        for start in range(0, max(len(chosen), 1), BATCH):
            some = chosen[start : start + BATCH]
            is_last = start + BATCH >= len(chosen)
            path = some[-1].external_id.partition(":file:")[2] if some else position.path
            position = position.model_copy(update={"path": path, "is_done": is_last, "are_issues_done": True})
            yield (
                position,
                ListedBatch(
                    some,
                    position.model_dump_json(),
                    problems=tuple(problems) if is_last else (),
                    removed=tuple(items.file_id(each) for each in removed) if is_last else (),
                    is_delta=position.is_delta,
                ),
            )


def _entered(position: Position, repository_id: int) -> Position:
    """Return the beginning of a repository."""
    return Position(is_delta=position.is_delta, repositories=position.repositories, repository=repository_id)


def _given_up(position: Position) -> Position:
    """Return the position behind a repository that cannot be read; the next run reads all its files."""
    state = position.repositories.get(position.repository, Known())
    states = {**position.repositories, position.repository: state.model_copy(update={"head": None, "etag": None})}
    return position.model_copy(update={"is_done": True, "repositories": states})


def _removed_paths(compared: Comparison, files: Mapping[str, Entry]) -> list[str]:
    named = {path for file in compared.files for path in (file.filename, file.previous_filename) if path}
    return sorted(path for path in named if path not in files)


def _parsed(cursor: str | None) -> Position | None:
    try:
        return Position.model_validate_json(cursor) if cursor else None
    except ValidationError:
        return None
