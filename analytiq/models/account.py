"""People, their roles in organizations, and their sign-in."""

import re
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.maker import Maker
from analytiq.models.stored import Stored


class Permission(StrEnum):
    """The permission that a call needs; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """Settings, keys of providers, members, tokens that read or write, the audit log."""
    OWNER = "owner"
    """Erasing the organization, its owners, and tokens that may do everything."""

    def includes(self, wanted: "Permission") -> bool:
        """Return whether this permission includes `wanted`."""
        return _ORDER[self] >= _ORDER[wanted]

    def at_most(self, bound: "Permission") -> "Permission":
        """Return the lesser of the two."""
        return self if bound.includes(self) else bound


_ORDER = {permission: place for place, permission in enumerate(Permission)}


class Role(StrEnum):
    """A person's role in an organization."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def permission(self) -> Permission:
        """Return the role's permission."""
        return _OF_ROLE[self]


_OF_ROLE = {
    Role.VIEWER: Permission.READ,
    Role.EDITOR: Permission.WRITE,
    Role.ADMIN: Permission.ADMIN,
    Role.OWNER: Permission.OWNER,
}


class TokenScope(StrEnum):
    """The scope of an access token. Machines have no owner above them, so `admin` allows everything."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def permission(self) -> Permission:
        """Return the permission of a token of this scope."""
        return Permission.OWNER if self is TokenScope.ADMIN else Permission(self.value)


class User(Stored):
    """A person. `email` is lower-cased and unique; a person without a password signs in by OIDC or a link."""

    id: str
    email: str
    name: str
    password_hash: str | None = None
    """Argon2id, in its own notation."""
    oidc_issuer: str | None = None
    oidc_subject: str | None = None
    created_at: datetime
    last_signed_in_at: datetime | None = None


class Member(Stored):
    """A person's membership of one organization."""

    id: str
    organization_id: str
    user_id: str
    role: Role
    created_at: datetime


class UserSession(Stored):
    """A signed-in browser; the cookie's secret is stored as SHA-256."""

    id: str
    secret_hash: str
    user_id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    """The database deletes the row then."""
    address: str | None = None
    user_agent: str | None = None


class Invitation(Stored):
    """A link that makes its follower a member; its secret is stored as SHA-256 and works once.

    `email` None: the follower names their own address (the first owner, invited by the command line).
    """

    id: str
    organization_id: str
    email: str | None
    role: Role
    secret_hash: str
    invited_by: str | None
    """The inviter's name."""
    made_by: Maker | None = None
    """The maker whose rights bound the invitation; None in rows older than makers."""
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None


class LinkPurpose(StrEnum):
    """The purpose of a one-time link."""

    PASSWORD_RESET = "password_reset"  # noqa: S105  # a purpose
    OIDC_SIGN_IN = "oidc_sign_in"
    SOURCE_SIGN_IN = "source_sign_in"


class OneTimeLink(Stored):
    """A secret that works once until it expires: a password reset, or a sign-in in progress elsewhere."""

    id: str
    purpose: LinkPurpose
    secret_hash: str
    user_id: str | None = None
    payload: dict[str, str] = Field(default_factory=dict[str, str])
    expires_at: datetime


ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
"""The form of a mail address; only a delivered mail proves more."""


def normalize(email: str) -> str:
    """Return an address in the form that is stored and compared."""
    return email.strip().lower()
