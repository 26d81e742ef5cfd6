"""Settings of organizations and people: quotas, sessions, mail and single sign-on."""

from pydantic import Field, SecretStr

from analytiq.settings.section import Section


class QuotaSettings(Section):
    """Bounds on one organization's resources and requests; 0 is no limit."""

    knowledge_bases: int = Field(default=1000, ge=0)
    """Each has a collection of its own, and MongoDB files for each of its indexes."""
    tags: int = Field(default=10_000, ge=0)
    prompts: int = Field(default=1000, ge=0)
    sources: int = Field(default=1000, ge=0)
    access_tokens: int = Field(default=1000, ge=0)
    """Valid tokens."""
    invitations: int = Field(default=1000, ge=0)
    """Open invitations."""
    requests_per_minute: int = Field(default=12_000, ge=0)
    """Requests to each API process; about half of its capacity."""


class SmtpSettings(Section):
    """A mail server, for links to new passwords and invitations."""

    host: str
    port: int = Field(default=587, ge=1, le=65535)
    sender: str
    """The sender's address."""
    username: str | None = None
    password: SecretStr | None = None
    uses_starttls: bool = True


class OidcSettings(Section):
    """A provider of OpenID Connect that people may sign in with."""

    issuer: str
    """The provider's address; its metadata are at `/.well-known/openid-configuration` below it."""
    client_id: str
    client_secret: SecretStr
    name: str = "single sign-on"
    """The button's text."""


class AccountSettings(Section):
    """Accounts of people: the length of their sessions, and the base of their links."""

    session_idle_hours: float = Field(default=168.0, gt=0)
    session_days: float = Field(default=30.0, gt=0)
    invitation_days: float = Field(default=7.0, gt=0)
    reset_minutes: float = Field(default=60.0, gt=0)
    audit_days: float = Field(default=365.0, gt=0)
    smtp: SmtpSettings | None = None
    oidc: OidcSettings | None = None
