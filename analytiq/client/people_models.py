"""Answers about people: members, invitations, sessions, and the audit log."""

from datetime import datetime

from analytiq.client.answers import Answer
from analytiq.client.organization_models import MadeBy


class Member(Answer):
    """A person in the organization, with the role."""

    user_id: str
    email: str
    name: str
    role: str
    created_at: datetime
    last_signed_in_at: datetime | None


class Invitation(Answer):
    """An open invitation; `role_now` is the role that it gives at present, None: nothing."""

    invitation_id: str
    email: str | None
    role: str
    invited_by: str | None
    created_at: datetime
    expires_at: datetime
    made_by: MadeBy | None
    role_now: str | None


class IssuedInvitation(Invitation):
    """A new invitation; `token` is its secret, shown only once, and None if it was mailed."""

    token: str | None
    is_mailed: bool


class AuditActor(Answer):
    """The person, token or operator of an action."""

    kind: str
    id: str | None
    name: str


class AuditEntry(Answer):
    """An action that changed something, or was refused."""

    entry_id: str
    at: datetime
    action: str
    actor: AuditActor
    target: dict[str, str]
    address: str | None
    request_id: str | None
    status: int


class SessionOrganization(Answer):
    """An organization of a signed-in person."""

    organization_id: str
    organization_name: str
    role: str


class Session(Answer):
    """A signed-in person; `csrf_token` must be sent with changes, which the client does."""

    user_id: str
    email: str
    name: str
    organizations: list[SessionOrganization]
    csrf_token: str
    expires_at: datetime


class OpenSession(Answer):
    """A browser session of a person."""

    session_id: str
    is_current: bool
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    address: str | None
    user_agent: str | None


class SignInWays(Answer):
    """The available ways to sign in."""

    oidc_name: str | None
    sends_mail: bool
    has_cookie: bool


class SignedOut(Answer):
    """The number of ended sessions."""

    sessions: int


class InvitationPreview(Answer):
    """The organization and the role that an invitation offers."""

    organization_name: str
    email: str | None
    role: str
    expires_at: datetime


class OpenSessions(Answer):
    """A page of a person's sessions."""

    sessions: list[OpenSession]
    total_count: int
    skip: int
