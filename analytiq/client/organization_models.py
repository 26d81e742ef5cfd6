"""Answers about organizations: settings, tokens, providers, metering, forecasts."""

from datetime import datetime

from pydantic import Field

from analytiq.client.answers import Answer
from analytiq.client.models import Destination
from analytiq.client.values import FieldType


class Organization(Answer):
    """The token's organization."""

    organization_id: str
    name: str
    cache_scope: str
    created_at: datetime
    may_share_cache: bool = False
    permission: str = ""
    permission_needed: dict[str, str] = Field(default_factory=dict[str, str])


class ModelRateLimit(Answer):
    """Limits of one model per minute."""

    model: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class RateLimits(Answer):
    """Limits per minute; None: not set."""

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    documents_per_minute: int | None = None
    models: list[ModelRateLimit] = Field(default_factory=list)


class ServerSettings(Answer):
    """The server's settings, which apply unless the organization sets its own."""

    ocr_languages: list[str]
    rate_limits: RateLimits


class Vision(Answer):
    """The vision model and its tasks; `model` None: off."""

    model: str | None = None
    describe_figures: bool = False
    read_pages: bool = False


class OrganizationSettings(Answer):
    """The organization's own settings; `ocr_languages` None: the server's."""

    ocr_languages: list[str] | None
    available_ocr_languages: list[str]
    rate_limits: RateLimits
    vision: Vision = Field(default_factory=Vision)
    skipped_flaws: list[str] = Field(default_factory=list)
    server: ServerSettings


class Storage(Answer):
    """The organization's storage quota and usage; None: unlimited."""

    max_bytes: int | None
    used_bytes: int
    max_documents: int | None
    used_documents: int


class MadeBy(Answer):
    """The maker of a token or invitation; `kind` is `user`, `token` or `operator`."""

    kind: str
    id: str | None
    name: str


class AccessToken(Answer):
    """An access token, without its secret."""

    token_id: str
    name: str
    scope: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    made_by: MadeBy | None = None
    """None: made before makers were recorded."""
    permission: str | None = None
    """The present permission; None: nothing."""


class IssuedAccessToken(AccessToken):
    """A new access token; `token` is its secret, shown only once."""

    token: str


class LlmProvider(Answer):
    """A provider with a key; `source` tells whose, `key_hint` is the end of the organization's own."""

    litellm_provider: str
    source: str
    key_hint: str | None
    is_readable: bool
    api_base: str | None
    created_at: datetime
    updated_at: datetime


class LlmProviderTest(Answer):
    """The result of a test call to a provider; `detail` is a sentence."""

    litellm_provider: str
    model: str
    is_working: bool
    dimensions: int | None
    milliseconds: int
    code: str | None
    detail: str


class MetadataDeclaration(Answer):
    """The declared metadata fields, and the effects of the declaration."""

    fields: dict[str, FieldType]
    documents_rewritten: int = 0
    values_removed: int = 0


class UsageItem(Answer):
    """SPUs of one knowledge base, operation and model; `day` is None unless grouped by day."""

    day: str | None = None
    kb_id: str | None
    operation: str
    embedding_model: str
    spus: int
    saved_spus: int = 0
    unconfirmed_spus: int = 0


class Usage(Answer):
    """SPUs charged to the organization."""

    total_spus: int
    total_saved_spus: int = 0
    total_unconfirmed_spus: int = 0
    by_operation: dict[str, int]
    items: list[UsageItem] = Field(default_factory=list)


class Quota(Answer):
    """The organization's SPU quota; None: unlimited."""

    quota: int | None
    used_spus: int
    reserved_spus: int
    left_spus: int | None


class Range(Answer):
    """A number with its interval if estimated; else all three are equal."""

    value: int
    low: int
    high: int


class PriceRange(Answer):
    """US dollars with their interval."""

    value: float
    low: float
    high: float


class UnknownDocument(Answer):
    """A document whose text is not extracted yet, or unreadable."""

    document_id: str
    document_name: str
    state: str


class Forecast(Answer):
    """The forecast of indexing a knowledge base; `price_usd` is None for a model of unknown price.

    `unknown_documents` are the first of `unknown_document_count`, which no number includes. Unless `is_cache_known`,
    every chunk counts as new.
    """

    embedding_model: str
    texts_go_to: Destination
    document_count: int
    unknown_document_count: int
    unknown_documents: list[UnknownDocument]
    chunks: Range
    tokens: Range
    cached_chunks: Range
    cached_share: float | None
    spus: Range
    price_usd: PriceRange | None
    is_cache_known: bool
    is_estimated: bool
    sampled_documents: int
    sampled_characters: int


class UsageGroup(Answer):
    """SPUs of one knowledge base, operation or model."""

    id: str | None
    name: str | None
    spus: int


class UsageDay(Answer):
    """SPUs of one day by group, and those of the groups that are not shown."""

    day: str
    spus: list[int]
    other_spus: int


class DailyUsage(Answer):
    """SPUs by day; `spus` of a day are in the order of `groups`."""

    total_spus: int
    total_saved_spus: int
    total_unconfirmed_spus: int
    groups: list[UsageGroup]
    days: list[UsageDay]
