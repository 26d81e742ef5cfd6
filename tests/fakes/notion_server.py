"""Notion's API over real HTTP on the loopback, as it is documented. Only a test tool.

    with NotionServer() as notion:
        page = notion.add_page("Handbook", paragraph("Words."))
        ...  # notion.url, notion.token

It refuses other versions, unknown parameters, sizes above 100 and unknown positions. Its clock stands until `tick`;
`script` holds failures (status and headers) for the next calls.
"""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from uuid import UUID

from aiohttp import web

from tests.fakes.server_loop import AppServer

VERSION = "2025-09-03"
Json = dict[str, Any]


def rich(text: str, **more: Any) -> list[Json]:
    return [{"type": "text", "text": {"content": text}, "annotations": {}, "plain_text": text, "href": None, **more}]


def block(kind: str, text: str | None = None, *children: Json, **content: Any) -> Json:
    """Return a block; children are stored with it, and answered by themselves."""
    held = content if text is None else {"rich_text": rich(text), **content}
    return {"object": "block", "type": kind, kind: held, "has_children": bool(children), "_children": list(children)}


def paragraph(text: str) -> Json:
    return block("paragraph", text)


class NotionServer:
    """Start it as a context manager; what it holds may change while it runs."""

    def __init__(self, *, port: int = 0) -> None:
        self.token = "ntn_secret"
        self.now = datetime(2026, 1, 5, 9, 0, 30, tzinfo=UTC)
        self.pages: dict[str, Json] = {}
        self.sources: dict[str, Json] = {}
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.most_results = 100
        self.before_answer: Callable[[str], None] = lambda _: None
        self.asked: list[str] = []
        self._blocks: dict[str, list[Json]] = {}
        self._parents: dict[str, Json] = {}
        self._count = 0
        app = web.Application(middlewares=[self._guard])
        app.router.add_post("/v1/search", self._search)
        app.router.add_get("/v1/users/me", self._me)
        app.router.add_get("/v1/pages/{id}", self._page)
        app.router.add_get("/v1/blocks/{id}", self._block)
        app.router.add_get("/v1/blocks/{id}/children", self._children)
        app.router.add_get("/v1/databases/{id}", self._database)
        app.router.add_get("/v1/data_sources/{id}", self._source)
        app.router.add_post("/v1/data_sources/{id}/query", self._rows)
        self._server = AppServer(app, port=port)

    def __enter__(self) -> "NotionServer":
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    def new_id(self) -> str:
        self._count += 1
        return str(UUID(hashlib.sha256(str(self._count).encode()).hexdigest()[:32]))

    def tick(self, minutes: float = 1.0) -> None:
        """Let time pass."""
        self.now += timedelta(minutes=minutes)

    def add_page(self, title: str, *blocks: Json, parent: str | None = None, **properties: Json) -> str:
        """Add a page below a page, a data source (as its row) or the workspace."""
        page_id = self.new_id()
        self.pages[page_id] = {
            "object": "page",
            "id": page_id,
            "created_time": f"{self._minute()[:-5]}.{len(self.pages) % 1000:03}Z",
            "last_edited_time": self._minute(),
            "archived": False,
            "in_trash": False,
            "parent": self._parent(parent),
            "properties": {"Name": {"id": "title", "type": "title", "title": rich(title)}, **properties},
            "url": f"https://www.notion.so/{page_id.replace('-', '')}",
            "public_url": None,
        }
        self._blocks[page_id] = self._stored(list(blocks), {"type": "page_id", "page_id": page_id})
        return page_id

    def add_database(self, title: str, parent: str | None = None) -> str:
        """Add a database with one data source; return the id of the data source."""
        source_id, database_id = self.new_id(), self.new_id()
        self.sources[source_id] = {
            "object": "data_source",
            "id": source_id,
            "title": rich(title),
            "parent": {"type": "database_id", "database_id": database_id},
            "last_edited_time": self._minute(),
            "in_trash": False,
            "archived": False,
        }
        self._parents[database_id] = self._parent(parent)
        return source_id

    def edit(self, page_id: str, *blocks: Json, title: str | None = None) -> None:
        """Edit a page's text, or its title."""
        page = self.pages[page_id]
        if blocks:
            self._blocks[page_id] = self._stored(list(blocks), {"type": "page_id", "page_id": page_id})
        if title is not None:
            page["properties"]["Name"]["title"] = rich(title)
        page["last_edited_time"] = self._minute()

    def move(self, page_id: str, parent: str | None) -> None:
        self.pages[page_id]["parent"] = self._parent(parent)

    def trash(self, page_id: str) -> None:
        self.pages[page_id] |= {"in_trash": True, "archived": True, "last_edited_time": self._minute()}

    def block_ids(self, page_id: str) -> list[str]:
        return [each["id"] for each in self._blocks[page_id]]

    def _minute(self) -> str:
        return self.now.replace(second=0).strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _parent(self, parent: str | None) -> Json:
        if parent is None:
            return {"type": "workspace", "workspace": True}
        if parent in self.sources:
            database_id = self.sources[parent]["parent"]["database_id"]
            return {"type": "data_source_id", "data_source_id": parent, "database_id": database_id}
        kind = "page_id" if parent in self.pages else "block_id"
        return {"type": kind, kind: parent}

    def _stored(self, blocks: list[Json], parent: Json) -> list[Json]:
        found: list[Json] = []
        for each in blocks:
            block_id = self.new_id()
            self._parents[block_id] = parent
            children = each.get("_children", [])
            self._blocks[block_id] = self._stored(children, {"type": "block_id", "block_id": block_id})
            shown = {key: value for key, value in each.items() if key != "_children"}
            found.append({"id": block_id, "parent": parent, "in_trash": False, "archived": False, **shown})
        return found

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path_qs}")
        self.before_answer(request.path)
        if self.script:
            status, headers = self.script.pop(0)
            return self._refused(status, "rate_limited" if status == 429 else "failed", headers)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return self._refused(401, "unauthorized")
        if request.headers.get("notion-version") != VERSION:
            return self._refused(400, "missing_version")
        try:
            return await handler(request)
        except KeyError:
            return self._refused(404, "object_not_found")
        except ValueError:
            return self._refused(400, "validation_error")

    def _answer(self, body: Json, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
        told = {"Date": format_datetime(self.now, usegmt=True), **(headers or {})}
        return web.json_response(body, status=status, headers=told)

    def _refused(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> web.Response:
        return self._answer({"object": "error", "status": status, "code": code, "message": code}, status, headers)

    def _list(self, objects: list[Json], body: Mapping[str, Any]) -> web.Response:
        size = int(body.get("page_size", 100))
        if not 1 <= size <= 100:
            raise ValueError("page_size")
        ids = [each["id"] for each in objects]
        start = ids.index(body["start_cursor"]) if "start_cursor" in body else 0  # ValueError: refused
        end = start + min(size, self.most_results)
        has_more = end < len(ids)
        shown = {"results": objects[start:end], "has_more": has_more, "next_cursor": ids[end] if has_more else None}
        return self._answer({"object": "list", "type": "page_or_data_source", **shown})

    async def _search(self, request: web.Request) -> web.Response:
        body = await request.json()
        _require(body, {"query", "sort", "filter", "start_cursor", "page_size"})
        wanted = body["filter"]
        if wanted.get("property") != "object" or wanted.get("value") not in ("page", "data_source"):
            raise ValueError("filter")
        if set(body.get("sort", {})) - {"timestamp", "direction"}:
            raise ValueError("sort")
        held = self.pages if wanted["value"] == "page" else self.sources
        found = [each for each in held.values() if not each["in_trash"]]
        found.sort(key=lambda each: (each["last_edited_time"], each["id"]))
        return self._list(found, body)

    async def _rows(self, request: web.Request) -> web.Response:
        body = await request.json()
        _require(body, {"sorts", "filter", "start_cursor", "page_size", "archived", "in_trash", "result_type"})
        source = self.sources[request.match_info["id"]]
        found = [
            each
            for each in self.pages.values()
            if each["parent"].get("data_source_id") == source["id"] and not each["in_trash"]
        ]
        found.sort(key=lambda each: (each["created_time"], each["id"]))
        return self._list(found, body)

    async def _children(self, request: web.Request) -> web.Response:
        _require(request.query, {"start_cursor", "page_size"})
        return self._list(self._blocks[request.match_info["id"]], request.query)

    async def _me(self, _: web.Request) -> web.Response:
        return self._answer({"object": "user", "id": self.new_id(), "type": "bot"})

    async def _page(self, request: web.Request) -> web.Response:
        return self._answer(self.pages[request.match_info["id"]])

    async def _block(self, request: web.Request) -> web.Response:
        block_id = request.match_info["id"]
        return self._answer({"object": "block", "id": block_id, "parent": self._parents[block_id]})

    async def _source(self, request: web.Request) -> web.Response:
        return self._answer(self.sources[request.match_info["id"]])

    async def _database(self, request: web.Request) -> web.Response:
        database_id = request.match_info["id"]
        return self._answer({"object": "database", "id": database_id, "parent": self._parents[database_id]})


def _require(given: Mapping[str, Any], known: set[str]) -> None:
    if set(given) - known:
        raise ValueError("unknown parameters")
