"""Google Cloud Storage's JSON API for one bucket, with the token service of its service account."""

import base64
import json
import time
from dataclasses import dataclass
from functools import cache
from typing import Self
from urllib.parse import parse_qsl, unquote

from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from joserfc import jwk, jwt
from joserfc.errors import JoseError

from tests.fakes.server_loop import AppServer

BUCKET = "acme-documents"
EMAIL = "reader@acme.iam.gserviceaccount.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_only"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIST_PARAMETERS = {"fields", "maxResults", "prefix", "pageToken", "startOffset", "userProject"}
OBJECT_PARAMETERS = {"fields", "alt", "userProject"}


@cache
def private_key() -> str:
    """Return the key of the service account in PEM; making it takes a tenth of a second."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, none).decode()


@dataclass(frozen=True, slots=True)
class Stored:
    """An object."""

    content: bytes
    content_type: str
    generation: int
    is_sealed: bool


class GcsServer:
    """Both services on one port."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        self.is_public = False
        self.payer: str | None = None
        self.token_seconds = 3600
        self.page_size = 1000
        self.tokens: list[str] = []
        self.asked: list[str] = []
        self.refused: list[tuple[int, str]] = []
        """Statuses and reasons of the next answers."""
        self._writes = 1_700_000_000_000_000
        app = web.Application()
        app.router.add_post("/token", self._token)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = AppServer(app)

    @property
    def url(self) -> str:
        """The address of both."""
        return self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def account(self, **changes: str) -> dict[str, str]:
        """Return the JSON key of the service account."""
        key = {
            "type": "service_account",
            "project_id": "acme",
            "private_key_id": "1",
            "private_key": private_key(),
            "client_email": EMAIL,
            "token_uri": f"{self.url}/token",
        }
        return {**key, **changes}

    def write(self, name: str, content: bytes, *, content_type: str = "text/plain", is_sealed: bool = False) -> None:
        """Put an object."""
        self._writes += 1
        self.objects[name] = Stored(content, content_type, self._writes, is_sealed)

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        if set(form) != {"grant_type", "assertion"} or form["grant_type"] != GRANT:
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        try:
            token = jwt.decode(str(form["assertion"]), jwk.RSAKey.import_key(private_key()), algorithms=["RS256"])
        except (JoseError, ValueError):
            return web.json_response({"error": "invalid_grant"}, status=400)
        claims, now = token.claims, time.time()
        is_right = (claims["iss"], claims["aud"], claims["scope"]) == (EMAIL, f"{self.url}/token", SCOPE)
        if not is_right or abs(now - claims["iat"]) > 300 or not 0 < claims["exp"] - claims["iat"] <= 3600:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self._writes += 1
        self.tokens.append(f"ya29.{self._writes}")
        return web.json_response({
            "access_token": self.tokens[-1],
            "expires_in": self.token_seconds,
            "token_type": "Bearer",
        })  # fmt: skip

    async def _answer(self, request: web.Request) -> web.Response:
        path, _, query = request.raw_path.partition("?")
        self.asked.append(request.raw_path)
        parameters = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
        if self.refused:
            return _error(*self.refused.pop(0))
        told = request.headers.get("authorization")
        if told is None and not self.is_public:
            return _error(401, "required")
        if told is not None and told.removeprefix("Bearer ") not in self.tokens:
            return _error(401, "authError")
        if parameters.get("userProject") != self.payer:
            return _error(400, "required")
        root = f"/storage/v1/b/{BUCKET}/o"
        if path == root:
            return self._listing(parameters)
        if not path.startswith(f"{root}/") or "/" in path[len(root) + 1 :]:
            return _error(404, "notFound")
        if parameters.keys() - OBJECT_PARAMETERS:
            return _error(400, "invalidParameter")
        name = unquote(path[len(root) + 1 :])
        found = self.objects.get(name)
        if found is None:
            return _error(404, "notFound")
        if parameters.get("alt") == "media":
            return web.Response(body=found.content, headers={"content-type": found.content_type})
        return web.json_response(_resource(name, found))

    def _listing(self, parameters: dict[str, str]) -> web.Response:
        if parameters.keys() - LIST_PARAMETERS or "" in parameters.values():
            return _error(400, "invalidParameter")
        prefix, offset = parameters.get("prefix", ""), parameters.get("startOffset", "")
        begin = offset
        if token := parameters.get("pageToken"):
            *same, begin = json.loads(base64.b64decode(token))
            if same != [prefix, offset]:
                return _error(400, "invalid")
        names = sorted(
            (name for name in self.objects if name.startswith(prefix) and name.encode() >= begin.encode()),
            key=str.encode,
        )
        size = min(int(parameters.get("maxResults", "1000")), self.page_size)
        answer: dict[str, object] = {}
        if names:
            answer["items"] = [_resource(name, self.objects[name]) for name in names[:size]]
        if len(names) > size:
            answer["nextPageToken"] = base64.b64encode(json.dumps([prefix, offset, names[size]]).encode()).decode()
        return web.json_response(answer)


def _resource(name: str, found: Stored) -> dict[str, object]:
    told: dict[str, object] = {
        "name": name,
        "generation": str(found.generation),
        "size": str(len(found.content)),
        "contentType": found.content_type,
        "updated": "2026-11-30T12:00:00.000Z",
    }
    return {**told, "customerEncryption": {"encryptionAlgorithm": "AES256"}} if found.is_sealed else told


def _error(status: int, reason: str) -> web.Response:
    error = {"code": status, "message": "Refused.", "errors": [{"domain": "global", "reason": reason}]}
    return web.json_response({"error": error}, status=status)
