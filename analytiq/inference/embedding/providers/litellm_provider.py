"""Every hosted embedding model, and every OpenAI-compatible server, through LiteLLM."""

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from analytiq.errors import CallRefusedError, DimensionMismatchError, InvalidInputError, ProviderUnavailableError
from analytiq.inference.credentials.providers import Credential
from analytiq.inference.embedding.base import BeforeRepeat, InputType, Vectors
from analytiq.inference.providers.addresses import OPENAI
from analytiq.inference.providers.allowed import Use, destination_of
from analytiq.inference.providers.guarded_http import bound_for
from analytiq.inference.providers.litellm_errors import translated
from analytiq.inference.providers.litellm_module import NO_KEY, address_for, litellm, provider_of
from analytiq.settings import EmbeddingSettings

EMBEDDING_EXAMPLES = (
    "text-embedding-3-small, embed-multilingual-v3.0, voyage/voyage-3, openai/<model of your own server>"
)


class LiteLLMEmbedder:
    """One model of one provider with one key; LiteLLM keeps and reuses the connections.

    Args of the constructor:
        model: LiteLLM's model string, for example `text-embedding-3-small`.
        credential: the key, and the address of an OpenAI-compatible server.
        settings: the timeout of a call and the most texts in it.
        dimensions: requested from the provider and required of its answer; None for the model's own.

    Raises:
        InvalidInputError: no provider has such a model.
    """

    def __init__(
        self, model: str, credential: Credential, settings: EmbeddingSettings, *, dimensions: int | None = None
    ) -> None:
        self.model = model
        self.batch_size = settings.batch_size
        self._credential = credential
        self._timeout_seconds = settings.timeout_seconds
        self._dimensions = dimensions
        self._has_base64: bool | None = None

    def __repr__(self) -> str:
        return f"LiteLLMEmbedder({self.model!r})"

    async def embed(
        self, texts: Sequence[str], *, input_type: InputType, before_repeat: BeforeRepeat | None = None
    ) -> Vectors:
        """Embed 1 to `batch_size` texts in one call, keeping their order; shape (len(texts), dimensions).

        A strict server may refuse `encoding_format`. Until one call has shown that this server takes the field, a
        refused call is repeated once without it, and the embedder remembers what the server took.

        Raises:
            RateLimitedError: `retry_after` in seconds, where the provider says.
            ProviderUnavailableError: the provider failed, or its answer is malformed (code `malformed_answer`).
            ProviderRefusedError: the provider will never accept this call; CallRefusedError: a smaller one may pass.
            DimensionMismatchError: the vectors do not have the requested `dimensions`.
            InvalidInputError: too many texts, or none; or no provider has such a model.
        """
        if not 1 <= len(texts) <= self.batch_size:
            raise InvalidInputError(f"One call has {len(texts)} texts. Allowed: 1 to {self.batch_size}.")
        asks_base64 = self._has_base64 is not False
        try:
            vectors = await self._embed_once(texts, input_type, asks_base64=asks_base64)
        except CallRefusedError:
            if self._has_base64 is not None or not await self._is_openai():
                raise
            if before_repeat is not None:
                await before_repeat()
            vectors, asks_base64 = await self._embed_once(texts, input_type, asks_base64=False), False
        self._has_base64 = asks_base64
        return vectors

    async def _is_openai(self) -> bool:
        return await asyncio.to_thread(provider_of, self.model, examples=EMBEDDING_EXAMPLES) == OPENAI

    async def _embed_once(self, texts: Sequence[str], input_type: InputType, *, asks_base64: bool) -> Vectors:
        # The first import blocks for seconds.
        module = await asyncio.to_thread(litellm)
        provider = provider_of(self.model, use=Use.EMBEDDING, examples=EMBEDDING_EXAMPLES)
        base = address_for(provider, self._credential.api_base, Use.EMBEDDING)
        arguments = self._arguments(provider, base, texts, input_type)
        if provider == OPENAI and asks_base64:
            # OpenAI's client asks for this by default, so most compatible servers know it or ignore it; LiteLLM does
            # not. Numbers instead cost 230 ms a batch (100 texts, 1,536 dimensions) on the event loop.
            arguments["encoding_format"] = "base64"
        key = self._credential.api_key.get_secret_value()
        try:
            with bound_for(destination_of(provider, base, is_guarded=self._credential.is_guarded)):
                response = await module.aembedding(**arguments, api_key=key or NO_KEY)
        except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises is translated, bugs of its own too
            raise translated(error, model=self.model, api_key=key) from None
        return checked_vectors(response.data, len(texts), model=self.model, dimensions=self._dimensions)

    def _arguments(
        self, provider: str, base: str | None, texts: Sequence[str], input_type: InputType
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.model,
            "input": list(texts),
            "timeout": self._timeout_seconds,
            "num_retries": 0,
            "max_retries": 0,
            **input_type_parameters(provider, self.model, input_type),
        }
        if base is not None:
            arguments["api_base"] = base
        if self._dimensions is not None:
            arguments["dimensions"] = self._dimensions
            # LiteLLM allows this for OpenAI's own newer models only, by their name.
            if self._credential.api_base is not None:
                arguments["allowed_openai_params"] = ["dimensions"]
        return arguments


def input_type_parameters(provider: str, model: str, input_type: InputType) -> dict[str, str]:
    """Return the parameters that tell a question from a passage; nothing for models that take no hint."""
    is_query = input_type is InputType.QUERY
    name = model.rpartition("/")[2]
    # Cohere's models refuse a call without it, from v3 on.
    if provider == "cohere" and "v2" not in name:
        return {"input_type": "search_query" if is_query else "search_document"}
    if provider == "voyage":
        return {"input_type": "query" if is_query else "document"}
    if provider == "nvidia_nim":
        return {"input_type": "query" if is_query else "passage"}
    if provider == "jina_ai" and ("-v3" in name or "-v4" in name):
        return {"task": "retrieval.query" if is_query else "retrieval.passage"}
    if provider == "gemini" and name in {"text-embedding-004", "gemini-embedding-001"}:
        return {"task_type": "RETRIEVAL_QUERY" if is_query else "RETRIEVAL_DOCUMENT"}
    return {}


def checked_vectors(data: object, count: int, *, model: str, dimensions: int | None) -> Vectors:
    """Return the vectors in the order of the texts, shape (count, dimensions); refuse a malformed answer whole.

    Raises:
        ProviderUnavailableError: wrong count, wrong order, unequal lengths, NaN or infinite numbers, a zero vector.
        DimensionMismatchError: well-formed, but not of the requested `dimensions`.
    """
    rows = [_vector(item, model) for item in _in_order(data, count, model)]
    lengths = {len(row) for row in rows}
    if len(lengths) != 1 or lengths == {0}:
        raise _malformed(model, f"vectors of {len(lengths)} different lengths")
    vectors = np.stack(rows)
    if not np.isfinite(vectors).all():
        raise _malformed(model, "a vector with numbers that are not finite")
    if not vectors.any(axis=1).all():
        raise _malformed(model, "a vector of zeros")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise DimensionMismatchError(
            f"The provider of {model!r} answers {vectors.shape[1]} dimensions where {dimensions} were "
            "asked for: create a knowledge base with the model's own dimensions."
        )
    return vectors


def _in_order(data: object, count: int, model: str) -> list[Mapping[str, object]]:
    if not isinstance(data, list):
        raise _malformed(model, "no list of vectors")
    items = [_fields(item) for item in cast("list[object]", data)]
    if len(items) != count:
        raise _malformed(model, f"{len(items)} vectors for {count} texts")
    indexes = [item.get("index") for item in items]
    if all(index is None for index in indexes):
        return items
    by_index = {index: item for index, item in zip(indexes, items, strict=True) if isinstance(index, int)}
    if sorted(by_index) != list(range(count)):
        raise _malformed(model, "indexes that are not those of the texts")
    return [by_index[index] for index in range(count)]


def _fields(item: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", item) if isinstance(item, Mapping) else vars(item)


def _vector(item: Mapping[str, object], model: str) -> Vectors:
    embedding = item.get("embedding")
    try:
        if isinstance(embedding, str):
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
        # A number too large for float32 becomes infinite, and is refused as such.
        with np.errstate(over="ignore"):
            vector = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError):
        raise _malformed(model, "an invalid vector") from None
    if vector.ndim != 1:
        raise _malformed(model, "an invalid vector")
    return vector


def _malformed(model: str, what: str) -> ProviderUnavailableError:
    return ProviderUnavailableError(
        f"The provider of {model!r} answered {what}; the whole answer is refused: try again later.",
        code="malformed_answer",
    )
