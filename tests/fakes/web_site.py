"""A web site over real HTTP on the loopback, strict about its visitors. Only a test tool.

    with WebSite() as site:
        site.page("/", "Words of the first page.", links=["/a"])
        site.files["/report.pdf"] = Served(body=PDF, content_type="application/pdf")
        ...  # site.url

Pages have an ETag and answer conditional requests. `asked` records each request; a request without a User-Agent, or
beside more than five others, is an error of the visitor and recorded in `faults`.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from aiohttp import web

from tests.fakes.server_loop import AppServer

MOST_AT_ONCE = 5


@dataclass(slots=True)
class Served:
    """The answer at an address; `seconds`: the time before its last byte."""

    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    has_etag: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request; header names in lower case, and the time of the site's clock."""

    path: str
    headers: Mapping[str, str]
    status: int
    at: float


Rule = Callable[[str], Served | None]
"""Returns the answer at a path with its query; None if there is none."""


@dataclass(slots=True)
class WebSite:
    """Start it as a context manager; its files may change while it runs."""

    files: dict[str, Served] = field(default_factory=dict[str, Served])
    rules: list[Rule] = field(default_factory=list[Rule])
    missing: Served = field(default_factory=lambda: Served(b"<title>None</title>", status=404))
    url: str = ""
    port: int = 0
    asked: list[Asked] = field(default_factory=list[Asked])
    faults: list[str] = field(default_factory=list[str])
    _open: int = 0
    _server: AppServer | None = None

    def __enter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = AppServer(app)
        self._server.start()
        self.port = self._server.port
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.stop()

    def page(self, path: str, words: str, links: Sequence[str] = (), *, head: str = "", title: str = "") -> None:
        """Serve a page."""
        self.files[path] = Served(html(words, links, head=head, title=title).encode())

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        """Serve a redirect."""
        self.files[path] = Served(status=status, headers={"Location": target}, has_etag=False)

    def paths(self) -> list[str]:
        """Return the requested paths, without those that every visitor asks for."""
        usual = ("/robots.txt", "/sitemap.xml")
        return [each.path for each in self.asked if each.path not in usual and "-no-such-page" not in each.path]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path
        self._open += 1
        try:
            if self._open > MOST_AT_ONCE:
                self.faults.append(f"{self._open} at once")
            if "Analytiq" not in request.headers.get("User-Agent", "") or request.method != "GET":
                self.faults.append(f"{request.method} {path} of {request.headers.get('User-Agent')}")
            served = self._found(path)
            etag = f'"{hashlib.sha256(served.body).hexdigest()[:16]}"'
            is_known = served.status == 200 and served.has_etag and request.headers.get("If-None-Match") == etag
            status = 304 if is_known else served.status
            self.asked.append(
                Asked(path, {name.lower(): each for name, each in request.headers.items()}, status, time.monotonic())
            )
            headers = {**served.headers, **({"ETag": etag} if served.has_etag and served.status == 200 else {})}
            if status != 304 and "Content-Type" not in headers and served.content_type:
                headers["Content-Type"] = served.content_type
            response = web.StreamResponse(status=status, headers=headers)
            if headers.get("Connection") == "close":
                response.force_close()
            await response.prepare(request)
            if status != 304:
                await self._send(response, served)
            return response
        finally:
            self._open -= 1

    async def _send(self, response: web.StreamResponse, served: Served) -> None:
        half = len(served.body) // 2
        await response.write(served.body[:half])
        if served.seconds:
            await asyncio.sleep(served.seconds)
        await response.write(served.body[half:])

    def _found(self, path: str) -> Served:
        if path in self.files:
            return self.files[path]
        for rule in self.rules:
            if (served := rule(path)) is not None:
                return served
        return self.missing


def html(words: str, links: Sequence[str] = (), *, head: str = "", title: str = "") -> str:
    """Return a page with these words and links."""
    anchors = "".join(f'<p><a href="{link}">to {link}</a></p>' for link in links)
    return (
        f"<!doctype html><html><head><title>{title or words[:40]}</title>{head}</head>"
        f"<body><p>{words}</p>{anchors}</body></html>"
    )
