"""Providers of models and their keys."""

from datetime import datetime
from enum import StrEnum

from analytiq.models.stored import Stored


class KeyOrigin(StrEnum):
    """The origin of a platform key."""

    ENVIRONMENT = "environment"
    COMMAND = "command"


class LlmProvider(Stored):
    """A row of `llm_providers`; `organization_id` None is the platform's default.

    `token` is the API key, encrypted by `analytiq.inference.credentials`.
    """

    id: str
    organization_id: str | None
    litellm_provider: str
    token: str
    api_base: str | None = None
    origin: KeyOrigin = KeyOrigin.ENVIRONMENT
    """Origin of a platform key; unused for an organization's own key."""
    created_at: datetime
    updated_at: datetime
