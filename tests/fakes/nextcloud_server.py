"""A strict stand-in for Nextcloud's WebDAV: files with ids, ETags and shares, behind basic authentication."""

import base64
import hashlib
from dataclasses import dataclass, field
from urllib.parse import quote
from xml.sax.saxutils import escape

from aiohttp import web
from lxml import etree

from tests.fakes.server_loop import AppServer

USER, PASSWORD = "ada", "app-password-1"
ROOT = "/remote.php/dav/files/ada"
FOLDER_TYPE = "<d:resourcetype><d:collection/></d:resourcetype>"


@dataclass(slots=True)
class Shared:
    """Users and groups that a path is shared with."""

    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    by_link: bool = False


@dataclass(slots=True)
class NextcloudServer:
    """The files of a user by path, with their ids."""

    files: dict[str, tuple[int, bytes]] = field(default_factory=dict[str, tuple[int, bytes]])
    shares: dict[str, Shared] = field(default_factory=dict[str, Shared])
    failing: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict[str, tuple[int, dict[str, str]]])
    """Path → status and headers of its answer."""
    answers: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Path → what PROPFIND answers instead."""
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    server: AppServer = field(init=False)

    def __post_init__(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self.server = AppServer(app)

    @property
    def url(self) -> str:
        return f"{self.server.url}{ROOT}/"

    async def _answer(self, request: web.Request) -> web.Response:
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {pair}":
            return web.Response(status=401, headers=[("WWW-Authenticate", 'Basic realm="Nextcloud", charset="UTF-8"')])
        if not request.path.startswith(ROOT):
            return web.Response(status=404)
        path = request.path.removeprefix(ROOT).strip("/")
        self.asked.append((request.method, path))
        if path in self.failing:
            status, headers = self.failing[path]
            return web.Response(status=status, headers=headers)
        if request.method == "GET":
            return web.Response(body=self.files[path][1]) if path in self.files else web.Response(status=404)
        if request.method != "PROPFIND":
            return web.Response(status=405)
        return await self._described(request, path)

    async def _described(self, request: web.Request, path: str) -> web.Response:
        body = etree.fromstring(await request.read())
        if body.tag != "{DAV:}propfind" or request.headers.get("depth") not in ("0", "1"):
            return web.Response(status=400)
        folders = {"", *(name[:at] for name in self.files for at, letter in enumerate(name) if letter == "/")}
        if path not in folders and path not in self.files:
            return web.Response(status=404)
        shown = [path]
        if request.headers["depth"] == "1" and path in folders:
            prefix = f"{path}/" if path else ""
            inside = {*folders, *self.files} - {path}
            shown += sorted(each for each in inside if each.startswith(prefix) and "/" not in each[len(prefix) :])
        answer = self.answers.get(path) or (
            '<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"'
            ' xmlns:nc="http://nextcloud.org/ns">'
            + "".join(self._resource(each, is_folder=each in folders) for each in shown)
            + "</d:multistatus>"
        )
        return web.Response(status=207, body=answer, content_type="application/xml")

    def _resource(self, path: str, *, is_folder: bool) -> str:
        file_id, content = self.files.get(path, (int.from_bytes(path[-7:].encode(), "big"), b""))
        etag = hashlib.sha1(path.encode() if is_folder else content).hexdigest()  # noqa: S324
        length = "" if is_folder else f"<d:getcontentlength>{len(content)}</d:getcontentlength>"
        share = self.shares.get(path, Shared())
        pairs = [*((name, 0) for name in share.people), *((name, 1) for name in share.groups)]
        pairs += [("a-link", 3)] if share.by_link else []
        sharees = "".join(
            f"<nc:sharee><nc:id>{escape(name)}</nc:id><nc:type>{kind}</nc:type></nc:sharee>" for name, kind in pairs
        )
        return (
            f"<d:response><d:href>{quote(f'{ROOT}/{path}')}{'/' if is_folder and path else ''}</d:href><d:propstat>"
            f"<d:prop>{FOLDER_TYPE if is_folder else '<d:resourcetype/>'}<d:getetag>&quot;{etag}&quot;</d:getetag>"
            f"{length}"
            f"<d:getlastmodified>Mon, 02 Nov 2026 10:00:00 GMT</d:getlastmodified><oc:fileid>{file_id}</oc:fileid>"
            f"<oc:owner-id>ada</oc:owner-id><nc:sharees>{sharees}</nc:sharees></d:prop>"
            "<d:status>HTTP/1.1 200 OK</d:status></d:propstat><d:propstat><d:prop><d:getcontenttype/></d:prop>"
            "<d:status>HTTP/1.1 404 Not Found</d:status></d:propstat></d:response>"
        )
