"""Dropbox's API over real HTTP on the loopback, as it is documented. Only a test tool.

It refuses missing and expired tokens (401), unknown fields (400), cursors that it does not know any more (409, reset),
and downloads of documents that are only exported. A deleted path has no id, and a deleted folder names no files.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

from tests.fakes.consents import Consents
from tests.fakes.server_loop import AppServer

Json = dict[str, Any]
FIELDS = {
    "list_folder": {"path", "recursive", "include_deleted", "include_non_downloadable_files", "limit"},
    "continue": {"cursor"},
    "get_metadata": {"path"},
    "list_revisions": {"path", "mode", "limit"},
}
CLIENT = ("client", "secret")


class DropboxServer:
    """An account's files."""

    def __init__(self, *, port: int = 0) -> None:
        app = web.Application()
        app.router.add_post("/oauth2/token", self._token)
        app.router.add_get("/oauth2/authorize", self._authorize)
        app.router.add_post("/2/files/list_folder", self._list)
        app.router.add_post("/2/files/list_folder/continue", self._continue)
        app.router.add_post("/2/files/get_metadata", self._metadata)
        app.router.add_post("/2/files/list_revisions", self._revisions)
        app.router.add_post("/2/files/download", self._download)
        app.router.add_post("/2/files/export", self._download)
        self._server = AppServer(app, port=port)
        scopes = frozenset(("files.metadata.read", "files.content.read"))
        needs = {"token_access_type": "offline"}
        self.sign_in = Consents(CLIENT, scopes, self._issue, needs=needs, seconds=14400)
        self._issued = 0
        self.token = "token-0"
        self.entries: dict[str, Json] = {}
        self.contents: dict[str, bytes] = {}
        self.former: dict[str, Json] = {}
        self.log: list[Json] = []
        self.generation = 1
        self.page_items = 100
        self.calls: list[str] = []
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.is_endless = False

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def settings(self) -> Json:
        return {"api_url": self.url, "content_url": self.url}

    @property
    def credentials(self) -> Json:
        return {"client_id": CLIENT[0], "client_secret": CLIENT[1], "refresh_token": self.sign_in.refresh_token}

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def write(self, path: str, content: str, *, export_as: str | None = None) -> str:
        """Store a file with its folders; return its id."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts)):
            folder = "/" + "/".join(parts[:depth])
            if folder.lower() not in self.entries:
                self._put(folder, {".tag": "folder", "id": self._new_id()})
        full = "/" + "/".join(parts)
        before = self.entries.get(full.lower())
        file_id = before["id"] if before else self._new_id()
        data = content.encode()
        self.contents[file_id] = data
        fields: Json = {".tag": "file", "id": file_id, "rev": f"{len(self.log):09x}", "size": len(data)}
        fields |= {"server_modified": "2026-01-01T00:00:00Z", "is_downloadable": export_as is None}
        if export_as is None:
            fields["content_hash"] = hashlib.sha256(data).hexdigest()
        else:
            fields["export_info"] = {"export_as": export_as}
        self._put(full, fields)
        return file_id

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with what is in it."""
        low = path.lower()
        for each in [key for key in self.entries if key == low or key.startswith(f"{low}/")]:
            self.former[each] = self.entries.pop(each)
        name = path.rsplit("/", 1)[-1]
        self.log.append({".tag": "deleted", "name": name, "path_lower": low, "path_display": path})

    def move(self, path: str, to: str) -> None:
        """Move a file."""
        entry = self.entries[path.lower()]
        self.delete(path)
        self._put(to, {key: value for key, value in entry.items() if key not in ("name", "path_lower", "path_display")})

    def expire_cursors(self) -> None:
        self.generation += 1

    def expire_token(self) -> None:
        self._issued += 1
        self.token = f"token-{self._issued}"

    def _new_id(self) -> str:
        return f"id:a4ayc_80_{len(self.log)}-{len(self.entries)}"

    def _put(self, path: str, fields: Json) -> None:
        named = {"name": path.rsplit("/", 1)[-1], "path_lower": path.lower(), "path_display": path}
        self.entries[path.lower()] = fields | named
        self.log.append(fields | named)

    def _issue(self) -> str:
        self.expire_token()
        return self.token

    async def _authorize(self, request: web.Request) -> web.Response:
        return await self.sign_in.authorize(request)

    async def _token(self, request: web.Request) -> web.Response:
        return self.sign_in.exchange(dict(await request.post()))

    async def _body(self, request: web.Request, endpoint: str) -> Json:
        self._require(request)
        if request.content_type != "application/json":
            raise web.HTTPBadRequest(text=f"Bad HTTP Content-Type: {request.content_type}")
        body: Json = await request.json()
        if unknown := body.keys() - FIELDS[endpoint]:
            raise web.HTTPBadRequest(text=f"unknown field {unknown}")
        return body

    def _require(self, request: web.Request) -> None:
        self.calls.append(request.path)
        if self.script:
            status, headers = self.script.pop(0)
            raise _failure(status, "scripted", headers)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise _failure(401, "expired_access_token")

    async def _list(self, request: web.Request) -> web.Response:
        body = await self._body(request, "list_folder")
        path = body["path"]
        if path == "/" or (path and not path.startswith(("/", "id:"))):
            raise web.HTTPBadRequest(text="path: Specify the root folder as an empty string")
        if path and self.entries.get(path.lower(), {}).get(".tag") != "folder":
            raise _failure(409, "path/not_found")
        return self._page(path.lower(), "all", 0, len(self.log))

    async def _continue(self, request: web.Request) -> web.Response:
        body = await self._body(request, "continue")
        try:
            generation, path, what, start, end = json.loads(body["cursor"])
        except ValueError:
            raise web.HTTPBadRequest(text="Invalid cursor") from None
        if generation != self.generation:
            raise _failure(409, "reset")
        return self._page(path, what, start, end)

    def _page(self, path: str, what: str, start: int, end: int) -> web.Response:
        """Answer with a page of all entries, then of what was logged since the listing began."""
        below = [each for each in self.entries.values() if each["path_lower"].startswith(f"{path}/")]
        logged = [each for each in self.log[end:] if each["path_lower"].startswith(f"{path}/")]
        listed = below if what == "all" else logged
        some = listed[start : start + self.page_items]
        has_more = start + self.page_items < len(listed) or self.is_endless
        following = [self.generation, path, what, start + self.page_items, end]
        if not has_more:
            # What changed during the listing is at its end.
            some = some + (logged if what == "all" else [])
            following = [self.generation, path, "changes", 0, len(self.log)]
        if self.is_endless:
            following[3] = 0
        return web.json_response({"entries": some, "cursor": json.dumps(following), "has_more": has_more})

    async def _metadata(self, request: web.Request) -> web.Response:
        path = (await self._body(request, "get_metadata"))["path"]
        return web.json_response(self._found(path))

    async def _revisions(self, request: web.Request) -> web.Response:
        body = await self._body(request, "list_revisions")
        assert body["mode"] == {".tag": "path"}
        entry = self.entries.get(body["path"]) or self.former.get(body["path"])
        if entry is None or entry[".tag"] != "file":
            raise _failure(409, "path/not_file")
        return web.json_response({"is_deleted": body["path"] not in self.entries, "entries": [entry]})

    async def _download(self, request: web.Request) -> web.Response:
        self._require(request)
        if request.headers.get("content-type") is not None or await request.read():
            raise web.HTTPBadRequest(text="Bad HTTP Content-Type")
        arg: Json = json.loads(request.headers["dropbox-api-arg"])
        entry = self._found(arg["path"])
        if entry["is_downloadable"] == request.path.endswith("/export"):
            raise _failure(409, "unsupported_file" if entry["is_downloadable"] is False else "non_exportable")
        return web.Response(body=self.contents[entry["id"]])

    def _found(self, path: str) -> Json:
        for entry in self.entries.values():
            if path in (entry["id"], entry["path_lower"]):
                return entry
        raise _failure(409, "path/not_found")


def _failure(status: int, summary: str, headers: Mapping[str, str] | None = None) -> web.HTTPException:
    body = json.dumps({"error_summary": f"{summary}/..", "error": {".tag": summary.partition("/")[0]}})

    class Failure(web.HTTPException):
        status_code = status

    return Failure(text=body, content_type="application/json", headers=headers)
