"""GitLab's REST API, version 4: reading calls, and pages by Link headers."""

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.connections.decoding import bounded
from analytiq.ingestion.sources.connections.service_client import (
    CredentialsRefusedError,
    Parameters,
    ServiceClient,
)
from analytiq.ingestion.sources.connections.wire import WireModel, read_as, readable
from analytiq.ingestion.sources.systems.code_hosts.linked_pages import linked_pages
from analytiq.ingestion.sources.systems.gitlab.wire import (
    FILE_MODES,
    Comparison,
    Entry,
    File,
    Issue,
    Note,
    Person,
    Project,
    WikiPage,
)
from analytiq.settings import SourceSettings

SERVICE = "GitLab"
PAGE = 100
MOST_PAGES = 2000
"""Most pages of one list."""
MOST_NOTES = 2000
"""Most comments of an issue; the rest is left out."""
MOST_CHANGED = 300
"""Most files of a comparison that is taken for complete."""
MOST_PEOPLE = 1000
_SHA = re.compile(r"[0-9a-f]{40,64}")

Model = TypeVar("Model", bound=WireModel)


class _Commit(WireModel):
    id: str


class _Branch(WireModel):
    commit: _Commit


class GitLabApi:
    """Reading calls to GitLab."""

    def __init__(self, operator: SourceSettings, *, api_url: str, token: str | None) -> None:
        # Personal, project and group tokens are accepted like those of OAuth.
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._client = ServiceClient(operator, api_url, headers=headers, service=SERVICE)

    async def project(self, name: str) -> Project:
        """Return a project by its path or id."""
        return read_as(Project, await self._client.get(f"/projects/{_quoted(name)}"), service=SERVICE)

    async def projects(self, group: str) -> list[Project]:
        """Return the projects of a group and of its subgroups."""
        parameters: Parameters = {"include_subgroups": "true", "with_shared": "false", "order_by": "id", "sort": "asc"}
        return await self._all(Project, f"/groups/{_quoted(group)}/projects", parameters)

    async def issues(
        self, project: Project, part: str, *, since: datetime | None, page: int
    ) -> tuple[list[Issue], bool]:
        """Return a page of issues or merge requests in the order of their last change, and True if it is the last.

        `part` is `issues` or `merge_requests`.
        """
        parameters: dict[str, str | int] = {
            "scope": "all",
            "state": "all",
            "order_by": "updated_at",
            "sort": "asc",
            "per_page": PAGE,
            "page": page,
        }
        if since is not None:
            parameters["updated_after"] = since.isoformat().replace("+00:00", "Z")
        answer = await self._client.ask(f"/projects/{project.id}/{part}", parameters)
        issues = readable(Issue, answer.content)[0]
        return issues, answer.link("next") is None

    async def issue(self, project: Project, part: str, iid: int) -> Issue | None:
        """Return an issue or merge request; None if it does not exist."""
        try:
            content = await self._client.get(f"/projects/{project.id}/{part}/{iid}")
        except NotFoundError:
            return None
        return read_as(Issue, content, service=SERVICE)

    async def notes(self, project: Project, part: str, iid: int) -> list[Note]:
        """Return the comments of an issue or merge request, oldest first, without notices of the system."""
        parameters: Parameters = {"sort": "asc", "order_by": "created_at"}
        notes = await self._all(Note, f"/projects/{project.id}/{part}/{iid}/notes", parameters, most=MOST_NOTES)
        return [note for note in notes if not note.system]

    async def wiki(self, project: Project) -> list[WikiPage]:
        """Return the pages of a wiki with their content; none if there is no wiki."""
        try:
            answer = await self._client.get(f"/projects/{project.id}/wikis", {"with_content": 1})
        except (NotFoundError, CredentialsRefusedError):
            return []
        return sorted(readable(WikiPage, answer)[0], key=lambda page: page.slug)

    async def wiki_page(self, project: Project, slug: str) -> WikiPage | None:
        """Return a page of a wiki; None if it does not exist."""
        try:
            content = await self._client.get(f"/projects/{project.id}/wikis/{_quoted(slug)}")
        except (NotFoundError, CredentialsRefusedError):
            return None
        page = read_as(WikiPage, content, service=SERVICE)
        return page if page.slug == slug else None

    async def head(self, project: Project, branch: str | None) -> str | None:
        """Return the last commit of a branch; None if the repository is empty or has no such branch."""
        name = branch or project.default_branch
        if not name:
            return None
        try:
            content = await self._client.get(f"/projects/{project.id}/repository/branches/{_quoted(name)}")
        except NotFoundError:
            return None
        sha = read_as(_Branch, content, service=SERVICE).commit.id
        if _SHA.fullmatch(sha) is None:
            raise PermanentError("GitLab names a commit that is none. Check the address of the API.")
        return sha

    async def changed_paths(self, project: Project, base: str, head: str) -> set[str] | None:
        """Return the paths that differ between two commits; None if GitLab does not tell all of them."""
        parameters: Parameters = {"from": base, "to": head, "straight": "true"}
        try:
            content = await self._client.get(f"/projects/{project.id}/repository/compare", parameters)
        except (NotFoundError, PermanentError):
            return None
        compared = read_as(Comparison, content, service=SERVICE)
        if compared.compare_timeout or compared.overflow or len(compared.diffs) >= MOST_CHANGED:
            return None
        return {path for each in compared.diffs for path in (each.new_path, each.old_path) if path}

    async def files(self, project: Project, commit: str) -> dict[str, Entry]:
        """Return the files of a commit by path, without links and submodules."""
        parameters: Parameters = {"ref": commit, "recursive": "true", "pagination": "keyset"}
        entries = await self._all(Entry, f"/projects/{project.id}/repository/tree", parameters)
        return {entry.path: entry for entry in entries if entry.type == "blob" and entry.mode in FILE_MODES}

    async def file(self, project: Project, path: str, commit: str) -> Entry | None:
        """Return a file by its path; None if it does not exist."""
        address = f"/projects/{project.id}/repository/files/{_quoted(path)}"
        try:
            found = read_as(File, await self._client.get(address, {"ref": commit}), service=SERVICE)
        except NotFoundError:
            return None
        return Entry(id=found.blob_id, path=path) if found.file_path == path else None

    async def download(self, project: Project, sha: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Yield the content of a file by its hash."""
        path = f"/projects/{project.id}/repository/blobs/{_quoted(sha)}/raw"
        async with self._client.stream("GET", path, headers={"accept": "*/*"}) as response:
            async for block in bounded(response, most_bytes=most_bytes):
                yield block

    async def access_of(self, project: Project) -> ItemAccess | None:
        """Return who may read a project; None if the token may not ask."""
        if project.visibility in ("public", "internal"):
            return ItemAccess(is_public=True)
        try:
            people = await self._all(Person, f"/projects/{project.id}/members/all", {}, most=MOST_PEOPLE)
        except (CredentialsRefusedError, NotFoundError):
            return None
        return ItemAccess(
            people=tuple(sorted({person.username for person in people})), groups=(project.path_with_namespace,)
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _all(self, model: type[Model], path: str, parameters: Parameters, *, most: int = 200_000) -> list[Model]:
        """Return the objects of all pages, at most so many."""
        found: list[Model] = []
        first = await self._client.ask(path, {**parameters, "per_page": PAGE})
        async for answer in linked_pages(self._client, first, most_pages=MOST_PAGES, service=SERVICE):
            found += readable(model, answer.content)[0]
            if len(found) >= most:
                break
        return found[:most]


def _quoted(name: str) -> str:
    """Return a path as one part of an address, slashes included."""
    return quote(name, safe="")
