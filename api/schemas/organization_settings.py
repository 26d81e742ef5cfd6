"""Request and response bodies of an organization's settings and storage."""

from typing import Annotated, Literal

from pydantic import AliasPath, ConfigDict, Field, StringConstraints

from analytiq.models.flaws import SKIPPABLE, FlawKind
from analytiq.models.organization import Organization
from analytiq.models.own_limits import OwnModelLimit, OwnRateLimits
from analytiq.models.vision import VisionSettings
from analytiq.settings import RateLimitSettings
from analytiq.tenancy.organizations.own_settings import MOST_MODELS, MOST_OCR_LANGUAGES, ServerSettings
from api.schemas.wire import NO_CONTROLS, RequestBody, ResponseBody

MOST_PER_MINUTE = 1_000_000_000

ModelName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), NO_CONTROLS]
PerMinute = Annotated[int, Field(ge=1, le=MOST_PER_MINUTE)]
SkippableFlaw = Literal["noise", "misdecoded", "machine_text", "visual_order"]
Language = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z_]{1,30}$")]


class ModelLimitBody(RequestBody):
    """Limits of one model; null: the limit of the organization's other models."""

    model: ModelName
    requests_per_minute: PerMinute | None = None
    tokens_per_minute: PerMinute | None = None


class RateLimitsBody(RequestBody):
    """The organization's own limits, at most the server's; null: the server's limit."""

    requests_per_minute: PerMinute | None = Field(None, description="Calls to each model")
    tokens_per_minute: PerMinute | None = Field(None, description="Tokens sent to each model")
    documents_per_minute: PerMinute | None = Field(
        None, description="Documents that each knowledge base starts to index"
    )
    models: list[ModelLimitBody] = Field(default_factory=list[ModelLimitBody], max_length=MOST_MODELS)

    def stored(self) -> OwnRateLimits:
        """Convert to the library's request."""
        return OwnRateLimits(
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            documents_per_minute=self.documents_per_minute,
            models=tuple(OwnModelLimit.model_validate(item.model_dump()) for item in self.models),
        )


class VisionBody(RequestBody):
    """The vision model and its tasks. Each new picture costs a call with the organization's own key."""

    model: ModelName | None = Field(
        None, description="A model that reads pictures, of a provider for which the organization has stored a key"
    )
    describe_figures: bool = Field(default=False, description="Describe the figures of documents as text")
    read_pages: bool = Field(default=False, description="Read the pages that OCR reads badly")

    def stored(self) -> VisionSettings:
        """Convert to the library's request."""
        return VisionSettings.model_validate(self.model_dump())


class OrganizationSettingsUpdate(RequestBody):
    """Settings to change. Omitted fields stay; null resets to the server's value."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "ocr_languages": ["eng"],
                    "rate_limits": {
                        "requests_per_minute": 600,
                        "documents_per_minute": 300,
                        "models": [{"model": "openai/text-embedding-3-small", "tokens_per_minute": 200000}],
                    },
                    "vision": {"model": "gpt-4o-mini", "describe_figures": True, "read_pages": False},
                    "skipped_flaws": ["noise", "machine_text"],
                }
            ]
        },
    )

    ocr_languages: list[Language] | None = Field(
        None,
        max_length=MOST_OCR_LANGUAGES,
        description="Tesseract codes from `available_ocr_languages`, most frequent language first. Effective from "
        "the next extraction on",
    )
    rate_limits: RateLimitsBody | None = Field(None, description="Replaces all limits; effective within seconds")
    vision: VisionBody | None = Field(
        None, description="Replaces the vision model and its tasks; null: off. Effective from the next extraction on"
    )
    skipped_flaws: list[SkippableFlaw] | None = Field(
        None,
        max_length=len(SKIPPABLE),
        description="Kinds of flawed text that knowledge bases leave out; null: none. Documents with such text are "
        "indexed again",
    )


class ModelLimitResponse(ResponseBody):
    """Limits of one model."""

    model: str
    requests_per_minute: int | None
    tokens_per_minute: int | None


class RateLimitsResponse(ResponseBody):
    """Limits for any 60 seconds; null: not set."""

    requests_per_minute: int | None
    tokens_per_minute: int | None
    documents_per_minute: int | None
    models: list[ModelLimitResponse]

    @classmethod
    def from_settings(cls, settings: RateLimitSettings) -> "RateLimitsResponse":
        """Build the response from the settings, in which 0 means no limit."""
        return cls(
            requests_per_minute=settings.requests_per_minute or None,
            tokens_per_minute=settings.tokens_per_minute or None,
            documents_per_minute=settings.documents_per_minute or None,
            models=[
                ModelLimitResponse(
                    model=name,
                    requests_per_minute=limit.requests_per_minute or None,
                    tokens_per_minute=limit.tokens_per_minute or None,
                )
                for name, limit in sorted(settings.models.items())
            ],
        )


class VisionResponse(ResponseBody):
    """The vision model and its tasks."""

    model: str | None
    describe_figures: bool
    read_pages: bool


class ServerSettingsResponse(ResponseBody):
    """The server's values: defaults, and maximums of limits."""

    ocr_languages: list[str]
    rate_limits: RateLimitsResponse


class OrganizationSettingsResponse(ResponseBody):
    """The organization's settings and the available choices."""

    ocr_languages: list[str] | None = Field(description="null: the server's")
    available_ocr_languages: list[str] = Field(description="Languages installed on all workers that extract documents")
    rate_limits: RateLimitsResponse
    vision: VisionResponse
    skipped_flaws: list[FlawKind] = Field(description="Kinds of flawed text that knowledge bases leave out")
    server: ServerSettingsResponse

    @classmethod
    def from_settings(
        cls, organization: Organization, server: ServerSettings, available: tuple[str, ...]
    ) -> "OrganizationSettingsResponse":
        """Build the response from the organization's settings and the server's."""
        limits = RateLimitsResponse.from_settings(server.rate_limits)
        return cls.from_model(
            organization,
            available_ocr_languages=available,
            server=ServerSettingsResponse(ocr_languages=list(server.ocr_languages), rate_limits=limits),
        )


class StorageAnswer(ResponseBody):
    """The storage quota and its use: the latest files of all documents."""

    max_bytes: int | None = Field(description="null: unlimited")
    used_bytes: int = Field(validation_alias=AliasPath("used", "stored_bytes"))
    max_documents: int | None = Field(description="null: unlimited")
    used_documents: int = Field(validation_alias=AliasPath("used", "documents"))
