"""What becomes of an organization's rate limits when some of them are changed."""

from analytiq.client.organization_models import ModelRateLimit, RateLimits
from analytiq.errors import InvalidInputError


def changed_limits(
    now: RateLimits,
    *,
    model: str | None,
    requests_per_minute: int | None,
    tokens_per_minute: int | None,
    documents_per_minute: int | None,
) -> RateLimits:
    """The limits after a change; None leaves one as it is, 0 takes it away.

    Raises:
        InvalidInputError: nothing is to change, or a limit of documents is asked for a model.
    """
    if requests_per_minute is None and tokens_per_minute is None and documents_per_minute is None:
        raise InvalidInputError(
            "say what to change: --requests-per-minute, --tokens-per-minute or --documents-per-minute"
        )
    if model is None:
        return now.model_copy(
            update={
                "requests_per_minute": _changed(now.requests_per_minute, requests_per_minute),
                "tokens_per_minute": _changed(now.tokens_per_minute, tokens_per_minute),
                "documents_per_minute": _changed(now.documents_per_minute, documents_per_minute),
            }
        )
    if documents_per_minute is not None:
        raise InvalidInputError("a model has no limit of documents: leave out --model, or --documents-per-minute")
    before = next((limit for limit in now.models if limit.model == model), ModelRateLimit(model=model))
    after = ModelRateLimit(
        model=model,
        requests_per_minute=_changed(before.requests_per_minute, requests_per_minute),
        tokens_per_minute=_changed(before.tokens_per_minute, tokens_per_minute),
    )
    others = [limit for limit in now.models if limit.model != model]
    is_said = after.requests_per_minute is not None or after.tokens_per_minute is not None
    return now.model_copy(update={"models": [*others, after] if is_said else others})


def _changed(now: int | None, wanted: int | None) -> int | None:
    return now if wanted is None else wanted or None
