"""Wire shapes of people, sessions, members, invitations and the audit log."""

from typing import Annotated

from pydantic import AfterValidator, AliasPath, ConfigDict, Field, StringConstraints

from analytiq.models.account import ADDRESS, Role, User, UserSession
from analytiq.tenancy.accounts.invitations import Invited
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

    organization_id: str = Field(validation_alias=AliasPath("member", "organization_id"))
    organization_name: str
    role: Role = Field(validation_alias=AliasPath("member", "role"))


class SessionResponse(ResponseBody):
    """Who is signed in."""

    user_id: str = Field(validation_alias="id")
    email: str
    name: str
    organizations: list[SessionOrganization]
    csrf_token: str = Field(description="Send it as X-CSRF-Token with every call that changes something")
    expires_at: Moment

    @classmethod
    def from_session(
        cls, user: User, session: UserSession, secret: str, organizations: list[Membership]
    ) -> "SessionResponse":
        """Build the response from a person, the session and its secret."""
        csrf_token = csrf_token_of(secret)
        return cls.from_model(user, session, organizations=organizations, csrf_token=csrf_token)


class OpenSession(ResponseBody):
    """A browser in which the person is signed in."""

    session_id: str = Field(validation_alias="id")
    is_current: bool = Field(description="Whether it is the session that asks")
    created_at: Moment
    last_seen_at: Moment = Field(description="To five minutes")
    expires_at: Moment = Field(description="Unless it is used before")
    address: str | None = Field(description="From where the sign-in came")
    user_agent: str | None = Field(description="As the browser called itself at the sign-in; at most 300 characters")


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
    email: str | None = Field(validation_alias=AliasPath("invitation", "email"))
    role: Role
    expires_at: Moment = Field(validation_alias=AliasPath("invitation", "expires_at"))


class MemberResponse(ResponseBody):
    """A member of an organization."""

    user_id: str = Field(validation_alias=AliasPath("user", "id"))
    email: str = Field(validation_alias=AliasPath("user", "email"))
    name: str = Field(validation_alias=AliasPath("user", "name"))
    role: Role = Field(validation_alias=AliasPath("member", "role"))
    created_at: Moment = Field(validation_alias=AliasPath("member", "created_at"))
    last_signed_in_at: Moment | None = Field(validation_alias=AliasPath("user", "last_signed_in_at"))


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

    invitation_id: str = Field(validation_alias="id")
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


class InvitationCreated(InvitationResponse):
    """A new invitation with its link's secret, which is shown this once, if at all."""

    token: str | None = Field(
        description="The link is /invite/#<token>; it is not stored and cannot be shown again. Null where it was"
        " mailed: following it would tell others whether the address has an account"
    )
    is_mailed: bool = Field(description="Whether the link was sent to the address")

    @classmethod
    def with_secret(cls, invited: Invited, *, is_mailed: bool) -> "InvitationCreated":
        """Build the response; the secret of a mailed link is left out."""
        invitation = invited.invitation
        token = None if is_mailed else invited.secret.get_secret_value()
        return cls.from_model(invitation, role_now=invitation.role, token=token, is_mailed=is_mailed)


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

    entry_id: str = Field(validation_alias="id")
    at: Moment
    action: str
    actor: AuditActor
    target: dict[str, str]
    address: str | None
    request_id: str | None
    status: int = Field(description="What the call was answered with")


class AuditEntryList(ResponseBody):
    """A page of the audit log."""

    entries: list[AuditEntryResponse]
    total_count: int
    skip: int
