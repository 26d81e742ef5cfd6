"""Embeddings missing from the cache: claimed, reserved, embedded, stored and charged, batch by batch.

claim ──▶ look once more ──▶ reserve ──▶ call ──▶ keep and charge ──▶ release the claim
      └── held by another worker: wait for the vectors, or for the end of the lease, and then claim

The order prevents deadlock. Claims and reservations are held for one call only, and never during a wait for another
worker's claim. No transaction is open during any step but the last write.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from analytiq.errors import (
    AnalytiqError,
    CallRefusedError,
    DimensionMismatchError,
    ProviderRefusedError,
    ProviderUnavailableError,
    QuotaExceededError,
    RateLimitedError,
)
from analytiq.inference.embedding.base import InputType, Vectors
from analytiq.inference.embedding.call_sizes import CallSizes
from analytiq.inference.embedding.calling import Calling, tokens_of
from analytiq.inference.embedding.models import ChosenModel
from analytiq.inference.embedding.sharing import SharedTexts
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.quota import SpuPurpose
from analytiq.models.usage import Operation
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.embedding_cache import CacheRow
from analytiq.storage.session import DatabaseError
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.metering.charges import Metering

log = structlog.get_logger(__name__)

RENEWALS = 3
"""Renewals of a claim during its lease."""
TEXT_REFUSED_CODE = "text_refused"
"""Error code of a document with a text that its provider refuses even alone: the failure is final."""
MOST_KEPT_BYTES = 8 * 1024 * 1024
"""Most bytes of vectors that one transaction stores: about 20 MB fail where the database's cache has 0.25 GB."""
MOST_REFUSED_TEXTS = 3
"""Texts refused alone that one call for several documents tolerates: each costs some ten calls to find."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The embeddings missing from the cache. `texts` and `hashes` are by cache key."""

    chosen: ChosenModel
    knowledge_base: KnowledgeBase
    purpose: SpuPurpose
    input_type: InputType
    texts: Mapping[str, str]
    hashes: Mapping[str, str]


@dataclass(slots=True)
class Filled:
    """Embeddings by key, as far as the work has come."""

    embeddings: dict[str, Vectors] = field(default_factory=dict[str, Vectors])
    made: set[str] = field(default_factory=set[str])
    """Keys whose embeddings this call requested from the provider."""
    refused: set[str] = field(default_factory=set[str])
    """Keys of texts that the provider refuses even alone."""
    parts: Sequence[Sequence[str]] | None = None
    """The missing keys of each document, if a refused text must not keep the other documents from their embeddings."""
    error: AnalytiqError | None = None
    """The error that kept the provider from embedding the rest of several documents."""

    @property
    def is_given_up(self) -> bool:
        """Return True if too many texts were refused to go on."""
        return len(self.refused) >= MOST_REFUSED_TEXTS

    @property
    def has_whole_part(self) -> bool:
        """Return True if a document has all of its embeddings, so that it need not wait for the others."""
        return any(all(key in self.embeddings for key in part) for part in self.parts or ())


class Filling:
    """Maker of embeddings, each made once."""

    def __init__(self, rows: Repositories, metering: Metering, calling: Calling, *, lease_seconds: float) -> None:
        self._cache = rows.embedding_cache
        self._claims = rows.embedding_claims
        self._metering = metering
        self._calling = calling
        self._lease_seconds = lease_seconds
        self._sizes = CallSizes()

    async def embed(self, wanted: Wanted, keys: Sequence[str]) -> Filled:
        """Embed without a claim, for a waiting person: a question is short, and a second call is charged once."""
        filled = Filled()
        size = wanted.chosen.embedder.batch_size
        for start in range(0, len(keys), size):
            await self._embed_and_keep(wanted, keys[start : start + size], filled)
        return filled

    async def embed_claimed(self, wanted: Wanted, keys: Sequence[str]) -> Filled:
        """Embed texts that no other worker embeds, and wait for the rest.

        Raises:
            RateLimitedError: others take too long; its code is `sharing.ELSEWHERE_CODE`.
        """
        filled = Filled()
        await self._fill(wanted, keys, filled)
        return filled

    async def embed_parts(self, wanted: Wanted, parts: Sequence[Sequence[str]]) -> Filled:
        """Embed the missing texts of several documents together, in as few calls as they fit into.

        A refused text costs its document alone. Returns before a wait for other workers once a document is whole, and
        with the error where the provider or the quota keeps the rest from being embedded.
        """
        filled = Filled(parts=parts)
        keys = list(dict.fromkeys(key for part in parts for key in part))
        try:
            await self._fill(wanted, keys, filled)
        except (RateLimitedError, QuotaExceededError, ProviderUnavailableError, ProviderRefusedError) as error:
            filled.error = error
        return filled

    async def _fill(self, wanted: Wanted, keys: Sequence[str], filled: Filled) -> None:
        shared = SharedTexts(self._cache, self._claims, keys, lease_seconds=self._lease_seconds)
        most_kept = max(1, MOST_KEPT_BYTES // (4 * wanted.knowledge_base.embedding_dimensions))
        size = min(wanted.chosen.embedder.batch_size, most_kept)
        while shared.left and not filled.is_given_up:
            token = new_id()
            batch: list[str] = []
            try:
                await shared.claim_into(batch, token, size=size)
                if batch:
                    await checkpoint("embedding.claimed")
                    await self._embed_held(wanted, batch, token, filled)
            finally:
                await asyncio.shield(self._release(batch, token))
                filled.embeddings |= shared.found
            if batch:
                shared.settle(batch)
            elif shared.left and not filled.has_whole_part:
                await shared.wait()
                filled.embeddings |= shared.found
            elif shared.left:
                return

    async def _release(self, batch: Sequence[str], token: str) -> None:
        try:
            if batch:
                await self._claims.release(batch, token)
        except DatabaseError:
            log.warning("embedding.claims_not_released", claims=len(batch), exc_info=True)  # their lease ends

    async def _embed_held(self, wanted: Wanted, batch: Sequence[str], token: str, filled: Filled) -> None:
        async with self._kept_alive(batch, token):
            # The previous holder of the claim may have stored the embedding between our look-up and our claim.
            cached = (await self._cache.find(batch)).embeddings
            filled.embeddings |= cached
            await self._embed_and_keep(wanted, [key for key in batch if key not in cached], filled)

    @contextlib.asynccontextmanager
    async def _kept_alive(self, batch: Sequence[str], token: str) -> AsyncGenerator[None]:
        async def beat() -> None:
            while True:
                await asyncio.sleep(self._lease_seconds / RENEWALS)
                try:
                    await self._claims.renew(batch, token, lease_seconds=self._lease_seconds)
                except DatabaseError:
                    log.warning("embedding.claims_not_renewed", exc_info=True)  # the next renewal makes up for it

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()

    async def _embed_and_keep(self, wanted: Wanted, keys: Sequence[str], filled: Filled) -> None:
        """Embed as many texts as the quota allows, then fail for the rest.

        A refused call of several texts is repeated in halves. Each answer is stored before the next call, so that
        nothing is paid twice.
        """
        start = 0
        tokens = [tokens_of([wanted.texts[key]]) for key in keys]
        splitting = self._sizes.splitting((wanted.chosen.endpoint, wanted.purpose.embedding_model), len(keys))
        while start < len(keys):
            size = self._sizes.fitting(splitting, tokens[start:])
            async with self._metering.reserved(wanted.purpose, size) as reservation:
                part = keys[start : start + reservation.spus]
                try:
                    vectors = await self._call(wanted, part)
                except CallRefusedError as refusal:
                    if len(part) > 1:
                        splitting.note_refused(len(part))
                        continue
                    if filled.parts is None:
                        raise _refused_alone(wanted, refusal) from None
                    filled.refused.add(part[0])
                    if filled.is_given_up:
                        return
                    splitting.forget_refusals()
                    start += 1
                    continue
                await checkpoint("embedding.answered")
                require_dimensions(vectors, wanted.knowledge_base)
                await self._metering.keep_and_charge(reservation, _rows(wanted, part, vectors))
            filled.embeddings |= dict(zip(part, vectors, strict=True))
            filled.made.update(part)
            splitting.note_taken(len(part), sum(tokens[start : start + len(part)]))
            start += len(part)
        self._sizes.learn(splitting)

    async def _call(self, wanted: Wanted, keys: Sequence[str]) -> Vectors:
        texts = [wanted.texts[key] for key in keys]
        return await self._calling.call(
            wanted.chosen.embedder, wanted.purpose.organization_id, texts, wanted.input_type
        )


def require_dimensions(vectors: Vectors, knowledge_base: KnowledgeBase) -> None:
    """Refuse vectors of another length than the knowledge base's.

    Raises:
        DimensionMismatchError: the lengths differ.
    """
    if vectors.shape[1] != knowledge_base.embedding_dimensions:
        raise DimensionMismatchError(
            f"{knowledge_base.embedding_model!r} answered vectors of {vectors.shape[1]} dimensions; the knowledge"
            f" base {knowledge_base.name!r} holds vectors of {knowledge_base.embedding_dimensions}. Create a new"
            " knowledge base with the same tags for the changed model."
        )


def _refused_alone(wanted: Wanted, refusal: CallRefusedError) -> ProviderRefusedError:
    """Return the error of a text that is refused even alone; a question keeps the provider's error."""
    if wanted.purpose.operation is not Operation.INDEX:
        return refusal
    return ProviderRefusedError(
        f"The provider refuses a passage of this document by itself. {refusal.detail}", code=TEXT_REFUSED_CODE
    )


def _rows(wanted: Wanted, keys: Sequence[str], vectors: Vectors) -> list[CacheRow]:
    return [
        CacheRow(
            key=key,
            chunk_hash=wanted.hashes[key],
            embedding_model=wanted.purpose.embedding_model,
            embedding=vectors[index],
            scope=wanted.chosen.scope,
            payer_organization_id=wanted.purpose.organization_id,
            operation=wanted.purpose.operation,
        )
        for index, key in enumerate(keys)
    ]
