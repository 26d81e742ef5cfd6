"""Confluence's APIs: version 2 of the cloud, and the REST API of servers and data centers."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from analytiq.errors import NotFoundError, PermanentError
from analytiq.ingestion.sources.base import ItemAccess
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError, Parameters, ServiceClient
from analytiq.ingestion.sources.systems.wikis.json_values import Object, inner, object_of, objects_of, text_of
from analytiq.ingestion.sources.systems.wikis.positions import MOST_PAGES, pages_behind

PAGE_SIZE = 100
OVERLAP = 10
"""Results of a page that the next one repeats: deletions in between move those that follow."""
SERVICE = "Confluence"
_READERS = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"
EXPANDED = f"version,space,ancestors,history,metadata.labels,container,{_READERS}"
_REFUSED = (CredentialsRefusedError, NotFoundError, PermanentError)


@dataclass(frozen=True, slots=True)
class Space:
    """A space."""

    id: str
    key: str
    name: str


@dataclass(frozen=True, slots=True)
class Results:
    """Some results of a listing; `position` is that of the next ones, None at the end."""

    contents: Sequence[Object]
    position: str | None


@dataclass(slots=True)
class Details:
    """Facts that one call tells about several contents, by their ids."""

    contents: dict[str, Object] = field(default_factory=dict[str, Object])


class ConfluenceApi:
    """The calls of both APIs that are alike."""

    def __init__(self, client: ServiceClient) -> None:
        self._client = client
        self._names: dict[str, str] = {}

    async def details(self, ids: Sequence[str]) -> dict[str, Object]:
        """Return contents with their places, labels and readers, by id; those that are known to the search."""
        found: dict[str, Object] = {}
        missing: list[str] = list(ids)
        while missing:
            # `id` of attachments has no prefix in queries.
            wanted = ",".join(each.removeprefix("att") for each in missing)
            parameters: Parameters = {"cql": f"id in ({wanted})", "expand": EXPANDED, "limit": PAGE_SIZE}
            answer = object_of(await self._client.get("/rest/api/content/search", parameters))
            found |= {text_of(each.get("id")): each for each in objects_of(answer.get("results"))}
            rest = [each for each in missing if each not in found]
            # Confluence may answer with fewer results than asked for.
            has_more = bool(text_of(inner(answer, "_links", "next"))) and len(rest) < len(missing)
            missing = rest if has_more else list[str]()
        return found

    async def details_if_told(self, ids: Sequence[str]) -> dict[str, Object] | None:
        """Return details; None if the account may not search."""
        try:
            return await self.details(ids)
        except (CredentialsRefusedError, NotFoundError):
            return None

    async def user_name(self, kind: str, user_id: str) -> str:
        """Return the name of a user; the id if it is not told."""
        if user_id not in self._names:
            parameter = {"account-id": "accountId", "userkey": "key"}.get(kind, "username")
            try:
                answer = await self._client.get("/rest/api/user", {parameter: user_id})
            except _REFUSED:
                answer = None
            self._names[user_id] = text_of(inner(answer, "displayName")) or user_id
        return self._names[user_id]

    async def readers_of_space(self, space: Space) -> ItemAccess | None:
        """Return who may read a space; None if it is not told."""
        del space
        return None

    def download(self, path: str, *, most_bytes: int) -> AsyncIterator[bytes]:
        """Return the content of a file; see `ServiceClient.download`."""
        return self._client.download(path, most_bytes=most_bytes)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _listed_v1(self, path: str, parameters: Parameters, position: str | None) -> Results:
        """Return results behind a position: a number and the id of the last one before."""
        number, _, last_id = (position or "0 ").partition(" ")
        start = max(0, int(number) - OVERLAP) if last_id else 0
        answer = object_of(await self._client.get(path, {**parameters, "limit": PAGE_SIZE, "start": start}))
        found = objects_of(answer.get("results"))
        ids = [text_of(each.get("id")) for each in found]
        if last_id and last_id not in ids:
            raise LostPlaceError(f"{SERVICE} moved its results. Run it again later.")
        end = start + len(found)
        new = found[ids.index(last_id) + 1 :] if last_id else found
        has_more = bool(text_of(inner(answer, "_links", "next"))) and bool(found)
        if has_more and not new:
            raise PermanentError(f"{SERVICE} repeats its results. Run it again later.")
        return Results(new, f"{end} {ids[-1]}" if has_more else None)


class LostPlaceError(PermanentError):
    """The place of a listing cannot be found again."""


class CloudApi(ConfluenceApi):
    """Confluence Cloud."""

    async def spaces(self, keys: Sequence[str]) -> list[Space]:
        """Return the spaces with these keys; without keys all."""
        parameters: dict[str, str | int] = {"limit": 250, "status": "current"}
        if keys:
            parameters["keys"] = ",".join(keys)
        return [
            Space(text_of(each.get("id")), text_of(each.get("key")), text_of(each.get("name")))
            async for page in self._all_v2("/api/v2/spaces", parameters)
            for each in page.contents
        ]

    async def contents(self, space: Space, kind: str, position: str | None) -> Results:
        """Return pages or blog posts (`kind`) of a space."""
        path = f"/api/v2/spaces/{space.id}/{'pages' if kind == 'page' else 'blogposts'}"
        return await self._listed_v2(path, {"limit": PAGE_SIZE, "status": "current", "sort": "id"}, position)

    async def attachments(self, space: Space, position: str | None) -> Results:
        """Return files of a space."""
        return await self._listed_v2("/rest/api/content/search", {**_files_of(space), "limit": PAGE_SIZE}, position)

    async def storage_of(self, content_id: str, kind: str) -> str:
        """Return the text of a page or blog post."""
        path = f"/api/v2/{'pages' if kind == 'page' else 'blogposts'}/{content_id}"
        answer = await self._client.get(path, {"body-format": "storage"})
        if inner(answer, "status") not in (None, "current"):
            raise NotFoundError("It is not current any more.")
        return text_of(inner(answer, "body", "storage", "value"))

    async def readers_of_space(self, space: Space) -> ItemAccess | None:
        """Return who may read a space: ids of people and groups."""
        people: list[str] = []
        groups: list[str] = []
        try:
            async for page in self._all_v2(f"/api/v2/spaces/{space.id}/permissions", {"limit": 250}):
                for each in page.contents:
                    if inner(each, "operation", "key") == "read" and inner(each, "operation", "targetType") == "space":
                        held = groups if inner(each, "principal", "type") == "group" else people
                        held.append(text_of(inner(each, "principal", "id")))
        except _REFUSED:
            return None
        return ItemAccess(people=tuple(people), groups=tuple(groups))

    async def _all_v2(self, path: str, parameters: Parameters) -> AsyncGenerator[Results]:
        position: str | None = None
        seen: set[str] = set()
        while True:
            page = await self._listed_v2(path, parameters, position)
            yield page
            position = page.position
            if position is None or len(seen) > MOST_PAGES:
                return
            if position in seen:
                raise PermanentError(f"{SERVICE} repeats a position of its list. Run it again later.")
            seen.add(position)

    async def _listed_v2(self, path: str, parameters: Parameters, position: str | None) -> Results:
        more = {"cursor": position} if position else {}
        answer = await self._client.get(path, {**parameters, **more})
        following = urlsplit(text_of(inner(answer, "_links", "next"))).query
        cursors = parse_qs(following).get("cursor", [])
        return Results(objects_of(inner(answer, "results")), cursors[0] if cursors else None)


class ServerApi(ConfluenceApi):
    """Confluence Server and Data Center."""

    async def attachments(self, space: Space, position: str | None) -> Results:
        """Return files of a space."""
        return await self._listed_v1("/rest/api/content/search", _files_of(space), position)

    async def spaces(self, keys: Sequence[str]) -> list[Space]:
        """Return the spaces with these keys; without keys all."""
        found: list[Space] = []
        start = 0
        for _ in range(MOST_PAGES):
            parameters: dict[str, str | int] = {"limit": PAGE_SIZE, "start": start, "status": "current"}
            answer = object_of(await self._client.get("/rest/api/space", parameters))
            results = objects_of(answer.get("results"))
            found += [Space(text_of(e.get("id")), text_of(e.get("key")), text_of(e.get("name"))) for e in results]
            start += len(results)
            if not results or not text_of(inner(answer, "_links", "next")):
                break
        return [each for each in found if not keys or each.key in keys]

    async def contents(self, space: Space, kind: str, position: str | None) -> Results:
        """Return pages or blog posts (`kind`) of a space, with their details."""
        parameters = {"spaceKey": space.key, "type": kind, "status": "current", "expand": EXPANDED}
        return await self._listed_v1("/rest/api/content", parameters, position)

    async def storage_of(self, content_id: str, kind: str) -> str:
        """Return the text of a page or blog post."""
        del kind
        answer = await self._client.get(f"/rest/api/content/{content_id}", {"expand": "body.storage"})
        return text_of(inner(answer, "body", "storage", "value"))


async def each_results(
    api: CloudApi | ServerApi, space: Space, kind: str, position: str | None
) -> AsyncGenerator[Results]:
    """Yield the results of a space behind a position; an expired one begins again.

    Raises:
        PermanentError: the listing repeats itself, or has no end.
    """

    def ask(behind: str | None) -> Awaitable[Results]:
        return api.attachments(space, behind) if kind == "attachment" else api.contents(space, kind, behind)

    async for page in pages_behind(position, ask, next_of=lambda page: page.position, service=SERVICE):
        yield page


def _files_of(space: Space) -> Parameters:
    return {"cql": f'type = attachment and space = "{space.key}" order by created', "expand": EXPANDED}
