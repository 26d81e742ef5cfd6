"""Authorization codes with PKCE and refresh tokens (RFC 6749, RFC 7636), as a service's sign-in. Only a test tool.

Codes work once, for the redirect address and the challenge that they were asked with. Consent is given without asking
anybody, unless `is_denied`.
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class Consents:
    """The state of a service's sign-in.

    Attributes:
        client: id and secret of the application.
        scopes: what an application must ask for.
        needs: further parameters of the authorization address, without which there is no refresh token.
        issue: makes an access token and returns it.
        rotates: each refresh token works once, as Microsoft's.
    """

    client: tuple[str, str]
    scopes: frozenset[str]
    issue: Callable[[], str]
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    rotates: bool = False
    refresh_token: str = "refresh-1"
    is_denied: bool = False
    is_revoked: bool = False
    seconds: int = 3599
    begun: dict[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Queries of consents by the codes that they were answered with."""
    grants: list[str] = field(default_factory=list[str])

    async def authorize(self, request: web.Request) -> web.Response:
        """Answer the browser with a redirect."""
        query = dict(request.query)
        wanted = {"client_id": self.client[0], "response_type": "code", "code_challenge_method": "S256"}
        if any(query.get(name) != value for name, value in wanted.items()) or not query.get("state"):
            raise web.HTTPBadRequest(text="invalid_request")
        if frozenset(query["scope"].split()) != self.scopes:
            raise web.HTTPBadRequest(text="invalid_scope")
        back = query["redirect_uri"]
        if self.is_denied:
            raise web.HTTPFound(f"{back}?error=access_denied&state={query['state']}")
        code = f"code-{len(self.grants)}-{len(self.begun)}"
        self.begun[code] = query
        raise web.HTTPFound(f"{back}?code={code}&state={query['state']}")

    def exchange(self, form: Mapping[str, object]) -> web.Response:
        """Answer a request for tokens."""
        self.grants.append(str(form.get("grant_type")))
        if (form.get("client_id"), form.get("client_secret")) != self.client:
            return web.json_response({"error": "invalid_client"}, status=401)
        answer: dict[str, object] = {"token_type": "Bearer", "expires_in": self.seconds}
        match form.get("grant_type"):
            case "authorization_code":
                begun = self.begun.pop(str(form.get("code")), {})
                digest = hashlib.sha256(str(form.get("code_verifier")).encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if (challenge, form.get("redirect_uri")) != (begun.get("code_challenge"), begun.get("redirect_uri")):
                    return web.json_response({"error": "invalid_grant"}, status=400)
                self.is_revoked = False
                if self.needs.items() <= begun.items():
                    answer["refresh_token"] = self.refresh_token
            case "refresh_token":
                if self.is_revoked or form.get("refresh_token") != self.refresh_token:
                    return web.json_response({"error": "invalid_grant"}, status=400)
                if self.rotates:
                    self.refresh_token = f"refresh-{len(self.grants) + 1}"
                    answer["refresh_token"] = self.refresh_token
            case _:
                return web.json_response({"error": "unsupported_grant_type"}, status=400)
        return web.json_response({**answer, "access_token": self.issue()})
