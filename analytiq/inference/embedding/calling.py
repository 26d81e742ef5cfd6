"""Calls to a provider within the rate limits, with short retries of transient failures."""

from collections.abc import Awaitable, Callable, Sequence

import stamina

from analytiq.errors import ProviderUnavailableError, RateLimitedError, TransientError
from analytiq.inference.embedding.base import Embedder, InputType, Vectors
from analytiq.telemetry import metrics
from analytiq.tenancy.rate_limits.limits import RateLimits

OnAnswer = Callable[[str, str], Awaitable[None]]
"""Called with the organization and the model of a troubled provider that has answered."""

BYTES_PER_TOKEN = 4
"""Bytes of UTF-8 a token, in cl100k: 4.5 in English, 3 and fewer in Chinese; rate limits need an estimate only."""
ATTEMPTS = 3
"""Attempts within seconds; the queue retries longer failures."""
LONGEST_PAUSE_SECONDS = 5.0
LONGEST_LANE_WAIT_SECONDS = 60.0
"""Longest wait of a partition while a provider fails: its next job is tried at least this often."""
LANE_WAIT_SHARE = 0.25
"""The wait of the partition's next job, as a share of the time for which the provider has been failing."""


class Calling:
    """Caller of embedders for organizations."""

    def __init__(self, rate_limits: RateLimits, on_answer: OnAnswer) -> None:
        self._rate_limits = rate_limits
        self._on_answer = on_answer

    async def call(
        self, embedder: Embedder, organization_id: str, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        """Embed at most a batch of texts, in order; shape (len(texts), dimensions).

        Raises:
            RateLimitedError: our limit or the provider's asks for a wait of more than seconds.
            RateLimitedError: this installation's limit or the provider's asks for a wait of more than seconds.
        """
        own_limit: RateLimitedError | None = None
        is_troubled = False

        def pause(error: Exception) -> bool | float:
            # The limit's own error is not retried: it has waited here as long as makes sense. Nor is a
            # provider called repeatedly that was failing before.
            return error is not own_limit and not is_troubled and _pause(error)

        try:
            async for attempt in stamina.retry_context(
                on=pause, attempts=ATTEMPTS, wait_initial=0.2, wait_max=LONGEST_PAUSE_SECONDS, timeout=None
            ):
                with attempt:
                    try:
                        is_troubled = await self._rate_limits.take_call(
                            organization_id, embedder.model, tokens=tokens_of(texts)
                        )
                    except RateLimitedError as error:
                        own_limit = error
                        raise
                    vectors = await self._called_once(embedder, organization_id, texts, input_type)
                    if is_troubled:
                        await self._on_answer(organization_id, embedder.model)
                    return vectors
        except ProviderUnavailableError as error:
            failing = await self._rate_limits.failed(organization_id, embedder.model)
            wait = min(LONGEST_LANE_WAIT_SECONDS, failing * LANE_WAIT_SHARE)
            error.retry_after = max(error.retry_after or 0.0, wait)
            raise

        raise AssertionError("stamina leaves the loop by returning or raising")

    async def _called_once(
        self, embedder: Embedder, organization_id: str, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        async def before_repeat() -> None:
            await self._rate_limits.take_call(organization_id, embedder.model, tokens=tokens_of(texts))
            metrics.api_calls.labels(model=embedder.model).inc()

        metrics.api_calls.labels(model=embedder.model).inc()
        try:
            return await embedder.embed(texts, input_type=input_type, before_repeat=before_repeat)
        except RateLimitedError as error:
            if error.retry_after is not None:
                await self._rate_limits.told_to_wait(organization_id, embedder.model, seconds=error.retry_after)
            raise


def tokens_of(texts: Sequence[str]) -> int:
    """Estimate the tokens that the provider will count."""
    return sum(len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1 for text in texts)


def _pause(error: Exception) -> bool | float:
    """Return True and the provider's wait in seconds, if any, when the failed call is worth a retry here."""
    if isinstance(error, RateLimitedError) and error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE_SECONDS else False
    return isinstance(error, TransientError)
