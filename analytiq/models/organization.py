"""Organizations (tenants) and the bearer tokens that open them."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.account import TokenScope
from analytiq.models.maker import Maker
from analytiq.models.metadata_field import FieldType
from analytiq.models.own_limits import OwnRateLimits
from analytiq.models.stored import Stored


class CacheScope(StrEnum):
    """Whose embeddings an organization may reuse (design 2.5).

    A global cache lets a tenant learn, by price or time, that another has the same text.
    """

    GLOBAL = "global"
    ORGANIZATION = "organization"


class Countable(StrEnum):
    """What an organization may have so many of."""

    KNOWLEDGE_BASES = "knowledge_bases"
    TAGS = "tags"
    PROMPTS = "prompts"
    ACCESS_TOKENS = "access_tokens"
    INVITATIONS = "invitations"


class Organization(Stored):
    """A tenant; everything else belongs to exactly one."""

    id: str
    name: str
    cache_scope: CacheScope = CacheScope.ORGANIZATION
    """What the organization chose: `global` counts only where the operator's settings allow it."""
    document_retention_days: int | None = None
    """After so many days documents are deleted; None: they are kept."""
    ocr_languages: tuple[str, ...] | None = None
    """Tesseract's codes; None: as the server's settings say."""
    rate_limits: OwnRateLimits = OwnRateLimits()
    metadata_fields: dict[str, FieldType] = Field(default_factory=dict[str, FieldType])
    """The keys of documents' metadata whose type is declared."""
    metadata_fields_revision: int = 0
    """Raised by each declaration: see `analytiq.ingestion.documents.metadata_fields`."""
    created_at: datetime


class AccessToken(Stored):
    """A bearer token, of which only the SHA-256 is kept."""

    id: str
    organization_id: str
    name: str
    token_hash: str
    scope: TokenScope = TokenScope.ADMIN
    """Tokens that were made before there were scopes may do everything."""
    made_by: Maker | None = None
    """Whose rights bound it; None in rows that are older than makers."""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def is_open(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)
