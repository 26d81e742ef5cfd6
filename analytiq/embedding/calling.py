"""A call to a provider within the rate limits, repeated for seconds where it makes sense to."""

from collections.abc import Sequence

import stamina

from analytiq.embedding.base import Embedder, InputType, Vectors
from analytiq.errors import RateLimitedError, TransientError
from analytiq.rate_limits.limits import RateLimits
from analytiq.telemetry import metrics

BYTES_PER_TOKEN = 4
"""Of UTF-8, in cl100k: 4.5 in English, 3 and fewer in Chinese; what limits work with is an estimate."""
ATTEMPTS = 3
"""Within seconds; what lasts longer is the queue's to retry."""
LONGEST_PAUSE_SECONDS = 5.0


class Calling:
    """Calls embedders for organizations."""

    def __init__(self, rate_limits: RateLimits) -> None:
        self._rate_limits = rate_limits

    async def call(
        self, embedder: Embedder, organization_id: str, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        """Embed at most a batch of texts, in order; shape (len(texts), dimensions).

        Raises:
            RateLimitedError: the limit, ours or the provider's, asks for a wait of more than seconds.
        """
        own_limit: RateLimitedError | None = None

        def pause(error: Exception) -> bool | float:
            # What the limit raises is not repeated: it has waited as long as it makes sense to in place.
            return error is not own_limit and _pause(error)

        async for attempt in stamina.retry_context(
            on=pause, attempts=ATTEMPTS, wait_initial=0.2, wait_max=LONGEST_PAUSE_SECONDS, timeout=None
        ):
            with attempt:
                try:
                    await self._rate_limits.take_call(organization_id, embedder.model, tokens=_tokens_of(texts))
                except RateLimitedError as error:
                    own_limit = error
                    raise
                return await self._called_once(embedder, organization_id, texts, input_type)
        raise AssertionError("stamina leaves the loop by returning or raising")

    async def _called_once(
        self, embedder: Embedder, organization_id: str, texts: Sequence[str], input_type: InputType
    ) -> Vectors:
        metrics.api_calls.labels(model=embedder.model).inc()
        try:
            return await embedder.embed(texts, input_type=input_type)
        except RateLimitedError as error:
            if error.retry_after is not None:
                await self._rate_limits.told_to_wait(organization_id, embedder.model, seconds=error.retry_after)
            raise


def _tokens_of(texts: Sequence[str]) -> int:
    """About how many tokens the provider will count."""
    return sum(len(text.encode(errors="replace")) // BYTES_PER_TOKEN + 1 for text in texts)


def _pause(error: Exception) -> bool | float:
    """Whether to repeat a failed call here, and after how many seconds where the provider says so."""
    if isinstance(error, RateLimitedError) and error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE_SECONDS else False
    return isinstance(error, TransientError)
