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

from analytiq.errors import CallRefusedError, DimensionMismatchError, ProviderRefusedError
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
    """Embeddings by key; `embedded`: the number requested from the provider by this call."""

    embeddings: dict[str, Vectors] = field(default_factory=dict[str, Vectors])
    embedded: int = 0

    def add(self, other: "Filled") -> None:
        """Merge the result of another part of the work."""
        self.embeddings |= other.embeddings
        self.embedded += other.embedded


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
            filled.add(await self._embed_and_keep(wanted, keys[start : start + size]))
        return filled

    async def embed_claimed(self, wanted: Wanted, keys: Sequence[str]) -> Filled:
        """Embed texts that no other worker embeds, and wait for the rest.

        Raises:
            RateLimitedError: others take too long; its code is `sharing.ELSEWHERE_CODE`.
        """
        filled = Filled()
        shared = SharedTexts(self._cache, self._claims, keys, lease_seconds=self._lease_seconds)
        size = wanted.chosen.embedder.batch_size
        while shared.left:
            token = new_id()
            batch: list[str] = []
            try:
                await shared.claim_into(batch, token, size=size)
                if batch:
                    await checkpoint("embedding.claimed")
                    filled.add(await self._embed_held(wanted, batch, token))
            finally:
                await asyncio.shield(self._release(batch, token))
            if batch:
                shared.settle(batch)
            elif shared.left:
                await shared.wait()
        filled.embeddings |= shared.found
        return filled

    async def _release(self, batch: Sequence[str], token: str) -> None:
        try:
            if batch:
                await self._claims.release(batch, token)
        except DatabaseError:
            log.warning("embedding.claims_not_released", claims=len(batch), exc_info=True)  # their lease ends

    async def _embed_held(self, wanted: Wanted, batch: Sequence[str], token: str) -> Filled:
        async with self._kept_alive(batch, token):
            # The previous holder of the claim may have stored the embedding between our look-up and our claim.
            filled = Filled((await self._cache.find(batch)).embeddings)
            filled.add(await self._embed_and_keep(wanted, [key for key in batch if key not in filled.embeddings]))
        return filled

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

    async def _embed_and_keep(self, wanted: Wanted, keys: Sequence[str]) -> Filled:
        """Embed as many texts as the quota allows, then fail for the rest.

        A refused call of several texts is repeated in halves. Each answer is stored before the next call, so that
        nothing is paid twice.
        """
        filled = Filled()
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
                    if len(part) == 1:
                        raise _refused_alone(wanted, refusal) from None
                    splitting.note_refused(len(part))
                    continue
                await checkpoint("embedding.answered")
                require_dimensions(vectors, wanted.knowledge_base)
                await self._metering.keep_and_charge(reservation, _rows(wanted, part, vectors))
            filled.add(Filled(dict(zip(part, vectors, strict=True)), embedded=len(part)))
            splitting.note_taken(len(part), sum(tokens[start : start + len(part)]))
            start += len(part)
        self._sizes.learn(splitting)
        return filled

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
