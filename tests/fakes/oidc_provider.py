"""A small OpenID Connect provider over real HTTP, with real keys and RS256. Only a test tool.

It serves its metadata, its keys, an authorization endpoint that asks nobody (the person is `subject`), and a token
endpoint that is strict: code used once, redirect address as before, PKCE S256, the client's secret.

    with OidcProvider() as provider:
        provider.email = "ada@example.com"
        ...  # issuer provider.url, client provider.client_id, provider.client_secret

`tamper` may change an ID token's claims, `signing_key` signs it: with another key it is a forgery.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from tests.fakes.server_loop import AppServer

Claims = dict[str, Any]


@dataclass(slots=True)
class OidcProvider:
    """Start it as a context manager; what it says of the person can be changed while it runs."""

    client_id: str = "analytiq-tests"
    client_secret: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    subject: str = "person-1"
    email: str = "ada@example.com"
    email_verified: object = True
    tamper: Callable[[Claims], None] = lambda _: None
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"}))
    signing_key: RSAKey | None = None
    url: str = ""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The parameters of each authorization that was asked for."""
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _server: AppServer | None = None

    def __enter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._metadata)
        app.router.add_get("/keys", self._keys)
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        self._server = AppServer(app)
        self._server.start()
        self.url = self._server.url
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Answer nothing any more; doing it twice is harmless."""
        if self._server is not None:
            self._server.stop()

    async def _metadata(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "response_types_supported": ["code"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "code_challenge_methods_supported": ["S256"],
            }
        )

    async def _keys(self, _: web.Request) -> web.Response:
        return web.json_response(KeySet([self.key]).as_dict(private=False))

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.asked.append(asked)
        wanted = {"client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "code_challenge"}
        if missing := wanted - asked.keys():
            return web.json_response({"error": "invalid_request", "missing": sorted(missing)}, status=400)
        if asked["client_id"] != self.client_id or asked.get("code_challenge_method") != "S256":
            return web.json_response({"error": "invalid_request"}, status=400)
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        raise web.HTTPFound(f"{asked['redirect_uri']}?{back}")

    async def _token(self, request: web.Request) -> web.Response:
        form = {key: str(value) for key, value in (await request.post()).items()}
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return web.json_response({"error": "invalid_client"}, status=401)
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != asked["redirect_uri"]
            or challenge != asked["code_challenge"]
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(time.time())
        claims: Claims = {
            "iss": self.url, "aud": self.client_id, "sub": self.subject, "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], "email": self.email, "email_verified": self.email_verified,
        }  # fmt: skip
        self.tamper(claims)
        id_token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.signing_key or self.key)
        return web.json_response({"access_token": "unused", "token_type": "Bearer", "id_token": id_token})
