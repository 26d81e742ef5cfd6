"""Operations on people: members, invitations, the audit log, and a person's own session."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, SecretStr

from analytiq.client.calls import all_items, call, delete, given, post, put
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.organizations import between
from analytiq.client.paths import segment
from analytiq.client.people_models import (
    AuditEntry,
    Invitation,
    InvitationPreview,
    IssuedInvitation,
    Member,
    OpenSession,
    OpenSessions,
    Session,
    SignedOut,
    SignInWays,
)
from analytiq.client.steps import Emit, Flow, Identify, Items, Request

CSRF_HEADER = "X-CSRF-Token"


class PeopleCalls(Calls):
    """Members, invitations and the audit log of the organization."""

    @listing
    def members(self) -> Items[Member]:
        """Yield all members, by name."""
        return all_items("/members", "members", Member)

    @operation
    def update_member(self, user_id: str, role: str) -> Flow[Member]:
        """Give a member another role."""
        return put(f"/members/{segment(user_id)}", Member, {"role": role})

    @operation
    def delete_member(self, user_id: str) -> Flow[None]:
        """Remove a person from the organization; their tokens end."""
        return delete(f"/members/{segment(user_id)}")

    @listing
    def invitations(self) -> Items[Invitation]:
        """Yield all open invitations, newest first."""
        return all_items("/invitations", "invitations", Invitation)

    @operation
    def create_invitation(self, email: str, role: str) -> Flow[IssuedInvitation]:
        """Invite a person; `token` is the secret of the link, unless it was mailed."""
        return post("/invitations", IssuedInvitation, {"email": email, "role": role})

    @operation
    def take_over_invitation(self, invitation_id: str) -> Flow[Invitation]:
        """Become the maker of an invitation, so that it no longer ends with its former maker."""
        return post(f"/invitations/{segment(invitation_id)}/take-over", Invitation)

    @operation
    def delete_invitation(self, invitation_id: str) -> Flow[None]:
        """Withdraw an invitation."""
        return delete(f"/invitations/{segment(invitation_id)}")

    @listing
    def audit_log(
        self,
        *,
        action: str | None = None,
        actor_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Items[AuditEntry]:
        """Yield the matching entries of the audit log, latest first."""
        query = {"action": action, "actor_id": actor_id, **between(since, until)}
        return all_items("/audit-log", "entries", AuditEntry, query)


class SessionCalls(Calls):
    """Sign-in by password: afterwards the client acts as that person, without an access token."""

    @operation
    def sign_in_ways(self) -> Flow[SignInWays]:
        """Return the available ways to sign in."""
        return _read("/v0/auth/ways", SignInWays)

    @operation
    def sign_in(self, email: str, password: SecretStr) -> Flow[Session]:
        """Sign in; the client holds the session until `sign_out`."""
        body = {"email": email, "password": password.get_secret_value()}
        return _signed_in("/v0/auth/sign-in", body)

    @operation
    def session(self) -> Flow[Session]:
        """Return the signed-in person with their organizations."""
        return _read("/v0/auth/session", Session)

    @operation
    def change_name(self, name: str) -> Flow[Session]:
        """Change the name of the signed-in person."""
        reply = yield from call(Request("PUT", "/v0/auth/name", json={"name": name}, is_outside=True))
        return Session.model_validate_json(reply.content)

    @listing
    def sessions(self) -> Items[OpenSession]:
        """Yield the open browser sessions of the signed-in person."""
        skip = 0
        while True:
            request = Request("GET", "/v0/auth/sessions", query={"skip": skip, "limit": 100}, is_outside=True)
            reply = yield from call(request)
            page = OpenSessions.model_validate_json(reply.content)
            for item in page.sessions:
                yield Emit(item)
            skip += len(page.sessions)
            if not page.sessions or skip >= page.total_count:
                return

    @operation
    def end_session(self, session_id: str) -> Flow[None]:
        """End one of the person's sessions."""
        yield from call(Request("DELETE", f"/v0/auth/sessions/{segment(session_id)}", is_outside=True))

    @operation
    def sign_out(self) -> Flow[None]:
        """End this session."""
        yield from call(Request("POST", "/v0/auth/sign-out", is_outside=True))

    @operation
    def sign_out_everywhere(self) -> Flow[SignedOut]:
        """End all sessions of the person, and count them."""
        reply = yield from call(Request("POST", "/v0/auth/sign-out-everywhere", is_outside=True))
        return SignedOut.model_validate_json(reply.content)

    @operation
    def change_password(self, current_password: SecretStr, new_password: SecretStr) -> Flow[None]:
        """Change the password of the signed-in person."""
        body = {
            "current_password": current_password.get_secret_value(),
            "new_password": new_password.get_secret_value(),
        }
        yield from call(Request("POST", "/v0/auth/password", json=body, is_outside=True))

    @operation
    def request_password_reset(self, email: str) -> Flow[None]:
        """Mail a link to reset the password, if the address is known."""
        yield from call(Request("POST", "/v0/auth/password-reset/request", json={"email": email}, is_outside=True))

    @operation
    def reset_password(self, token: str, password: SecretStr) -> Flow[None]:
        """Set a new password by the secret of a link."""
        body = {"token": token, "password": password.get_secret_value()}
        yield from call(Request("POST", "/v0/auth/password-reset", json=body, is_outside=True))

    @operation
    def preview_invitation(self, token: str) -> Flow[InvitationPreview]:
        """Return the organization and the role that an invitation offers."""
        body = {"token": token}
        path = "/v0/auth/invitations/preview"
        reply = yield from call(Request("POST", path, json=body, is_outside=True, is_repeatable=True))
        return InvitationPreview.model_validate_json(reply.content)

    @operation
    def accept_invitation(
        self, token: str, *, email: str | None = None, name: str | None = None, password: SecretStr | None = None
    ) -> Flow[Session]:
        """Accept an invitation, and sign in.

        Args:
            token: the secret of the link, after its `#`.
            email: required if the invitation has no address.
            name: of a new person.
            password: of a new person, or the person's own.
        """
        secret = None if password is None else password.get_secret_value()
        return _signed_in("/v0/auth/invitations/accept", given(token=token, email=email, name=name, password=secret))

    @operation
    def begin_oidc_sign_in(self, next_path: str | None = None) -> Flow[str]:
        """Return the identity provider's address, to which a browser is sent."""
        return _redirected("/v0/auth/oidc/sign-in", next=next_path)

    @operation
    def finish_oidc_sign_in(self, *, state: str, code: str) -> Flow[str]:
        """Complete the identity provider's sign-in; return the page that a browser opens next."""
        return _redirected("/v0/auth/oidc/callback", state=state, code=code)

    @operation
    def finish_source_sign_in(self, *, state: str, code: str) -> Flow[str]:
        """Complete the sign-in of a source; return the page that a browser opens next."""
        return _redirected("/v0/auth/sources/callback", state=state, code=code)


M = TypeVar("M", bound=BaseModel)


def _read(path: str, model: type[M]) -> Flow[M]:
    reply = yield from call(Request("GET", path, is_outside=True))
    return model.model_validate_json(reply.content)


def _signed_in(path: str, body: Mapping[str, Any]) -> Flow[Session]:
    reply = yield from call(Request("POST", path, json=body, is_outside=True))
    session = Session.model_validate_json(reply.content)
    yield Identify({CSRF_HEADER: session.csrf_token})
    return session


def _redirected(path: str, **query: str | None) -> Flow[str]:
    reply = yield from call(Request("GET", path, query=query, is_outside=True))
    return reply.headers.get("location", "")
