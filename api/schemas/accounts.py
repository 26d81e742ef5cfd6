"""Wire shapes of people, sessions, members, invitations and the audit log."""

from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from analytiq.models.account import ADDRESS, Invitation, Role, User, UserSession
from analytiq.models.audit import AuditEntry
from analytiq.tenancy.accounts.invitations import Invited, OpenInvitation
from analytiq.tenancy.accounts.people import Person
from analytiq.tenancy.accounts.secrets import csrf_token_of
from analytiq.tenancy.accounts.sessions import Membership
from api.schemas.wire import NO_CONTROLS, MadeBy, Moment, RequestBody, ResponseBody


def _address(text: str) -> str:
    if not ADDRESS.fullmatch(text):
        raise ValueError("is not an address such as ada@example.com")
    return text


Email = Annotated[str, StringConstraints(strip_whitespace=True, max_length=254), NO_CONTROLS, AfterValidator(_address)]
PersonName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS]
Password = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "password"})]
LinkSecret = Annotated[str, Field(min_length=1, max_length=200, description="What stands behind # in the link")]


class SignInBody(RequestBody):
    """An address and its password."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"email": "ada@example.com", "password": "correct horse battery"}]},
    )

    email: Email
    password: Password


class NameChangeBody(RequestBody):
    """What a person is called from now on."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Ada Lovelace"}]})

    name: PersonName


class PasswordChangeBody(RequestBody):
    """The password in use, and the one to come."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"current_password": "correct horse battery", "new_password": "staple another one"}]
        },
    )

    current_password: Password
    new_password: Password


class PasswordResetRequestBody(RequestBody):
    """Whose password is forgotten."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"email": "ada@example.com"}]})

    email: Email


class PasswordResetBody(RequestBody):
    """A link's secret, and the password to come."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"token": "what-stands-behind-the-hash", "password": "staple another one"}]},
    )

    token: LinkSecret
    password: Password


class InvitationLookBody(RequestBody):
    """A link's secret."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"token": "what-stands-behind-the-hash"}]}
    )

    token: LinkSecret


class InvitationAcceptBody(RequestBody):
    """Who becomes a member: somebody new with a name and a password, or, without them, whoever is signed in."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"token": "what-stands-behind-the-hash", "name": "Ada", "password": "correct horse battery"}]
        },
    )

    token: LinkSecret
    email: Email | None = Field(None, description="Where the invitation names none")
    name: PersonName | None = None
    password: Password | None = None


class SignInWays(ResponseBody):
    """How people sign in here."""

    oidc_name: str | None = Field(description="What the provider is called; null where there is none")
    sends_mail: bool = Field(description="Whether a forgotten password's link comes by mail")
    has_cookie: bool = Field(description="Whether this browser has a session's cookie, which may have ended since")


class SessionOrganization(ResponseBody):
    """An organization of the person who is signed in."""

    organization_id: str
    organization_name: str
    role: Role


class SessionResponse(ResponseBody):
    """Who is signed in."""

    user_id: str
    email: str
    name: str
    organizations: list[SessionOrganization]
    csrf_token: str = Field(description="Send it as X-CSRF-Token with every call that changes something")
    expires_at: Moment

    @classmethod
    def of(cls, user: User, session: UserSession, secret: str, organizations: list[Membership]) -> "SessionResponse":
        """From the library's shapes."""
        return cls(
            user_id=user.id,
            email=user.email,
            name=user.name,
            organizations=[
                SessionOrganization(
                    organization_id=membership.member.organization_id,
                    organization_name=membership.organization_name,
                    role=membership.member.role,
                )
                for membership in organizations
            ],
            csrf_token=csrf_token_of(secret),
            expires_at=session.expires_at,
        )


class OpenSession(ResponseBody):
    """A browser in which the person is signed in."""

    session_id: str
    is_current: bool = Field(description="Whether it is the session that asks")
    created_at: Moment
    last_seen_at: Moment = Field(description="To five minutes")
    expires_at: Moment = Field(description="Unless it is used before")
    address: str | None = Field(description="From where the sign-in came")
    user_agent: str | None = Field(description="As the browser called itself at the sign-in; at most 300 characters")

    @classmethod
    def of(cls, session: UserSession, current: UserSession) -> "OpenSession":
        """From the stored shape; its secret's hash stays there."""
        return cls(
            session_id=session.id,
            is_current=session.id == current.id,
            created_at=session.created_at,
            last_seen_at=session.last_seen_at,
            expires_at=session.expires_at,
            address=session.address,
            user_agent=session.user_agent,
        )


class OpenSessionList(ResponseBody):
    """A page of a person's sessions."""

    sessions: list[OpenSession]
    total_count: int
    skip: int


class SignedOut(ResponseBody):
    """In how many browsers the person was signed in."""

    sessions: int


class InvitationPreview(ResponseBody):
    """What an invitation leads to."""

    organization_name: str
    email: str | None
    role: Role
    expires_at: Moment

    @classmethod
    def of(cls, found: OpenInvitation) -> "InvitationPreview":
        """From the library's shape."""
        return cls(
            organization_name=found.organization_name,
            email=found.invitation.email,
            role=found.role,
            expires_at=found.invitation.expires_at,
        )


class MemberResponse(ResponseBody):
    """A member of an organization."""

    user_id: str
    email: str
    name: str
    role: Role
    created_at: Moment
    last_signed_in_at: Moment | None

    @classmethod
    def of(cls, person: Person) -> "MemberResponse":
        """From the library's shape."""
        return cls(
            user_id=person.user.id,
            email=person.user.email,
            name=person.user.name,
            role=person.member.role,
            created_at=person.member.created_at,
            last_signed_in_at=person.user.last_signed_in_at,
        )


class MemberList(ResponseBody):
    """A page of members."""

    members: list[MemberResponse]
    total_count: int
    skip: int


class MemberRoleBody(RequestBody):
    """Another role."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]})

    role: Role


class InvitationCreate(RequestBody):
    """Somebody to invite."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "grace@example.com", "role": "editor"}]}
    )

    email: Email
    role: Role


class InvitationResponse(ResponseBody):
    """An invitation that is neither used nor expired."""

    invitation_id: str
    email: str | None
    role: Role
    invited_by: str | None
    created_at: Moment
    expires_at: Moment
    made_by: MadeBy | None = Field(description="Whose rights bound it; null: made before makers were recorded")
    role_now: Role | None = Field(
        description="What it makes of its follower now: `role`, or less where its maker may give less; null: nothing,"
        " since its maker has left the organization or may invite nobody any more"
    )

    @classmethod
    def of(cls, invitation: Invitation, role_now: Role | None) -> "InvitationResponse":
        """From the stored shape."""
        return cls.model_validate(_fields(invitation, role_now))


class InvitationCreated(InvitationResponse):
    """A new invitation with its link's secret, which is shown this once, if at all."""

    token: str | None = Field(
        description="The link is /invite/#<token>; it is not stored and cannot be shown again. Null where it was"
        " mailed: following it would tell others whether the address has an account"
    )
    is_mailed: bool = Field(description="Whether the link was sent to the address")

    @classmethod
    def with_secret(cls, invited: Invited, *, is_mailed: bool) -> "InvitationCreated":
        """From the library's shape."""
        secret = None if is_mailed else invited.secret.get_secret_value()
        fields = _fields(invited.invitation, invited.invitation.role)
        return cls.model_validate({**fields, "token": secret, "is_mailed": is_mailed})


def _fields(invitation: Invitation, role_now: Role | None) -> dict[str, object]:
    return {
        "invitation_id": invitation.id,
        "email": invitation.email,
        "role": invitation.role,
        "invited_by": invitation.invited_by,
        "created_at": invitation.created_at,
        "expires_at": invitation.expires_at,
        "made_by": MadeBy.of(invitation.made_by),
        "role_now": role_now,
    }


class InvitationList(ResponseBody):
    """A page of invitations."""

    invitations: list[InvitationResponse]
    total_count: int
    skip: int


class AuditActor(ResponseBody):
    """Who did it, as they were called then."""

    kind: str
    id: str | None
    name: str


class AuditEntryResponse(ResponseBody):
    """One deed."""

    entry_id: str
    at: Moment
    action: str
    actor: AuditActor
    target: dict[str, str]
    address: str | None
    request_id: str | None
    status: int = Field(description="What the call was answered with")

    @classmethod
    def of(cls, entry: AuditEntry) -> "AuditEntryResponse":
        """From the stored shape."""
        return cls(
            entry_id=entry.id,
            at=entry.at,
            action=entry.action,
            actor=AuditActor(kind=entry.actor.kind.value, id=entry.actor.id, name=entry.actor.name),
            target=entry.target,
            address=entry.address,
            request_id=entry.request_id,
            status=entry.status,
        )


class AuditEntryList(ResponseBody):
    """A page of the audit log."""

    entries: list[AuditEntryResponse]
    total_count: int
    skip: int
