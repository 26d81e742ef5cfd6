"""The management UI: a static export of `ui/`, served by the API process from one origin.

The files of the export are listed at startup; all other paths go to the API. Paths are never joined to a folder, so
none can leave the export.
"""

import base64
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import anyio
import structlog
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

log = structlog.get_logger(__name__)

EXPORT = Path(__file__).parent / "ui"
"""Directory of the export built by `make ui`; it is part of the wheel."""

HOME = "/documents/"
ENTRANCES = ("/", "/sign-in/", "/invite/", "/reset/")
"""Entry pages, which people reach by a typed address or a link; without an export they show instructions."""
NOT_FOUND_PAGE = "/404.html"
API_PATHS = re.compile(r"/(?:v0|api|health|ready|metrics|openapi\.json|mcp)(?:/|$)")
"""Paths that are never answered with a page, whatever the browser accepts."""

HASHED = "/_next/static/"
FOREVER = "public, max-age=31536000, immutable"
"""Cache-Control for files whose name changes with their content."""
ASK_FIRST = "no-cache"

NOT_BUILT = (
    "The management UI is not part of this installation. In a checkout `make ui` builds it (Node 20 or newer), and this"
    " page then works without a restart; the REST API is at /v0, its schema at /openapi.json.\n"
)

_POLICY = (
    "default-src 'none'; script-src 'self'{hashes}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:;"
    " font-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the export. `policy`: its Content-Security-Policy, for pages."""

    path: Path
    has_compressed: bool
    content_type: str
    cache_control: str
    etag: str
    policy: str | None


class StaticUi:
    """ASGI middleware that serves the export's files and passes all other requests to the application.

    After another `make ui`, pages come from the new export.
    """

    def __init__(self, app: ASGIApp, export: Path = EXPORT) -> None:
        """List the export's files; without an export, only the entry pages are answered, with instructions."""
        self._app = app
        self._export = export
        self._made_at = _made_at(export)
        self._files = read_export(export)
        if not self._files:
            log.info("api.no_ui", looked_in=str(export))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a file, redirect to a page, or pass the request on."""
        response = await self._answer(scope) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response | None:
        path: str = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or API_PATHS.match(path):
            return None
        if path.endswith("/"):
            self._follow_rebuild()
        if not self._files:
            return PlainTextResponse(NOT_BUILT, 404) if path in ENTRANCES else None
        if path == "/" or f"{path}/index.html" in self._files:
            # Relative: the host named by a request cannot be trusted.
            query = scope["query_string"].decode("latin-1")
            target = HOME if path == "/" else f"{path}/"
            return RedirectResponse(f"{target}?{query}" if query else target, 307 if path == "/" else 308)
        headers = Headers(scope=scope)
        file = self._files.get(f"{path}index.html" if path.endswith("/") else path)
        if file is not None and file.path.exists():  # a rebuild may have removed it
            return await _serve(file, headers)
        page = self._files.get(NOT_FOUND_PAGE)
        if page is not None and "text/html" in headers.get("accept", ""):
            return await _serve(page, headers, status=404)
        return None

    def _follow_rebuild(self) -> None:
        """Reload a rebuilt export, since its inline scripts have other hashes than the old policy."""
        made_at = _made_at(self._export)
        if made_at != self._made_at:
            self._files = read_export(self._export)
            self._made_at = made_at


def _made_at(export: Path) -> int | None:
    try:
        return (export / "index.html").stat().st_mtime_ns
    except FileNotFoundError:
        return None


def read_export(export: Path) -> Mapping[str, StaticFile]:
    """Return the export's files by request path."""
    if not (export / "index.html").is_file():
        return {}
    found = sorted(path for path in export.rglob("*") if path.is_file())
    compressed = {path for path in found if path.suffix == ".gz"}
    return {
        f"/{path.relative_to(export).as_posix()}": _describe(export, path, compressed)
        for path in found
        if path not in compressed
    }


def _describe(export: Path, path: Path, compressed: set[Path]) -> StaticFile:
    content = path.read_bytes()
    url = f"/{path.relative_to(export).as_posix()}"
    is_page = path.suffix == ".html"
    return StaticFile(
        path=path,
        has_compressed=_compressed(path) in compressed,
        content_type=_content_type(path),
        cache_control=FOREVER if url.startswith(HASHED) else ASK_FIRST,
        etag=hashlib.sha256(content).hexdigest()[:32],
        policy=policy_of(content.decode()) if is_page else None,
    )


def _compressed(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def _content_type(path: Path) -> str:
    # The system's table comes last: its entries for .js and .mjs differ from machine to machine.
    known = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".txt": "text/plain"}
    kind = known.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def policy_of(page: str) -> str:
    """Return a page's Content-Security-Policy, with hashes of its own inline scripts."""
    reader = _InlineScripts()
    reader.feed(page)
    reader.close()
    digests = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in reader.scripts}
    return _POLICY.format(hashes="".join(f" 'sha256-{digest}'" for digest in sorted(digests)))


class _InlineScripts(HTMLParser):
    """Collects the text of each inline script."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.scripts: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_inside = tag == "script" and "src" not in dict(attrs)
        if self._is_inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.scripts[-1] += data


async def _serve(file: StaticFile, asked: Headers, *, status: int = 200) -> Response:
    accepts_gzip = "gzip" in asked.get("accept-encoding", "")
    is_compressed = file.has_compressed and accepts_gzip
    headers = {
        "Cache-Control": file.cache_control,
        "ETag": f'W/"{file.etag}"',
        "Vary": "Accept-Encoding",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    if file.policy is not None:
        headers["Content-Security-Policy"] = file.policy
    if status == 200 and file.etag in asked.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if is_compressed:
        headers["Content-Encoding"] = "gzip"
    content = await anyio.Path(_compressed(file.path) if is_compressed else file.path).read_bytes()
    return Response(content, status, headers=headers, media_type=file.content_type)
