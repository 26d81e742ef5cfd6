"""The rate limits that an organization gives itself, below those of the server."""

from analytiq.models.stored import Stored


class OwnModelLimit(Stored):
    """Of one model; what is None is as for the organization's other models."""

    model: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None


class OwnRateLimits(Stored):
    """What is let through in any 60 seconds; None: as much as the server lets through.

    Models are a list, since names of models have dots, which MongoDB takes for paths.
    """

    requests_per_minute: int | None = None
    """For each model."""
    tokens_per_minute: int | None = None
    """Likewise."""
    documents_per_minute: int | None = None
    """For each knowledge base."""
    models: tuple[OwnModelLimit, ...] = ()

    def of_model(self, model: str) -> OwnModelLimit | None:
        """What is said of this model by name."""
        return next((limit for limit in self.models if limit.model == model), None)
