"""Confluence's APIs over real HTTP on the loopback: version 2 of the cloud, and REST of a server. Only a test tool.

    with ConfluenceServer() as confluence:
        space = confluence.add_space("DEV", "Development")
        page = confluence.add_page(space, "Home", "<p>Words.</p>")
        ...  # confluence.cloud_url, confluence.server_url

It refuses unknown parameters, sizes above the documented ones, wrong logins, and positions of another listing. Both
sites have the same contents; `script` holds failures (status and headers) for the next calls.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from tests.fakes.server_loop import AppServer

Json = dict[str, Any]
SEARCHED = re.compile(r"id in \(([0-9,]+)\)")
FILES = re.compile(r'type = attachment and space = "([^"]+)" order by created')


class ConfluenceServer:
    """Start it as a context manager; what it holds may change while it runs."""

    def __init__(self, *, port: int = 0) -> None:
        self.user, self.token = "ada@example.com", "api-token"
        self.spaces: dict[str, Json] = {}
        self.contents: dict[str, Json] = {}
        self.users = {"u1": "Ada Lovelace"}
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.most_results = 250
        self.not_searched: set[str] = set()
        self.refused_paths: tuple[str, ...] = ()
        self.before_answer: Callable[[str], None] = lambda _: None
        self.asked: list[str] = []
        self._count = 1000
        self._generation = 0
        app = web.Application(middlewares=[self._guard])
        cloud, server = "/wiki/api/v2", "/confluence/rest/api"
        app.router.add_get(f"{cloud}/spaces", self._v2_spaces)
        app.router.add_get(f"{cloud}/spaces/{{id}}/permissions", self._v2_permissions)
        app.router.add_get(f"{cloud}/spaces/{{id}}/{{kind:pages|blogposts}}", self._v2_contents)
        app.router.add_get(f"{cloud}/{{kind:pages|blogposts}}/{{id}}", self._v2_content)
        for base in ("/wiki/rest/api", server):
            app.router.add_get(f"{base}/content/search", self._search)
            app.router.add_get(f"{base}/user", self._user)
        for base in ("/wiki", "/confluence"):
            app.router.add_get(f"{base}/download/{{id}}", self._download)
        app.router.add_get(f"{server}/space", self._v1_spaces)
        app.router.add_get(f"{server}/content", self._v1_contents)
        app.router.add_get(f"{server}/content/{{id}}", self._v1_content)
        self._server = AppServer(app, port=port)

    def __enter__(self) -> "ConfluenceServer":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def cloud_url(self) -> str:
        return f"{self._server.url}/wiki"

    @property
    def server_url(self) -> str:
        return f"{self._server.url}/confluence"

    def add_space(self, key: str, name: str, *, readers: tuple[str, ...] = (), groups: tuple[str, ...] = ()) -> str:
        self._count += 1
        self.spaces[key] = {"id": str(self._count), "key": key, "name": name, "readers": readers, "groups": groups}
        return key

    def add_page(self, space: str, title: str, storage: str, *, parent: str | None = None, kind: str = "page") -> str:
        """Add a page, or a blog post."""
        return self._add(space, title, kind, storage=storage, parent=parent)

    def add_file(self, page_id: str, name: str, content: bytes) -> str:
        space = self.contents[page_id]["space"]
        return self._add(space, name, "attachment", storage="", parent=page_id, content=content)

    def edit(self, content_id: str, storage: str | None = None, **more: Any) -> None:
        """Edit a content, or rename it (`title`)."""
        held = self.contents[content_id]
        held |= {**more, **({"storage": storage} if storage is not None else {})}
        held["version"] += 1

    def restrict(self, content_id: str, people: tuple[str, ...] = (), groups: tuple[str, ...] = ()) -> None:
        self.contents[content_id]["restriction"] = (people, groups)

    def move(self, content_id: str, parent: str | None) -> None:
        self.contents[content_id]["parent"] = parent

    def trash(self, content_id: str) -> None:
        self.contents[content_id]["status"] = "trashed"

    def expire_positions(self) -> None:
        self._generation += 1

    def _add(self, space: str, title: str, kind: str, **more: Any) -> str:
        self._count += 1
        content_id = f"att{self._count}" if kind == "attachment" else str(self._count)
        held = {"id": content_id, "space": space, "title": title, "kind": kind, "version": 1, "status": "current"}
        self.contents[content_id] = {**held, "labels": (), "restriction": ((), ()), **more}
        return content_id

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(request.path_qs)
        self.before_answer(request.path)
        if self.script:
            status, headers = self.script.pop(0)
            return web.json_response({"message": "scripted"}, status=status, headers=headers)
        basic = base64.b64encode(f"{self.user}:{self.token}".encode()).decode()
        is_cloud = request.path.startswith("/wiki")
        if request.headers.get("authorization") != (f"Basic {basic}" if is_cloud else f"Bearer {self.token}"):
            return web.json_response({"message": "Unauthorized"}, status=401)
        if request.path.startswith(self.refused_paths or ("\0",)):
            return web.json_response({"message": "Forbidden"}, status=403)
        try:
            return await handler(request)
        except KeyError:
            return web.json_response({"message": "Not found"}, status=404)
        except ValueError as error:
            return web.json_response({"message": str(error)}, status=400)

    def _current(self, space: str, kind: str) -> list[Json]:
        held = [each for each in self.contents.values() if each["space"] == space and each["kind"] == kind]
        return [each for each in held if each["status"] == "current"]

    def _page_v2(self, request: web.Request, things: list[Json]) -> web.Response:
        size = int(request.query.get("limit", "25"))
        if not 1 <= size <= 250:
            raise ValueError("limit")
        start = 0
        if "cursor" in request.query:
            generation, last = request.query["cursor"].split("-")
            if int(generation) != self._generation:
                return web.json_response({"message": "Invalid cursor"}, status=410)
            start = sum(_number(each["id"]) <= _number(last) for each in things)
        size = min(size, self.most_results)
        shown = things[start : start + size]
        links = {"base": self.cloud_url}
        if start + size < len(things):
            query = f"limit={size}&cursor={self._generation}-{shown[-1]['id']}"
            links["next"] = f"{request.path}?{query}"
        return web.json_response({"results": shown, "_links": links})

    async def _v2_spaces(self, request: web.Request) -> web.Response:
        _require(request, {"keys", "limit", "cursor", "status"})
        keys = request.query["keys"].split(",") if "keys" in request.query else list(self.spaces)
        found = [each for each in self.spaces.values() if each["key"] in keys]
        return self._page_v2(request, [{name: each[name] for name in ("id", "key", "name")} for each in found])

    async def _v2_permissions(self, request: web.Request) -> web.Response:
        _require(request, {"limit", "cursor"})
        (space,) = [each for each in self.spaces.values() if each["id"] == request.match_info["id"]]
        found = [("user", each) for each in space["readers"]] + [("group", each) for each in space["groups"]]
        read = {"key": "read", "targetType": "space"}
        other = {"key": "create", "targetType": "page"}
        return self._page_v2(
            request,
            [
                {"id": str(number), "principal": {"type": kind, "id": name}, "operation": operation}
                for number, (kind, name) in enumerate(found)
                for operation in (read, other)
            ],
        )

    async def _v2_contents(self, request: web.Request) -> web.Response:
        _require(request, {"limit", "cursor", "status", "sort", "body-format", "title", "depth"})
        space = {each["id"]: each["key"] for each in self.spaces.values()}[request.match_info["id"]]
        kind = "page" if request.match_info["kind"] == "pages" else "blogpost"
        return self._page_v2(request, [self._v2(each) for each in self._current(space, kind)])

    async def _v2_content(self, request: web.Request) -> web.Response:
        _require(request, {"body-format"})
        held = self.contents[request.match_info["id"]]
        if (held["kind"] == "page") != (request.match_info["kind"] == "pages"):
            raise KeyError(held["id"])
        body = {"storage": {"representation": "storage", "value": held["storage"]}}
        return web.json_response({**self._v2(held), "body": body})

    def _v2(self, held: Json) -> Json:
        version = {"number": held["version"], "createdAt": "2026-01-01T00:00:00.000Z"}
        shown = {"id": held["id"], "title": held["title"], "status": held["status"], "version": version}
        return {**shown, "spaceId": self.spaces[held["space"]]["id"], "parentId": held["parent"]}

    def _page_v1(self, request: web.Request, things: list[Json]) -> web.Response:
        size, start = int(request.query.get("limit", "25")), int(request.query.get("start", "0"))
        if not 1 <= size <= 200 or start < 0:
            raise ValueError("limit")
        shown = things[start : start + size]
        links = {"base": self.server_url}
        if start + size < len(things):
            links["next"] = f"/rest/api/content?limit={size}&start={start + size}"
        return web.json_response({"results": shown, "start": start, "limit": size, "size": len(shown), "_links": links})

    async def _v1_spaces(self, request: web.Request) -> web.Response:
        _require(request, {"limit", "start", "status", "spaceKey", "type"})
        return self._page_v1(
            request,
            [{"id": int(each["id"]), "key": each["key"], "name": each["name"]} for each in self.spaces.values()],
        )

    async def _v1_contents(self, request: web.Request) -> web.Response:
        _require(request, {"limit", "start", "status", "spaceKey", "type", "expand"})
        found = self._current(self.spaces[request.query["spaceKey"]]["key"], request.query["type"])
        return self._page_v1(request, [self._v1(each) for each in found])

    async def _v1_content(self, request: web.Request) -> web.Response:
        _require(request, {"expand"})
        held = self.contents[request.match_info["id"]]
        if held["status"] != "current":
            raise KeyError(held["id"])
        return web.json_response({**self._v1(held), "body": {"storage": {"value": held["storage"]}}})

    async def _search(self, request: web.Request) -> web.Response:
        is_cloud = request.path.startswith("/wiki")
        _require(request, {"cql", "cqlcontext", "expand", "limit", "cursor" if is_cloud else "start"})
        cql = request.query["cql"]
        if found := SEARCHED.fullmatch(cql):
            ids = found[1].split(",")
            held = [each for each in self.contents.values() if each["id"].removeprefix("att") in ids]
            held = [each for each in held if each["status"] == "current" and each["id"] not in self.not_searched]
        elif found := FILES.fullmatch(cql):
            held = self._current(found[1], "attachment")
        else:
            raise ValueError("Could not parse cql")
        if is_cloud:
            return self._page_v2(request, [self._v1(each) for each in held])
        return self._page_v1(request, [self._v1(each) for each in held])

    def _v1(self, held: Json) -> Json:
        above: list[Json] = []
        at = held["parent"] if held["kind"] == "page" else None
        while at is not None:
            above.insert(0, {"id": at, "type": "page", "title": self.contents[at]["title"]})
            at = self.contents[at]["parent"]
        people, groups = held["restriction"]
        users = {"results": [{"type": "known", "accountId": each} for each in people], "size": len(people)}
        named = {"results": [{"type": "group", "name": each} for each in groups], "size": len(groups)}
        space = self.spaces[held["space"]]
        shown = {
            "id": held["id"],
            "type": held["kind"],
            "status": held["status"],
            "title": held["title"],
            "version": {"number": held["version"], "when": "2026-01-01T00:00:00.000Z"},
            "space": {"id": int(space["id"]), "key": space["key"], "name": space["name"]},
            "ancestors": above,
            "history": {"createdDate": "2026-01-01T00:00:00.000Z"},
            "metadata": {"labels": {"results": [{"prefix": "global", "name": each} for each in held["labels"]]}},
            "restrictions": {"read": {"operation": "read", "restrictions": {"user": users, "group": named}}},
        }
        if held["kind"] == "attachment":
            holder = self.contents[held["parent"]]
            shown["container"] = {"id": holder["id"], "type": "page", "title": holder["title"]}
            shown["extensions"] = {"mediaType": "text/plain", "fileSize": len(held["content"])}
            shown["_links"] = {"download": f"/download/{held['id']}"}
        return shown

    async def _user(self, request: web.Request) -> web.Response:
        _require(request, {"accountId", "key", "username"})
        (user_id,) = request.query.values()
        return web.json_response({"type": "known", "displayName": self.users[user_id]})

    async def _download(self, request: web.Request) -> web.Response:
        return web.Response(body=self.contents[request.match_info["id"]]["content"])


def _number(content_id: str) -> int:
    return int(content_id.removeprefix("att"))


def _require(request: web.Request, known: set[str]) -> None:
    if set(request.query) - known:
        raise ValueError("unknown parameters")
