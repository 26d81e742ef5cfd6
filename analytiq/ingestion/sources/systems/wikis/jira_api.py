"""Jira's APIs: version 3 of the cloud, and version 2 of servers and data centers."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ItemAccess, ItemRefusedError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError, ServiceClient
from analytiq.ingestion.sources.systems.wikis.adf import adf_html
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, object_of, objects_of, text_of
from analytiq.ingestion.sources.systems.wikis.positions import pages_behind

PAGE_SIZE = 100
OVERLAP = 10
"""Results of a server that the next call repeats: issues that are deleted in between move those that follow."""
MOST_COMMENTS = 2000
MOST_CHARACTERS = 16_000_000
"""Most characters of the comments of an issue."""
MOST_READERS = 1000
SERVICE = "Jira"
LISTED = (
    *("summary", "status", "issuetype", "priority", "assignee", "reporter", "labels", "components", "fixVersions"),
    *("resolution", "created", "updated", "duedate", "resolutiondate", "project", "parent", "security"),
)
_REFUSED = (CredentialsRefusedError, NotFoundError, PermanentError)


@dataclass(frozen=True, slots=True)
class Found:
    """Some issues of a search; `position` is that of the next ones, None at the end."""

    issues: Sequence[Object]
    position: str | None


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its text as HTML."""

    author: str
    created: str
    html: str


class JiraApi:
    """The calls to one Jira."""

    def __init__(self, client: ServiceClient, *, is_cloud: bool, with_files: bool) -> None:
        self.client = client
        self._is_cloud = is_cloud
        self._base = "/rest/api/3" if is_cloud else "/rest/api/2"
        self._fields = [*LISTED, *(("attachment",) if with_files else ())]

    async def check(self) -> None:
        """Check the login."""
        await self.client.get(f"{self._base}/myself")

    async def search(self, jql: str, position: str | None) -> Found:
        """Return issues behind a position."""
        body: dict[str, JsonValue] = {"jql": jql, "fields": list(self._fields), "maxResults": PAGE_SIZE}
        if not self._is_cloud:
            return await self._search_of_server(body, position)
        if position:
            body["nextPageToken"] = position
        answer = object_of(await self.client.call("POST", f"{self._base}/search/jql", body=body))
        token = "" if answer.get("isLast") is True else text_of(answer.get("nextPageToken"))
        return Found(objects_of(answer.get("issues")), token or None)

    async def description(self, issue_id: str) -> str:
        """Return the description of an issue as HTML."""
        parameters = {"fields": "description"}
        if not self._is_cloud:
            parameters["expand"] = "renderedFields"
        answer = await self.client.get(f"{self._base}/issue/{issue_id}", parameters)
        if self._is_cloud:
            return adf_html(inner(answer, "fields", "description"))
        return text_of(inner(answer, "renderedFields", "description"))

    async def comments(self, issue_id: str) -> list[Comment]:
        """Return the comments that all readers of an issue may read, the oldest first."""
        found: list[Comment] = []
        start = 0
        while True:
            parameters: dict[str, str | int] = {"startAt": start, "maxResults": PAGE_SIZE, "orderBy": "created"}
            if not self._is_cloud:
                parameters["expand"] = "renderedBody"
            answer = object_of(await self.client.get(f"{self._base}/issue/{issue_id}/comment", parameters))
            results = objects_of(answer.get("comments"))
            found += [self._comment(each) for each in results if not object_of(each.get("visibility"))]
            start += len(results)
            if sum(len(each.html) for each in found) > MOST_CHARACTERS:
                raise ItemRefusedError(f"Its comments have more than {MOST_CHARACTERS:,} characters.")
            total = answer.get("total")
            if not results or not isinstance(total, int) or start >= total:
                return found
            if start >= MOST_COMMENTS:
                raise ItemRefusedError(f"It has more than {MOST_COMMENTS:,} comments.")

    async def readers(self, **where: str) -> ItemAccess | None:
        """Return the people who may read a project (`projectKey`) or an issue (`issueKey`); None if it is not told."""
        people: list[str] = []
        permission = "BROWSE_PROJECTS" if self._is_cloud else "BROWSE"
        try:
            # Jira filters a range of the first 1,000 users: a page may have fewer of them than asked for.
            for start in range(0, MOST_READERS, PAGE_SIZE):
                parameters = {"permissions": permission, "startAt": start, "maxResults": PAGE_SIZE, **where}
                users = objects_of(await self.client.get(f"{self._base}/user/permission/search", parameters))
                people += [_person(each) for each in users]
                if not users:
                    break
        except _REFUSED:
            return None
        return ItemAccess(people=tuple(filter(None, people)))

    def file(self, attachment_id: str, name: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Return the content of an attachment."""
        path = f"/secure/attachment/{attachment_id}/{quote(name, safe='')}"
        if self._is_cloud:
            path = f"{self._base}/attachment/content/{attachment_id}"
        return self.client.download(path, most_bytes=most_bytes)

    async def _search_of_server(self, body: dict[str, JsonValue], position: str | None) -> Found:
        number, _, last_id = (position or "0 ").partition(" ")
        start = max(0, int(number) - OVERLAP) if last_id else 0
        answer = object_of(await self.client.call("POST", f"{self._base}/search", body={**body, "startAt": start}))
        issues, total = objects_of(answer.get("issues")), answer.get("total")
        ids = [text_of(each.get("id")) for each in issues]
        if last_id and last_id not in ids:
            raise PermanentError(f"{SERVICE} moved its results. Run it again later.")
        new = issues[ids.index(last_id) + 1 :] if last_id else issues
        end = start + len(issues)
        has_more = bool(issues) and isinstance(total, int) and end < total
        if has_more and not new:
            raise PermanentError(f"{SERVICE} repeats its results. Run it again later.")
        return Found(new, f"{end} {ids[-1]}" if has_more else None)

    def _comment(self, comment: Object) -> Comment:
        body = adf_html(comment.get("body")) if self._is_cloud else text_of(comment.get("renderedBody"))
        author = text_of(inner(comment, "author", "displayName")) or "Unknown"
        return Comment(author, text_of(comment.get("created")), body)


async def each_found(api: JiraApi, jql: str, position: str | None) -> AsyncGenerator[Found]:
    """Yield the issues of a search behind a position; an expired one begins again.

    Raises:
        PermanentError: the query is refused, the search repeats itself, or has no end.
    """

    def ask(behind: str | None) -> Awaitable[Found]:
        return api.search(jql, behind)

    async for page in pages_behind(position, ask, next_of=lambda page: page.position, service=SERVICE):
        yield page


def _person(user: Object) -> str:
    return next((text for each in ("emailAddress", "accountId", "name") if (text := text_of(user.get(each)))), "")
