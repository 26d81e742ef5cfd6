"""Texts needed by several workers at the same time: one worker embeds each, the others wait for it.

A worker that meets another's claim reads which texts are done and which are claimed, and continues with the rest from
another starting point. Otherwise twenty workers with the same texts in the same order would compete for every batch.
"""

import asyncio
import random
from collections import deque
from collections.abc import Iterable, Sequence

from analytiq.errors import RateLimitedError
from analytiq.inference.embedding.base import Vectors
from analytiq.storage.repositories.embedding_cache import EmbeddingCacheRepository
from analytiq.storage.repositories.embedding_claims import EmbeddingClaimRepository

WAITED_LEASES = 1.5
"""Leases for which a worker waits for others' claims before it returns its slot: more than one, so that
it takes over a dead worker's texts without another round through the queue."""
ELSEWHERE_WAIT_SECONDS = 2.0
"""Seconds until a job that returned its slot tries again."""
ELSEWHERE_CODE = "embedded_elsewhere"
FIRST_LOOK_SECONDS = 0.05
LONGEST_LOOK_SECONDS = 0.5


class SharedTexts:
    """One worker's view of the texts. `left`: keys without an embedding here; `found`: embeddings made by others."""

    def __init__(
        self,
        cache: EmbeddingCacheRepository,
        claims: EmbeddingClaimRepository,
        keys: Sequence[str],
        *,
        lease_seconds: float,
    ) -> None:
        self._cache = cache
        self._claims = claims
        self._lease_seconds = lease_seconds
        self._free = deque(keys)
        self.left = list(keys)
        self.found: dict[str, Vectors] = {}
        self._be_patient()

    async def claim_into(self, batch: list[str], token: str, *, size: int) -> None:
        """Fill the empty `batch` with up to `size` keys that no worker holds."""
        while self._free and len(batch) < size:
            room = size - len(batch)
            asked = [self._free.popleft() for _ in range(min(len(self._free), room))]
            taken = await self._claims.take(asked, token, lease_seconds=self._lease_seconds)
            batch += [key for key in asked if key in taken]
            if len(taken) < len(asked):
                await self._look(but=batch)

    def settle(self, keys: Iterable[str]) -> None:
        """Mark keys as embedded by this worker."""
        self._strike(keys)
        self._be_patient()

    async def wait(self) -> None:
        """Wait briefly, then read the embeddings finished or abandoned by others.

        Raises:
            RateLimitedError: they have not finished for WAITED_LEASES; its code is ELSEWHERE_CODE.
        """
        if asyncio.get_running_loop().time() >= self._deadline:
            raise RateLimitedError(
                f"{len(self.left)} texts are still being embedded by other workers. The job is retried.",
                retry_after=ELSEWHERE_WAIT_SECONDS,
                code=ELSEWHERE_CODE,
            )
        await asyncio.sleep(self._pause_seconds)
        self._pause_seconds = min(2 * self._pause_seconds, LONGEST_LOOK_SECONDS)
        await self._look(but=())

    async def _look(self, *, but: Sequence[str]) -> None:
        mine = set(but)
        wanted = [key for key in self.left if key not in mine]
        # In this order: an embedding stored between the two reads is no longer claimed, and the second read finds it.
        held = await self._claims.held(wanted)
        cached = (await self._cache.find(wanted)).embeddings
        self.found |= cached
        self._strike(cached)
        free = [key for key in wanted if key not in held and key not in cached]
        start = random.randrange(len(free)) if free else 0  # noqa: S311  # spreads workers out, guards no secret
        self._free = deque(free[start:] + free[:start])

    def _strike(self, keys: Iterable[str]) -> None:
        done = set(keys)
        self.left = [key for key in self.left if key not in done]

    def _be_patient(self) -> None:
        self._deadline = asyncio.get_running_loop().time() + WAITED_LEASES * self._lease_seconds
        self._pause_seconds = FIRST_LOOK_SECONDS
