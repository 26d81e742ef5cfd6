"""Microsoft Graph's drives over real HTTP on the loopback, as they are documented. Only a test tool.

It refuses missing and expired tokens, unknown parameters and ids, and expired delta links (410). Items of the delta
have no paths, and downloads redirect to an address that refuses a token. `script` holds failures for the next calls.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Self

from aiohttp import web

from tests.fakes.consents import Consents
from tests.fakes.server_loop import AppServer

Json = dict[str, Any]
PARAMETERS = {"$top", "$select", "token", "$expand"}


class GraphServer:
    """A tenant with drives; `drive` is the first one."""

    def __init__(self, *, port: int = 0) -> None:
        app = web.Application()
        app.router.add_post("/{tenant}/oauth2/v2.0/token", self._token)
        app.router.add_get("/{tenant}/oauth2/v2.0/authorize", self._authorize)
        app.router.add_get("/v1.0/me/drive", self._me)
        app.router.add_get("/v1.0/users/{user}/drive", self._user)
        app.router.add_get("/v1.0/sites/{host}:/sites/team", self._site)
        app.router.add_get("/v1.0/sites/{site}/drives", self._libraries)
        app.router.add_get("/v1.0/drives/{drive}/root/delta", self._delta)
        app.router.add_get("/v1.0/drives/{drive}/items/{item}", self._item)
        app.router.add_get("/v1.0/drives/{drive}/items/{item}/permissions", self._permissions)
        app.router.add_get("/v1.0/drives/{drive}/items/{item}/content", self._content)
        app.router.add_get("/download/{item}", self._download)
        self._server = AppServer(app, port=port)
        # Another host than that of the API, as in the service.
        self._files = AppServer(_copy(self._download))
        self.client_id, self.client_secret = "app", "secret"
        scopes = frozenset(("offline_access", "Files.Read.All", "Sites.Read.All"))
        self.sign_in = Consents((self.client_id, self.client_secret), scopes, self._issue, rotates=True)
        self.token, self._issued = "token-1", 1
        self.drive = "b!drive-1"
        self.items: dict[str, Json] = {"root": {"id": "root", "name": "root", "root": {}, "folder": {}}}
        self.contents: dict[str, bytes] = {}
        self.log: list[str] = ["root"]
        self.oldest = 0
        self.script: list[tuple[int, Mapping[str, str]]] = []
        self.calls: list[str] = []
        self.page_items = 100

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def settings(self) -> dict[str, Any]:
        return {"api_url": self.url, "login_url": self.url, "tenant": "example"}

    @property
    def credentials(self) -> dict[str, Any]:
        return {"client_id": self.client_id, "client_secret": self.client_secret}

    def __enter__(self) -> Self:
        self._server.start()
        self._files.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._files.stop()

    def write(self, path: str, content: str) -> str:
        """Store a file, with its folders; return its id."""
        *folders, name = path.split("/")
        parent = "root"
        for folder in folders:
            parent = self._child(parent, folder) or self._add(parent, folder, {"folder": {"childCount": 1}})
        item = self._child(parent, name) or self._add(parent, name, {"file": {"mimeType": "text/plain"}})
        data = content.encode()
        self.contents[item] = data
        tag = hashlib.sha256(data).hexdigest()[:16]
        self.items[item] |= {
            "size": len(data),
            "cTag": f'"c:{{{tag}}},1"',
            "lastModifiedDateTime": "2026-01-01T00:00:00Z",
        }
        self._touch(item)
        return item

    def rename(self, item: str, name: str, *, parent: str | None = None) -> None:
        self.items[item]["name"] = name
        self.items[item]["parentReference"]["id"] = parent or self.items[item]["parentReference"]["id"]
        self._touch(item)

    def delete(self, item: str) -> None:
        """Delete a file or a folder; files in it are not named."""
        for child in [each for each, found in self.items.items() if found.get("parentReference", {}).get("id") == item]:
            del self.items[child]
        del self.items[item]
        self.log.append(item)

    def expire_token(self) -> None:
        self._issued += 1
        self.token = f"token-{self._issued}"

    def expire_positions(self) -> None:
        self.oldest = len(self.log)

    def id_of(self, name: str) -> str:
        return next(item for item, found in self.items.items() if found["name"] == name)

    def _child(self, parent: str, name: str) -> str | None:
        for item, found in self.items.items():
            if found["name"] == name and found.get("parentReference", {}).get("id") == parent:
                return item
        return None

    def _add(self, parent: str, name: str, more: Json) -> str:
        item = f"01ITEM{len(self.log)}"
        url = f"https://example.sharepoint.com/{item}"
        reference = {"driveId": self.drive, "id": parent}
        self.items[item] = {"id": item, "name": name, "parentReference": reference, "webUrl": url, **more}
        self._touch(item)
        return item

    def _touch(self, item: str) -> None:
        # A change of an item names its folders too.
        parent = self.items[item].get("parentReference", {}).get("id")
        if parent is not None:
            self._touch(parent)
        self.log.append(item)

    def _issue(self) -> str:
        self.expire_token()
        return self.token

    async def _token(self, request: web.Request) -> web.Response:
        form = dict(await request.post())
        if form.get("grant_type") != "client_credentials":
            return self.sign_in.exchange(form)
        if (form.get("client_id"), form.get("client_secret")) != self.sign_in.client:
            return web.json_response({"error": "invalid_client"}, status=401)
        assert form["scope"] == f"{self.url}/.default"
        return web.json_response({"token_type": "Bearer", "expires_in": 3599, "access_token": self._issue()})

    async def _authorize(self, request: web.Request) -> web.Response:
        return await self.sign_in.authorize(request)

    def _require(self, request: web.Request) -> None:
        self.calls.append(request.path)
        if self.script:
            status, headers = self.script.pop(0)
            raise _failure(status, "scripted", headers)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            raise _failure(401, "InvalidAuthenticationToken")
        if set(request.query) - PARAMETERS:
            raise _failure(400, "invalidRequest")
        if request.match_info.get("drive", self.drive) != self.drive:
            raise _failure(404, "itemNotFound")

    async def _me(self, request: web.Request) -> web.Response:
        self._require(request)
        return web.json_response({"id": self.drive, "name": "OneDrive"})

    async def _user(self, request: web.Request) -> web.Response:
        self._require(request)
        if request.match_info["user"] != "ada@example.com":
            raise _failure(404, "itemNotFound")
        return web.json_response({"id": self.drive, "name": "OneDrive"})

    async def _site(self, request: web.Request) -> web.Response:
        self._require(request)
        return web.json_response({"id": "example.sharepoint.com,1,2", "name": "Team"})

    async def _libraries(self, request: web.Request) -> web.Response:
        self._require(request)
        return web.json_response({"value": [{"id": self.drive, "name": "Documents"}]})

    async def _delta(self, request: web.Request) -> web.Response:
        self._require(request)
        token = request.query.get("token", "0:-1")
        kind, _, number = token.partition(":")
        first = int(number)
        if first >= 0 and first < self.oldest:
            raise _failure(410, "resyncRequired", {"Location": f"{self.url}{request.path}"})
        if first < 0:
            # An enumeration: what exists, folders before what is in them.
            order = list(self.items)
            start = int(kind)
            some = [self.items[item] for item in order[start : start + self.page_items]]
            if start + self.page_items < len(order):
                return self._page(request, some, {"@odata.nextLink": f"{start + self.page_items}:-1"})
            return self._page(request, some, {"@odata.deltaLink": f"d:{len(self.log)}"})
        changed = self.log[first : first + self.page_items]
        some = [self.items.get(item, {"id": item, "deleted": {"state": "deleted"}}) for item in dict.fromkeys(changed)]
        after = first + len(changed)
        key = "@odata.nextLink" if after < len(self.log) else "@odata.deltaLink"
        return self._page(request, some, {key: f"d:{after}"})

    def _page(self, request: web.Request, items: list[Json], link: Mapping[str, str]) -> web.Response:
        (key, token), *_ = link.items()
        return web.json_response({"value": items, key: f"{self.url}{request.path}?token={token}"})

    async def _item(self, request: web.Request) -> web.Response:
        self._require(request)
        return web.json_response(self._found(request))

    async def _permissions(self, request: web.Request) -> web.Response:
        self._require(request)
        self._found(request)
        user = {"user": {"id": "1", "email": "ada@example.com", "displayName": "Ada"}}
        group = {"group": {"id": "g-1", "displayName": "Legal"}}
        return web.json_response({"value": [{"id": "1", "grantedToV2": user}, {"id": "2", "grantedToV2": group}]})

    async def _content(self, request: web.Request) -> web.Response:
        self._require(request)
        item = self._found(request)["id"]
        raise web.HTTPFound(f"{self._files.url}/download/{item}")

    async def _download(self, request: web.Request) -> web.Response:
        if "authorization" in request.headers:
            raise _failure(401, "tokenSentToAnotherHost")
        return web.Response(body=self.contents[request.match_info["item"]])

    def _found(self, request: web.Request) -> Json:
        item = self.items.get(request.match_info["item"])
        if item is None:
            raise _failure(404, "itemNotFound")
        return item


def _copy(handler: Any) -> web.Application:
    app = web.Application()
    app.router.add_get("/download/{item}", handler)
    return app


def _failure(status: int, code: str, headers: Mapping[str, str] | None = None) -> web.HTTPException:
    body = json.dumps({"error": {"code": code, "message": code}})

    class Failure(web.HTTPException):
        status_code = status

    return Failure(text=body, content_type="application/json", headers=headers)
