"""What an organization sets for itself, within what the server allows: OCR languages and rate limits.

Quotas are not among it: an operator sets them, since whoever may raise his own quota has none (decision 0023).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from analytiq.errors import FieldError, InvalidInputError, NotFoundError
from analytiq.jobs.queue.registry import SILENT_SECONDS
from analytiq.models.organization import Organization
from analytiq.models.own_limits import OwnRateLimits
from analytiq.settings import RateLimitSettings
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.storage.repositories.workers import WorkerRepository
from analytiq.tenancy.rate_limits.limits import servers_limits
from analytiq.tenancy.rate_limits.own import OwnLimits

MOST_OCR_LANGUAGES = 8
"""Each takes about 100 MB of the child process that reads a document, and a part of the time for each page."""
MOST_MODELS = 100


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What counts where an organization says nothing, and what it may not exceed."""

    ocr_languages: tuple[str, ...]
    rate_limits: RateLimitSettings
    installed_languages: Callable[[], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """What is to change: languages where `sets_languages`, to the server's where they are None; limits unless None."""

    sets_languages: bool = False
    ocr_languages: Sequence[str] | None = None
    rate_limits: OwnRateLimits | None = None


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
        """Those that every worker can read, since any of them may be given a document; sorted.

        Where no worker runs, those of this machine.
        """
        workers = await self._workers.seen_within(SILENT_SECONDS)
        if not workers:
            return self.server.installed_languages()
        return tuple(sorted(set[str].intersection(*(set(worker.ocr_languages) for worker in workers))))

    async def change(self, organization: Organization, change: SettingsChange) -> Organization:
        """Make a change, all of it or nothing. Languages count from the next extraction on, limits within seconds.

        Raises:
            InvalidInputError: a worker cannot read one of the languages, or a limit is above the server's; names each
                with what is possible.
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
        if errors:
            raise InvalidInputError("; ".join(f"{item.field}: {item.reason}" for item in errors), errors=errors)
        if not fields:
            return organization
        changed = await self._organizations.change(organization.id, fields)
        if changed is None:
            raise NotFoundError(f"no organization has the id {organization.id!r}")
        self._own_limits.forget(organization.id)
        return changed


def ocr_language_errors(wanted: Sequence[str], available: Collection[str]) -> list[FieldError]:
    """What is wrong with a choice of languages."""
    if not wanted:
        return [FieldError("ocr_languages", "name at least one, or give null for those of the server")]
    if len(wanted) > MOST_OCR_LANGUAGES:
        return [FieldError("ocr_languages", f"at most {MOST_OCR_LANGUAGES}: each takes memory and time")]
    known = ", ".join(sorted(available)) or "none"
    return [
        FieldError(
            f"ocr_languages[{index}]",
            f"no data for {language!r} is installed on every worker; installed are: {known}",
        )
        for index, language in enumerate(wanted)
        if language not in available
    ]


def rate_limit_errors(wanted: OwnRateLimits, server: RateLimitSettings) -> list[FieldError]:
    """Which of an organization's limits are above the server's; equal is as good as none."""
    return [
        FieldError(f"rate_limits.{field}", f"must be from 1 to {most:,}, which is the server's limit")
        if most
        else FieldError(f"rate_limits.{field}", "must be at least 1")
        for field, value, most in _pairs(wanted, server)
        if value is not None and (value < 1 or (most and value > most))
    ] + _model_list_errors(wanted)


def _pairs(wanted: OwnRateLimits, server: RateLimitSettings) -> Iterator[tuple[str, int | None, int]]:
    """Field, what is wanted of it, and the server's limit; 0 is none."""
    yield "requests_per_minute", wanted.requests_per_minute, server.requests_per_minute
    yield "tokens_per_minute", wanted.tokens_per_minute, server.tokens_per_minute
    yield "documents_per_minute", wanted.documents_per_minute, server.documents_per_minute
    for index, limit in enumerate(wanted.models):
        requests, tokens = servers_limits(limit.model, server)
        yield f"models[{index}].requests_per_minute", limit.requests_per_minute, requests
        yield f"models[{index}].tokens_per_minute", limit.tokens_per_minute, tokens


def _model_list_errors(wanted: OwnRateLimits) -> list[FieldError]:
    if len(wanted.models) > MOST_MODELS:
        return [FieldError("rate_limits.models", f"at most {MOST_MODELS} models")]
    names = [limit.model for limit in wanted.models]
    return [
        FieldError(f"rate_limits.models[{index}].model", f"{name!r} is named twice")
        for index, name in enumerate(names)
        if name in names[:index]
    ]
