"""Rate limits of an organization's own, below those of the server."""

from analytiq.models.stored import Stored


class OwnModelLimit(Stored):
    """Limits of one model; None falls back to the organization's limits for all models."""

    model: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class OwnRateLimits(Stored):
    """Units per 60 seconds; None for the server's limits.

    Models are a list, since their names have dots, which MongoDB reads as paths.
    """

    requests_per_minute: int | None = None
    """For each model."""
    tokens_per_minute: int | None = None
    """For each model."""
    documents_per_minute: int | None = None
    """For each knowledge base."""
    models: tuple[OwnModelLimit, ...] = ()

    def of_model(self, model: str) -> OwnModelLimit | None:
        """Return the limits set for this model by name."""
        return next((limit for limit in self.models if limit.model == model), None)
