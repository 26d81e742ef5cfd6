"""Prices, dimensions and window of embedding models, from the list in LiteLLM's wheel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analytiq.inference.providers.litellm_module import LOCAL_PROVIDER, litellm


@dataclass(frozen=True, slots=True)
class KnownModel:
    """US dollars for a token, the length of a vector, and the most tokens of a text; None if the list lacks them."""

    token_usd: float | None
    dimensions: int | None
    window: int | None = None


def known_model(model: str) -> KnownModel:
    """Look a model up; imports LiteLLM, which takes seconds: call it in a thread."""
    if model.startswith(f"{LOCAL_PROVIDER}/"):
        return KnownModel(0.0, None)
    listed: Mapping[str, Any] = litellm().model_cost
    # Prices are listed with and without the provider's name before the model's.
    row: Mapping[str, Any] = listed.get(model) or listed.get(model.partition("/")[2]) or {}
    price, dimensions = row.get("input_cost_per_token"), row.get("output_vector_size")
    window = row.get("max_input_tokens")
    return KnownModel(
        float(price) if isinstance(price, int | float) else None,
        dimensions if isinstance(dimensions, int) else None,
        window if isinstance(window, int) else None,
    )
