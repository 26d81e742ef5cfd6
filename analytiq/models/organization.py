"""Organizations (tenants) and the bearer tokens that open them."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.account import TokenScope
from analytiq.models.flaws import FlawKind
from analytiq.models.maker import Maker
from analytiq.models.metadata_field import FieldType
from analytiq.models.own_limits import OwnRateLimits
from analytiq.models.stored import Stored
from analytiq.models.vision import VisionSettings


class CacheScope(StrEnum):
    """The reach of an organization's cached embeddings.

    A global cache lets a tenant learn, by price or time, that another tenant has the same text.
    """

    GLOBAL = "global"
    ORGANIZATION = "organization"


class Countable(StrEnum):
    """Resources of an organization with an upper bound."""

    KNOWLEDGE_BASES = "knowledge_bases"
    TAGS = "tags"
    PROMPTS = "prompts"
    SOURCES = "sources"
    ACCESS_TOKENS = "access_tokens"
    INVITATIONS = "invitations"


class Organization(Stored):
    """A tenant; everything else belongs to exactly one."""

    id: str
    name: str
    cache_scope: CacheScope = CacheScope.ORGANIZATION
    """The organization's choice: `global` has effect only if the operator's settings allow it."""
    document_retention_days: int | None = None
    """Days after which documents are deleted; None keeps them."""
    ocr_languages: tuple[str, ...] | None = None
    """Tesseract's codes; None for the server's settings."""
    rate_limits: OwnRateLimits = OwnRateLimits()
    vision: VisionSettings = VisionSettings()
    skipped_flaws: tuple[FlawKind, ...] = ()
    """Kinds of flawed text that knowledge bases leave out; empty: they index it like other text."""
    metadata_fields: dict[str, FieldType] = Field(default_factory=dict[str, FieldType])
    """Metadata keys with a declared type."""
    metadata_fields_revision: int = 0
    """Raised by each declaration: see `analytiq.ingestion.documents.metadata_fields`."""
    created_at: datetime


class AccessToken(Stored):
    """A bearer token, stored as SHA-256 only."""

    id: str
    organization_id: str
    name: str
    token_hash: str
    scope: TokenScope = TokenScope.ADMIN
    """Tokens made before scopes existed allow everything."""
    made_by: Maker | None = None
    """The maker whose rights bound the token; None in rows older than makers."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Return whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
