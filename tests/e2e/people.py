"""People who sign in, as a browser does."""

from dataclasses import dataclass

import httpx

from analytiq.models.account import Role
from analytiq.storage.ids import new_id
from tests.e2e.driving import accepted

PASSWORD = "correct horse battery"


@dataclass(frozen=True, slots=True)
class SomebodySignedIn:
    """A person with the cookie and the CSRF token of a session."""

    url: str
    user_id: str
    email: str
    cookies: dict[str, str]
    csrf_token: str

    def client(self, organization_id: str) -> httpx.Client:
        """Their calls on an organization."""
        return self._client(f"{self.url}/v0/orgs/{organization_id}")

    def own_client(self) -> httpx.Client:
        """Their calls on what is their own."""
        return self._client(f"{self.url}/v0/auth")

    def _client(self, base_url: str) -> httpx.Client:
        headers = {"X-CSRF-Token": self.csrf_token}
        return httpx.Client(base_url=base_url, cookies=self.cookies, headers=headers, timeout=60.0)


def sign_in_somebody(url: str, client: httpx.Client, role: Role) -> SomebodySignedIn:
    """Invite somebody new to the organization of `client`; they accept, and are signed in."""
    email = f"{role.value}-{new_id()}@example.com"
    invited = accepted(client.post("/invitations", json={"email": email, "role": role.value}), 201)
    body = {"token": invited["token"], "name": "Somebody", "password": PASSWORD}
    response = httpx.post(f"{url}/v0/auth/invitations/accept", json=body, timeout=60.0)
    session = accepted(response)
    return SomebodySignedIn(url, session["user_id"], email, dict(response.cookies), session["csrf_token"])
