"""Request and response bodies of people, sessions, members, invitations and the audit log."""

from typing import Annotated

from pydantic import AfterValidator, AliasPath, ConfigDict, Field, StringConstraints

from analytiq.models.account import ADDRESS, Role, User, UserSession
from analytiq.tenancy.accounts.invitations import Invited
from analytiq.tenancy.accounts.secrets import csrf_token_of
from analytiq.tenancy.accounts.sessions import Membership
from api.schemas.wire import NO_CONTROLS, MadeBy, Moment, RequestBody, ResponseBody


def _address(text: str) -> str:
    if not ADDRESS.fullmatch(text):
        raise ValueError("Not an email address such as ada@example.com.")
    return text


Email = Annotated[str, StringConstraints(strip_whitespace=True, max_length=254), NO_CONTROLS, AfterValidator(_address)]
PersonName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS]
Password = Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "password"})]
LinkSecret = Annotated[str, Field(min_length=1, max_length=200, description="The part of the link after #")]


class SignInBody(RequestBody):
    """An email address and its password."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"email": "ada@example.com", "password": "correct horse battery"}]},
    )

    email: Email
    password: Password


class NameChangeBody(RequestBody):
    """The person's new name."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Ada Lovelace"}]})

    name: PersonName


class PasswordChangeBody(RequestBody):
    """The current and the new password."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"current_password": "correct horse battery", "new_password": "staple another one"}]
        },
    )

    current_password: Password
    new_password: Password


class PasswordResetRequestBody(RequestBody):
    """The email address of the account."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"email": "ada@example.com"}]})

    email: Email


class PasswordResetBody(RequestBody):
    """A link's secret and the new password."""

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
    """A new person with name and password, or, without them, the signed-in person."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"token": "what-stands-behind-the-hash", "name": "Ada", "password": "correct horse battery"}]
        },
    )

    token: LinkSecret
    email: Email | None = Field(None, description="Required if the invitation has no address")
    name: PersonName | None = None
    password: Password | None = None


class SignInWays(ResponseBody):
    """The available ways to sign in."""

    oidc_name: str | None = Field(description="Name of the identity provider; null without one")
    sends_mail: bool = Field(description="True if password reset links are sent by mail")
    has_cookie: bool = Field(description="True if this browser has a session cookie, possibly of an expired session")


class SessionOrganization(ResponseBody):
    """An organization of the signed-in person."""

    organization_id: str = Field(validation_alias=AliasPath("member", "organization_id"))
    organization_name: str
    role: Role = Field(validation_alias=AliasPath("member", "role"))


class SessionResponse(ResponseBody):
    """The signed-in person."""

    user_id: str = Field(validation_alias="id")
    email: str
    name: str
    organizations: list[SessionOrganization]
    csrf_token: str = Field(description="Send it as X-CSRF-Token with every request that changes data")
    expires_at: Moment

    @classmethod
    def from_session(
        cls, user: User, session: UserSession, secret: str, organizations: list[Membership]
    ) -> "SessionResponse":
        """Build the response from a person, the session and its secret."""
        csrf_token = csrf_token_of(secret)
        return cls.from_model(user, session, organizations=organizations, csrf_token=csrf_token)


class OpenSession(ResponseBody):
    """A signed-in browser of the person."""

    session_id: str = Field(validation_alias="id")
    is_current: bool = Field(description="True if the request belongs to this session")
    created_at: Moment
    last_seen_at: Moment = Field(description="Accurate to five minutes")
    expires_at: Moment = Field(description="Extended by use")
    address: str | None = Field(description="Network address at sign-in")
    user_agent: str | None = Field(description="The browser's user agent at sign-in; at most 300 characters")


class OpenSessionList(ResponseBody):
    """A page of a person's sessions."""

    sessions: list[OpenSession]
    total_count: int
    skip: int


class SignedOut(ResponseBody):
    """The number of signed-out browsers."""

    sessions: int


class InvitationPreview(ResponseBody):
    """The organization and role of an invitation."""

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
    """The new role."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]})

    role: Role


class InvitationCreate(RequestBody):
    """An invitation to create."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"email": "grace@example.com", "role": "editor"}]}
    )

    email: Email
    role: Role


class InvitationResponse(ResponseBody):
    """An open invitation."""

    invitation_id: str = Field(validation_alias="id")
    email: str | None
    role: Role
    invited_by: str | None
    created_at: Moment
    expires_at: Moment
    made_by: MadeBy | None = Field(
        description="The creator, whose rights bound the invitation; null: created before creators were recorded"
    )
    role_now: Role | None = Field(
        description="The role granted now: `role`, or less if its creator may grant less; null: none, since its "
        "creator has left the organization or may no longer invite"
    )


class InvitationCreated(InvitationResponse):
    """A new invitation with its link's secret, shown only once."""

    token: str | None = Field(
        description="The link is /invite/#<token>. The secret is not stored and not shown again. Null if it was "
        "mailed, since following the link reveals whether the address has an account"
    )
    is_mailed: bool = Field(description="True if the link was mailed")

    @classmethod
    def with_secret(cls, invited: Invited, *, is_mailed: bool) -> "InvitationCreated":
        """Build the response without the secret of a mailed link."""
        invitation = invited.invitation
        token = None if is_mailed else invited.secret.get_secret_value()
        return cls.from_model(invitation, role_now=invitation.role, token=token, is_mailed=is_mailed)


class InvitationList(ResponseBody):
    """A page of invitations."""

    invitations: list[InvitationResponse]
    total_count: int
    skip: int


class AuditActor(ResponseBody):
    """The actor with their name at that time."""

    kind: str
    id: str | None
    name: str


class AuditEntryResponse(ResponseBody):
    """One action."""

    entry_id: str = Field(validation_alias="id")
    at: Moment
    action: str
    actor: AuditActor
    target: dict[str, str]
    address: str | None
    request_id: str | None
    status: int = Field(description="HTTP status of the response")


class AuditEntryList(ResponseBody):
    """A page of the audit log."""

    entries: list[AuditEntryResponse]
    total_count: int
    skip: int
