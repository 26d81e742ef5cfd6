"""Providers of models and their keys."""

from datetime import datetime

from analytiq.models.stored import Stored


class LlmProvider(Stored):
    """A row of `llm_providers`; `organization_id` None is the platform's default.

    `token` is the API key, encrypted by `analytiq.credentials`.
    """

    id: str
    organization_id: str | None
    litellm_provider: str
    token: str
    api_base: str | None = None
    created_at: datetime
    updated_at: datetime
