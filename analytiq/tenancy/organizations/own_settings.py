"""Settings of an organization within the server's bounds: OCR languages, rate limits, the vision model.

Quotas are not among them: only an operator sets them, since a tenant could otherwise raise its own
(docs/decisions/0023-own-settings-and-storage.md).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from analytiq.errors import FieldError, InvalidInputError, NotFoundError
from analytiq.jobs.queue.registry import SILENT_SECONDS
from analytiq.models.organization import Organization
from analytiq.models.own_limits import OwnRateLimits
from analytiq.models.vision import VisionSettings
from analytiq.settings import RateLimitSettings
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.workers import WorkerRepository
from analytiq.tenancy.rate_limits.limits import servers_limits
from analytiq.tenancy.rate_limits.own import OwnLimits

MOST_OCR_LANGUAGES = 8
"""Most languages: each takes about 100 MB of the child process that reads a document, and time for each page."""
MOST_MODELS = 100


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The server's settings: defaults and upper bounds of an organization's."""

    ocr_languages: tuple[str, ...]
    rate_limits: RateLimitSettings
    installed_languages: Callable[[], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change: languages if `sets_languages`, None for the server's; limits and the vision model unless None."""

    sets_languages: bool = False
    ocr_languages: Sequence[str] | None = None
    rate_limits: OwnRateLimits | None = None
    vision: VisionSettings | None = None


class OwnSettings:
    """Settings of organizations."""

    def __init__(
        self,
        organizations: OrganizationRepository,
        workers: WorkerRepository,
        own_limits: OwnLimits,
        server: ServerSettings,
    ) -> None:
        self._organizations = organizations
        self._workers = workers
        self._own_limits = own_limits
        self.server = server

    async def available_ocr_languages(self) -> tuple[str, ...]:
        """Return the languages that every worker can read, sorted, since any worker may get a document.

        Without a worker, return this machine's languages.
        """
        workers = await self._workers.seen_within(SILENT_SECONDS)
        if not workers:
            return self.server.installed_languages()
        return tuple(sorted(set[str].intersection(*(set(worker.ocr_languages) for worker in workers))))

    async def change(self, organization: Organization, change: SettingsChange) -> Organization:
        """Apply a change as a whole: limits within seconds, the rest from the next extraction on.

        Raises:
            InvalidInputError: a worker cannot read a language, or a limit is above the server's; names the allowed
                values.
            NotFoundError: the organization is gone.
        """
        fields: dict[str, object] = {}
        errors: list[FieldError] = []
        if change.sets_languages:
            wanted = None if change.ocr_languages is None else list(dict.fromkeys(change.ocr_languages))
            if wanted is not None:
                errors += ocr_language_errors(wanted, await self.available_ocr_languages())
            fields["ocr_languages"] = wanted
        if change.rate_limits is not None:
            errors += rate_limit_errors(change.rate_limits, self.server.rate_limits)
            fields["rate_limits"] = change.rate_limits.model_dump(mode="json")
        if change.vision is not None:
            errors += vision_errors(change.vision)
            fields["vision"] = change.vision.model_dump(mode="json")
        if errors:
            raise InvalidInputError("; ".join(f"{item.field}: {item.reason}" for item in errors), errors=errors)
        if not fields:
            return organization
        changed = await self._organizations.change(organization.id, fields)
        if changed is None:
            raise NotFoundError(f"No organization has the id {organization.id!r}. It may have been deleted.")
        self._own_limits.forget(organization.id)
        return changed


def ocr_language_errors(wanted: Sequence[str], available: Collection[str]) -> list[FieldError]:
    """Return the errors of a choice of languages."""
    if not wanted:
        return [
            FieldError("ocr_languages", "The list is empty. Name at least one language, or give null for the server's.")
        ]
    if len(wanted) > MOST_OCR_LANGUAGES:
        return [
            FieldError(
                "ocr_languages",
                f"At most {MOST_OCR_LANGUAGES} languages are allowed, since each takes memory and time. Leave"
                " some out.",
            )
        ]
    known = ", ".join(sorted(available)) or "none"
    return [
        FieldError(
            f"ocr_languages[{index}]",
            f"Not every worker has data for {language!r}. Installed on all: {known}.",
        )
        for index, language in enumerate(wanted)
        if language not in available
    ]


def vision_errors(wanted: VisionSettings) -> list[FieldError]:
    """Return the errors of a choice of tasks without a model."""
    if wanted.model is not None or not (wanted.describe_figures or wanted.read_pages):
        return []
    return [FieldError("vision.model", "Figures and pages need a model. Name a vision model of one of your providers.")]


def rate_limit_errors(wanted: OwnRateLimits, server: RateLimitSettings) -> list[FieldError]:
    """Return the errors of limits above the server's; an equal limit has no effect."""
    return [
        FieldError(f"rate_limits.{field}", f"The limit must be from 1 to {most:,}, the server's limit.")
        if most
        else FieldError(f"rate_limits.{field}", "The limit must be at least 1.")
        for field, value, most in _pairs(wanted, server)
        if value is not None and (value < 1 or (most and value > most))
    ] + _model_list_errors(wanted)


def _pairs(wanted: OwnRateLimits, server: RateLimitSettings) -> Iterator[tuple[str, int | None, int]]:
    """Yield each field with the wanted limit and the server's; 0 is no limit."""
    yield "requests_per_minute", wanted.requests_per_minute, server.requests_per_minute
    yield "tokens_per_minute", wanted.tokens_per_minute, server.tokens_per_minute
    yield "documents_per_minute", wanted.documents_per_minute, server.documents_per_minute
    for index, limit in enumerate(wanted.models):
        requests, tokens = servers_limits(limit.model, server)
        yield f"models[{index}].requests_per_minute", limit.requests_per_minute, requests
        yield f"models[{index}].tokens_per_minute", limit.tokens_per_minute, tokens


def _model_list_errors(wanted: OwnRateLimits) -> list[FieldError]:
    if len(wanted.models) > MOST_MODELS:
        return [FieldError("rate_limits.models", f"At most {MOST_MODELS} models are allowed. Leave some out.")]
    names = [limit.model for limit in wanted.models]
    return [
        FieldError(f"rate_limits.models[{index}].model", f"{name!r} is named twice. Name it once.")
        for index, name in enumerate(names)
        if name in names[:index]
    ]
