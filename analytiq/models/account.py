"""People: who they are, what they may do in which organization, and how they are signed in."""

import re
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.maker import Maker
from analytiq.models.stored import Stored


class Permission(StrEnum):
    """What a call needs; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    """Settings, keys of providers, members, tokens that read or write, the audit log."""
    OWNER = "owner"
    """Erasing the organization, its owners, and tokens that may do everything."""

    def includes(self, wanted: "Permission") -> bool:
        """Whether who has this may do what needs `wanted`."""
        return _ORDER[self] >= _ORDER[wanted]

    def at_most(self, bound: "Permission") -> "Permission":
        """Return the lesser of the two."""
        return self if bound.includes(self) else bound


_ORDER = {permission: place for place, permission in enumerate(Permission)}


class Role(StrEnum):
    """A person's part in an organization."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def permission(self) -> Permission:
        """What the role may do."""
        return _OF_ROLE[self]


_OF_ROLE = {
    Role.VIEWER: Permission.READ,
    Role.EDITOR: Permission.WRITE,
    Role.ADMIN: Permission.ADMIN,
    Role.OWNER: Permission.OWNER,
}


class TokenScope(StrEnum):
    """What an access token may do. Machines have no owner above them, so `admin` is everything."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def permission(self) -> Permission:
        """What a token of this scope may do."""
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
    """A person's part in one organization."""

    id: str
    organization_id: str
    user_id: str
    role: Role
    created_at: datetime


class UserSession(Stored):
    """A browser that is signed in; the cookie's secret is kept as SHA-256."""

    id: str
    secret_hash: str
    user_id: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    """The server deletes it then."""
    address: str | None = None
    user_agent: str | None = None


class Invitation(Stored):
    """A link that makes whoever follows it a member; its secret is kept as SHA-256, and it works once.

    `email` None: whoever has the link may say who they are (the first owner, invited by the command line).
    """

    id: str
    organization_id: str
    email: str | None
    role: Role
    secret_hash: str
    invited_by: str | None
    """The name of whoever invited."""
    made_by: Maker | None = None
    """Whose rights bound it; None in rows that are older than makers."""
    created_at: datetime
    expires_at: datetime
    accepted_at: datetime | None = None


class LinkPurpose(StrEnum):
    """What a one-time link is for."""

    PASSWORD_RESET = "password_reset"  # noqa: S105  # a purpose
    OIDC_SIGN_IN = "oidc_sign_in"


class OneTimeLink(Stored):
    """A secret that works once, until it expires: a password's reset, or a sign-in that went to a provider."""

    id: str
    purpose: LinkPurpose
    secret_hash: str
    user_id: str | None = None
    payload: dict[str, str] = Field(default_factory=dict[str, str])
    expires_at: datetime


ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
"""What can be an address of mail; only a mail that arrives shows more."""


def normalize(email: str) -> str:
    """How an address is kept and compared."""
    return email.strip().lower()
