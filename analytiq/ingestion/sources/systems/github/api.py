"""GitHub's REST API: reading calls, pages by Link headers, ETags."""

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.connections.decoding import bounded
from analytiq.ingestion.sources.connections.service_client import (
    Answer,
    CredentialsRefusedError,
    Parameters,
    PositionExpiredError,
    ServiceClient,
)
from analytiq.ingestion.sources.connections.wire import WireModel, read_as, readable
from analytiq.ingestion.sources.systems.code_hosts.linked_pages import linked_pages
from analytiq.ingestion.sources.systems.github.wire import (
    FILE_MODES,
    Comment,
    Comparison,
    Content,
    Entry,
    Issue,
    Repository,
    Tree,
    told,
)
from analytiq.settings import SourceSettings

SERVICE = "GitHub"
PAGE = 100
MOST_PAGES = 1000
"""Most pages of one list."""
MOST_COMMENTS = 2000
"""Most comments of an issue; the rest is left out."""
MOST_FILES = 200_000
"""Most files of a repository."""
MOST_CHANGED = 300
"""Most files that a comparison names; with as many it may be incomplete."""
MOST_PEOPLE = 1000
DEEPEST = 64
_SHA = re.compile(r"[0-9a-f]{40,64}")

Model = TypeVar("Model", bound=WireModel)


class _Login(WireModel):
    login: str


class _Team(WireModel):
    slug: str


class _Commit(WireModel):
    sha: str


class GitHubApi:
    """Reading calls to GitHub."""

    def __init__(self, operator: SourceSettings, *, api_url: str, token: str | None) -> None:
        headers = {"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._client = ServiceClient(operator, api_url, headers=headers, service=SERVICE)

    async def repository(self, full_name: str) -> Repository:
        """Return a repository by owner and name; a renamed one is found by its old name too."""
        return read_as(Repository, await self._client.get(f"/repos/{quote(full_name)}"), service=SERVICE)

    async def repositories(self, organization: str) -> list[Repository]:
        """Return the repositories of an organization, or of a person, that the token sees."""
        try:
            return await self._all(Repository, f"/orgs/{quote(organization, safe='')}/repos", {"type": "all"})
        except NotFoundError:
            return await self._all(Repository, f"/users/{quote(organization, safe='')}/repos", {"type": "all"})

    async def issues(
        self, repository: Repository, *, since: datetime | None, page: int, etag: str | None
    ) -> tuple[Answer, list[Issue]]:
        """Return a page of issues and pull requests, in the order of their last change."""
        parameters: dict[str, str | int] = {"state": "all", "sort": "updated", "direction": "asc", "per_page": PAGE}
        if since is not None:
            parameters["since"] = told(since)
        if page > 1:
            parameters["page"] = page
        answer = await self._client.ask(f"/repos/{quote(repository.full_name)}/issues", parameters, etag=etag)
        return answer, readable(Issue, answer.content)[0]

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        """Return an issue or pull request; None if it was deleted, or moved to another repository."""
        try:
            content = await self._client.get(f"/repos/{quote(repository.full_name)}/issues/{number}")
        except (NotFoundError, PositionExpiredError):
            return None
        issue = read_as(Issue, content, service=SERVICE)
        is_here = issue.html_url.lower().startswith(f"{repository.html_url.lower()}/")
        return issue if is_here and issue.number == number else None

    async def comments(self, repository: Repository, issue: Issue) -> list[Comment]:
        """Return the comments of an issue, with the reviews of a pull request, by time."""
        name = quote(repository.full_name)
        found: list[Comment] = []
        if issue.comments:
            found += await self._all(Comment, f"/repos/{name}/issues/{issue.number}/comments", {}, most=MOST_COMMENTS)
        if issue.is_pull_request:
            found += await self._all(Comment, f"/repos/{name}/pulls/{issue.number}/reviews", {}, most=MOST_COMMENTS)
            found += await self._all(Comment, f"/repos/{name}/pulls/{issue.number}/comments", {}, most=MOST_COMMENTS)
        return sorted(found, key=lambda comment: comment.time)

    async def head(self, repository: Repository, branch: str | None) -> str | None:
        """Return the last commit of a branch; None if the repository is empty or has no such branch."""
        path = f"/repos/{quote(repository.full_name)}/commits/{quote(branch or repository.default_branch, safe='')}"
        try:
            sha = read_as(_Commit, await self._client.get(path), service=SERVICE).sha
        except (NotFoundError, PermanentError):
            return None  # 409: the repository is empty; 422: no such branch
        if _SHA.fullmatch(sha) is None:
            raise PermanentError("GitHub names a commit that is none. Check the address of the API.")
        return sha

    async def changes(self, repository: Repository, base: str, head: str) -> Comparison | None:
        """Return what changed between two commits; None if GitHub does not tell all of it."""
        path = f"/repos/{quote(repository.full_name)}/compare/{base}...{head}"
        try:
            compared = read_as(Comparison, await self._client.get(path, {"per_page": 1}), service=SERVICE)
        except (NotFoundError, PermanentError):
            return None
        # A comparison of branches that went apart begins at their fork, and not at the base.
        is_complete = compared.status in ("ahead", "identical") and len(compared.files) < MOST_CHANGED
        return compared if is_complete else None

    async def files(self, repository: Repository, commit: str) -> dict[str, Entry]:
        """Return the files of a commit by path, without links and submodules.

        Raises:
            PermanentError: they are too many.
        """
        found: dict[str, Entry] = {}
        await self._read_tree(repository, commit, "", found, DEEPEST)
        return found

    async def file(self, repository: Repository, path: str, commit: str) -> Entry | None:
        """Return a file by its path; None if it does not exist."""
        address = f"/repos/{quote(repository.full_name)}/contents/{quote(path)}"
        try:
            content = await self._client.get(address, {"ref": commit})
        except (NotFoundError, PermanentError):
            return None
        if not isinstance(content, dict):
            return None
        found = read_as(Content, content, service=SERVICE)
        return Entry(path=path, sha=found.sha, size=found.size) if found.type == "file" and found.path == path else None

    async def download(self, repository: Repository, sha: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file by the hash of its content."""
        path = f"/repos/{quote(repository.full_name)}/git/blobs/{quote(sha, safe='')}"
        headers = {"accept": "application/vnd.github.raw+json"}
        async with self._client.stream("GET", path, headers=headers) as response:
            async for block in bounded(response, most_bytes=most_bytes):
                yield block

    async def access_of(self, repository: Repository) -> ItemAccess | None:
        """Return who may read a repository; None if the token may not ask."""
        if repository.is_public:
            return ItemAccess(is_public=True)
        name = quote(repository.full_name)
        try:
            people = await self._all(_Login, f"/repos/{name}/collaborators", {}, most=MOST_PEOPLE)
            teams = await self._all(_Team, f"/repos/{name}/teams", {}, most=MOST_PEOPLE)
        except (CredentialsRefusedError, NotFoundError):
            return None
        owner = repository.full_name.partition("/")[0]
        everybody = [owner] if repository.visibility == "internal" else []
        return ItemAccess(
            people=tuple(sorted(person.login for person in people)),
            groups=tuple(everybody + sorted(f"{owner}/{team.slug}" for team in teams)),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _read_tree(
        self, repository: Repository, sha: str, folder: str, found: dict[str, Entry], depth: int
    ) -> None:
        """Read the files below a folder: at once, or folder by folder if they are too many for one answer."""
        address = f"/repos/{quote(repository.full_name)}/git/trees/{quote(sha, safe='')}"
        tree = read_as(Tree, await self._client.get(address, {"recursive": 1}), service=SERVICE)
        is_whole = not tree.truncated
        if not is_whole:
            tree = read_as(Tree, await self._client.get(address), service=SERVICE)
            if tree.truncated or depth == 0:
                raise PermanentError(f"{repository.full_name}: the folder {folder or '/'} has too many files.")
        for entry in readable(Entry, tree.tree)[0]:
            path = f"{folder}{entry.path}"
            if entry.type == "blob" and entry.mode in FILE_MODES:
                found[path] = entry.model_copy(update={"path": path})
            elif entry.type == "tree" and not is_whole:
                await self._read_tree(repository, entry.sha, f"{path}/", found, depth - 1)
            if len(found) > MOST_FILES:
                raise PermanentError(f"{repository.full_name} has more than {MOST_FILES:,} files.")

    async def _all(self, model: type[Model], path: str, parameters: Parameters, *, most: int = 100_000) -> list[Model]:
        """Return the objects of all pages, at most so many."""
        found: list[Model] = []
        first = await self._client.ask(path, {**parameters, "per_page": PAGE})
        async for answer in linked_pages(self._client, first, most_pages=MOST_PAGES, service=SERVICE):
            found += readable(model, answer.content)[0]
            if len(found) >= most:
                break
        return found[:most]
