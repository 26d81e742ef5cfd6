"""Limits of work: calls to a provider, and documents of a knowledge base.

A limit is one row of MongoDB, so that it holds for all workers of all processes together. A caller with a short wait
gets its place and waits here. A caller with a long wait gets its length, and its job returns to the queue, which defers
its partition meanwhile.
"""

import asyncio
import math

import structlog

from analytiq.errors import RateLimitedError
from analytiq.models.own_limits import OwnRateLimits
from analytiq.models.rate_limit import Bucket, Charge
from analytiq.settings import RateLimitSettings
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.tenancy.rate_limits.gcra import PROBE_MS, bucket_of
from analytiq.tenancy.rate_limits.own import UNLIMITED, OwnLimits

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 4.0
"""Longest wait in place: acceptable for the answer to a search, and a fraction of a job's lease."""
LONGEST_BLOCK_SECONDS = PROBE_MS / 1000
"""A provider that asks for a longer wait gets one call per this time."""
LONGEST_HOLD_SECONDS = 86_400.0
"""A provider that asks for a longer wait is called at full rate after a day: a clock may be wrong."""
LOCAL_PREFIX = "local/"
"""Models in this process have no provider to protect, unless a setting names them."""
DOCUMENTS_CODE = "documents_rate_limited"
"""Code of the error for a document that waits for its knowledge base's limit."""

_REQUESTS, _TOKENS, _DOCUMENTS = "requests", "tokens", "documents"


class RateLimits:
    """Takes from the buckets; each call is one update of one row, on the database's clock."""

    def __init__(
        self, rows: RateLimitRepository, settings: RateLimitSettings, own_limits: OwnLimits | None = None
    ) -> None:
        """Take the repository and the settings.

        `own_limits`: the organizations' own limits, below those of the settings; None without any.
        """
        self._rows = rows
        self._settings = settings
        self._own_limits = own_limits

    async def take_call(self, organization_id: str, model: str, *, tokens: int, ignores_block: bool = False) -> bool:
        """Wait until the organization may call the model with this many tokens; both limits count, or neither.

        Waits for at most a few seconds. A waiting caller keeps its place: first come, first served, and small calls
        never overtake a large one for ever.

        Returns whether the provider is in trouble: the caller then reports an answer by `recovered`. With
        `ignores_block` a person's test call is made although the provider asked to wait.

        Raises:
            RateLimitedError: the wait would be too long; `retry_after` in seconds. Nothing was taken.
        """
        buckets = call_buckets(model, self._settings, await self._own(organization_id))
        if not buckets and is_free(model):
            return False
        key = _call_key(organization_id, model)
        charges = [Charge(name, bucket, tokens if name == _TOKENS else 1) for name, bucket in buckets.items()]
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        outcome = await self._rows.take(
            organization_id,
            key,
            charges,
            patience_ms=PATIENCE_SECONDS * 1000,
            probe_ms=PROBE_MS,
            ignores_block=ignores_block,
        )
        wait_seconds = outcome.wait_ms / 1000
        if not outcome.is_granted:
            raise _calls_limited(model, wait_seconds)
        while wait_seconds > 0 and not ignores_block:
            await asyncio.sleep(wait_seconds)
            # The provider may have asked another worker to wait meanwhile.
            wait_seconds = await self._rows.blocked_seconds(organization_id, key)
            if asyncio.get_running_loop().time() + wait_seconds > deadline and wait_seconds > 0:
                raise _calls_limited(model, wait_seconds)
        return outcome.is_troubled or ignores_block

    async def told_to_wait(self, organization_id: str, model: str, *, seconds: float) -> None:
        """Block the organization's calls to the model after a 429 with Retry-After.

        After the block one call passes, and later ones follow at the model's rate. Of waits beyond
        LONGEST_BLOCK_SECONDS, one call per LONGEST_BLOCK_SECONDS probes the provider. `seconds` that are not positive
        are ignored.
        """
        if math.isnan(seconds) or seconds <= 0:
            return
        wait_seconds = min(seconds, LONGEST_HOLD_SECONDS)
        log.info("rate_limits.told_to_wait", organization_id=organization_id, model=model, seconds=wait_seconds)
        buckets = call_buckets(model, self._settings, await self._own(organization_id))
        emptied = {name: bucket for name, bucket in buckets.items() if name == _REQUESTS}
        key = _call_key(organization_id, model)
        await self._rows.block(organization_id, key, emptied, wait_ms=wait_seconds * 1000, probe_ms=PROBE_MS)

    async def failed(self, organization_id: str, model: str) -> float:
        """Record a failure of the model's provider; return the seconds that it has been failing."""
        if is_free(model):
            return 0.0
        return await self._rows.note_failure(organization_id, _call_key(organization_id, model))

    async def recovered(self, organization_id: str, model: str) -> bool:
        """Lift the block of a model whose provider answered, or has a new key or address.

        Returns True to one caller only.
        """
        buckets = call_buckets(model, self._settings, await self._own(organization_id))
        emptied = {name: bucket for name, bucket in buckets.items() if name == _REQUESTS}
        is_lifted = await self._rows.lift(organization_id, _call_key(organization_id, model), emptied)
        if is_lifted:
            log.info("rate_limits.lifted", organization_id=organization_id, model=model)
        return is_lifted

    async def troubled_models(self, organization_id: str | None = None) -> list[tuple[str, str]]:
        """Return (organization, model) of each provider that is held or failing, of one organization or of all."""
        rows = await self._rows.troubled(organization_id)
        return [(row.organization_id, row.key.split(":", 2)[2]) for row in rows if row.key.startswith("call:")]

    async def take_document(self, organization_id: str, kb_id: str) -> None:
        """Begin to index a document of the knowledge base, if the limit allows.

        Raises:
            RateLimitedError: not yet; `retry_after` in seconds, code DOCUMENTS_CODE.
        """
        await self.take_documents(organization_id, kb_id, 1)

    async def take_documents(self, organization_id: str, kb_id: str, count: int) -> int:
        """Begin to index as many of `count` documents of the knowledge base as the limit allows; return their number.

        Raises:
            RateLimitedError: none yet; `retry_after` in seconds, code DOCUMENTS_CODE.
        """
        charges = await self._document_charges(organization_id, 1)
        if not charges:
            return count
        key = _document_key(organization_id, kb_id)
        outcome = await self._rows.take_up_to(organization_id, key, charges[0], count)
        if outcome.granted:
            return outcome.granted
        seconds = outcome.wait_ms / 1000
        most = lower(self._settings.documents_per_minute, (await self._own(organization_id)).documents_per_minute)
        raise RateLimitedError(
            f"The knowledge base has begun {most} documents in the last minute, its limit. This one waits"
            f" for {math.ceil(seconds)} s.",
            retry_after=seconds,
            code=DOCUMENTS_CODE,
        )

    async def return_document(self, organization_id: str, kb_id: str, *, count: int = 1) -> None:
        """Return the turn of a document, or of `count`, that has to wait for its provider."""
        charges = await self._document_charges(organization_id, count)
        if charges:
            await self._rows.give_back(organization_id, _document_key(organization_id, kb_id), charges)

    async def forget_knowledge_base(self, organization_id: str, kb_id: str) -> None:
        """Delete the limit of a deleted knowledge base."""
        await self._rows.delete(organization_id, _document_key(organization_id, kb_id))

    async def _own(self, organization_id: str) -> OwnRateLimits:
        return UNLIMITED if self._own_limits is None else await self._own_limits.of(organization_id)

    async def _document_charges(self, organization_id: str, count: int) -> list[Charge]:
        own = await self._own(organization_id)
        per_minute = lower(self._settings.documents_per_minute, own.documents_per_minute)
        return [Charge(_DOCUMENTS, bucket_of(per_minute), count)] if per_minute else []


def is_free(model: str) -> bool:
    """Return whether the model runs in this process, so that only limits that name it count."""
    return model.startswith(LOCAL_PREFIX)


def lower(servers: int, own: int | None) -> int:
    """Return the effective limit, from the server's (0 for none) and the organization's own."""
    if own is None:
        return servers
    return min(servers, own) if servers else own


def servers_limits(model: str, settings: RateLimitSettings) -> tuple[int, int]:
    """Return the server's requests and tokens per minute for a model; 0 is no limit."""
    named = settings.models.get(model)
    if named is None and is_free(model):
        return 0, 0
    requests = named.requests_per_minute if named else None
    tokens = named.tokens_per_minute if named else None
    return (
        settings.requests_per_minute if requests is None else requests,
        settings.tokens_per_minute if tokens is None else tokens,
    )


def call_buckets(model: str, settings: RateLimitSettings, own: OwnRateLimits) -> dict[str, Bucket]:
    """Return the buckets by name; a limit of 0 has none."""
    requests, tokens = servers_limits(model, settings)
    named = own.of_model(model)
    own_requests, own_tokens = (None, None) if is_free(model) else (own.requests_per_minute, own.tokens_per_minute)
    if named is not None:
        own_requests = own_requests if named.requests_per_minute is None else named.requests_per_minute
        own_tokens = own_tokens if named.tokens_per_minute is None else named.tokens_per_minute
    limits = {_REQUESTS: lower(requests, own_requests), _TOKENS: lower(tokens, own_tokens)}
    return {name: bucket_of(per_minute) for name, per_minute in limits.items() if per_minute}


def _call_key(organization_id: str, model: str) -> str:
    return f"call:{organization_id}:{model}"


def _document_key(organization_id: str, kb_id: str) -> str:
    return f"document:{organization_id}:{kb_id}"


def _calls_limited(model: str, seconds: float) -> RateLimitedError:
    return RateLimitedError(
        f"Calls to {model!r} have reached their limit per minute, or its provider asked to wait. Try"
        f" again in {math.ceil(seconds)} s.",
        retry_after=seconds,
    )
