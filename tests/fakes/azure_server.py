"""Azure's blob service: List Blobs, Get Blob and Get Blob Properties of one container, with its proofs."""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Self
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from aiohttp import web

from tests.fakes.server_loop import AppServer

ACCOUNT = "acmestore"
KEY = base64.b64encode(b"the key of the account" * 3).decode()
SAS = "sv=2021-12-02&ss=b&srt=co&sp=rl&se=2030-01-01T00%3A00%3A00Z&sig=a%2Bb%2Fc%3D"
LIST_PARAMETERS = {"restype", "comp", "prefix", "marker", "maxresults"}
CLOCK_SKEW = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob."""

    content: bytes
    content_type: str
    tier: str
    etag: str
    kind: str


class AzureServer:
    """The service with the container `documents`."""

    container = "documents"

    def __init__(self) -> None:
        self.blobs: dict[str, Blob] = {}
        self.is_public = False
        self.page_size = 5000
        self.expired_markers: set[str] = set()
        self.asked: list[str] = []
        self._writes = 0
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = AppServer(app)

    @property
    def url(self) -> str:
        """The address of the service, with the account in its path as the emulator has it."""
        return f"{self._server.url}/{ACCOUNT}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def write(
        self, name: str, content: bytes, *, tier: str = "Hot", kind: str = "file", content_type: str = "text/plain"
    ) -> None:
        """Put a blob."""
        self._writes += 1
        self.blobs[name] = Blob(content, content_type, tier, f"0x8D{self._writes:012X}", kind)

    async def _answer(self, request: web.Request) -> web.Response:
        path, _, query = request.raw_path.partition("?")
        self.asked.append(path)
        parameters = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
        refusal = self._refusal(request, path, parameters)
        if refusal is not None:
            return refusal
        for name, _ in parse_qsl(SAS):
            parameters.pop(name, None)
        root = f"/{ACCOUNT}/{self.container}"
        if path == root:
            return self._listing(parameters)
        if not path.startswith(f"{root}/"):
            return _error(404, "ContainerNotFound")
        if parameters:
            return _error(400, "InvalidQueryParameterValue")
        return self._blob(unquote(path[len(root) + 1 :]))

    def _refusal(self, request: web.Request, path: str, parameters: dict[str, str]) -> web.Response | None:
        version = request.headers.get("x-ms-version", "")
        if version != "2021-12-02":
            return _error(400, "InvalidHeaderValue")
        authorization = request.headers.get("authorization")
        if authorization is not None:
            date = parsedate_to_datetime(request.headers["x-ms-date"])
            is_near = abs(datetime.now(UTC) - date) < CLOCK_SKEW
            expected = f"SharedKey {ACCOUNT}:{signature_of(request, path, parameters)}"
            return (
                None
                if is_near and hmac.compare_digest(authorization, expected)
                else _error(403, "AuthenticationFailed")
            )
        if "sig" in parameters:
            is_right = all(parameters.get(name) == value for name, value in parse_qsl(SAS))
            return None if is_right else _error(403, "AuthenticationFailed")
        return None if self.is_public else _error(409, "PublicAccessNotPermitted")

    def _listing(self, parameters: dict[str, str]) -> web.Response:
        if parameters.keys() - LIST_PARAMETERS or "" in parameters.values():
            return _error(400, "InvalidQueryParameterValue")
        if (parameters.get("restype"), parameters.get("comp")) != ("container", "list"):
            return _error(400, "InvalidUri")
        most = int(parameters.get("maxresults", "5000"))
        if not 1 <= most <= 5000:
            return _error(400, "OutOfRangeQueryParameterValue")
        begin = ""
        if marker := parameters.get("marker"):
            if marker in self.expired_markers or not marker.startswith("2!"):
                return _error(400, "OutOfRangeInput")
            begin = base64.b64decode(marker[2:]).decode()
        prefix = parameters.get("prefix", "")
        names = sorted(name for name in self.blobs if name.startswith(prefix) and name >= begin)
        size = min(most, self.page_size)
        following = f"2!{base64.b64encode(names[size].encode()).decode()}" if len(names) > size else ""
        entries = "".join(_entry(name, self.blobs[name]) for name in names[:size])
        text = (
            f'\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="{self.container}">'
            f"<Blobs>{entries}</Blobs><NextMarker>{following}</NextMarker></EnumerationResults>"
        )
        return web.Response(body=text.encode(), content_type="application/xml")

    def _blob(self, name: str) -> web.Response:
        blob = self.blobs.get(name)
        if blob is None:
            return _error(404, "BlobNotFound")
        if blob.tier == "Archive" and not blob.content:
            return _error(409, "BlobArchived")
        headers = {
            "etag": f'"{blob.etag}"',
            "last-modified": _date(),
            "content-type": blob.content_type,
            "x-ms-access-tier": blob.tier,
            "x-ms-resource-type": blob.kind,
        }
        return web.Response(body=blob.content, headers=headers)


def signature_of(request: web.Request, path: str, parameters: dict[str, str]) -> str:
    """Return the signature of a request by the shared key, as the service computes it from what it received."""
    standard = (
        *("Content-Encoding", "Content-Language", "Content-Length", "Content-MD5", "Content-Type", "Date"),
        *("If-Modified-Since", "If-Match", "If-None-Match", "If-Unmodified-Since", "Range"),
    )
    lines = [request.method, *(request.headers.get(name, "") for name in standard)]
    own = {name.lower(): value for name, value in request.headers.items() if name.lower().startswith("x-ms-")}
    lines += [f"{name}:{own[name]}" for name in sorted(own)]
    lines += [f"/{ACCOUNT}{path}", *(f"{name.lower()}:{parameters[name]}" for name in sorted(parameters))]
    digest = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _entry(name: str, blob: Blob) -> str:
    is_plain = all(character >= " " and character not in "\ufffe\uffff" for character in name)
    shown = f"<Name>{escape(name)}</Name>" if is_plain else f'<Name Encoded="true">{quote(name)}</Name>'
    return (
        f"<Blob>{shown}<Properties><Last-Modified>{_date()}</Last-Modified><Etag>{blob.etag}</Etag>"
        f"<ResourceType>{blob.kind}</ResourceType><Content-Length>{len(blob.content)}</Content-Length>"
        f"<Content-Type>{blob.content_type}</Content-Type><BlobType>BlockBlob</BlobType>"
        f"<AccessTier>{blob.tier}</AccessTier></Properties></Blob>"
    )


def _date() -> str:
    return format_datetime(datetime(2026, 11, 30, 12, tzinfo=UTC), usegmt=True)


def _error(status: int, code: str) -> web.Response:
    text = f"<Error><Code>{code}</Code><Message>The request is refused.</Message></Error>"
    return web.Response(status=status, text=text, content_type="application/xml", headers={"x-ms-error-code": code})
