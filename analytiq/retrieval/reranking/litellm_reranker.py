"""Hosted rerankers (Cohere, Jina, Voyage, Together and others) through LiteLLM."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

from analytiq.errors import TransientError
from analytiq.inference.credentials.providers import Credential
from analytiq.inference.providers.allowed import Use, destination_of
from analytiq.inference.providers.guarded_http import bound_for
from analytiq.inference.providers.litellm_errors import translated
from analytiq.inference.providers.litellm_module import NO_KEY, address_for, litellm, provider_of

RERANK_EXAMPLES = "cohere/rerank-v3.5, jina_ai/jina-reranker-v2-base-multilingual, voyage/rerank-2, local/maxsim"


class LiteLLMReranker:
    """One model of one provider with one key."""

    def __init__(self, model: str, credential: Credential, *, timeout_seconds: float) -> None:
        self._model = model
        self._credential = credential
        self._timeout_seconds = timeout_seconds

    async def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """See RerankModel."""
        module = await asyncio.to_thread(litellm)
        key = self._credential.api_key.get_secret_value()
        provider = provider_of(self._model, use=Use.RERANKING, field="rerank_model", examples=RERANK_EXAMPLES)
        base = address_for(provider, self._credential.api_base, Use.RERANKING)
        arguments: dict[str, Any] = {"api_base": base} if base else {}
        destination = destination_of(provider, base, is_guarded=self._credential.is_guarded)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                with bound_for(destination):
                    response = await module.arerank(
                        model=self._model,
                        query=question,
                        documents=list(passages),
                        top_n=len(passages),
                        api_key=key or NO_KEY,
                        num_retries=0,
                        max_retries=0,
                        **arguments,
                    )
        except TimeoutError:
            raise TransientError(
                f"The reranker {self._model!r} did not answer within {self._timeout_seconds:g} s.", code="timeout"
            ) from None
        except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises is translated
            raise translated(error, model=self._model, api_key=key, use=Use.RERANKING) from None
        return _scores(response, len(passages), self._model)


def _scores(response: Any, count: int, model: str) -> list[float]:
    """Read scores in the order of the passages; refuse the whole answer if one is missing, repeated or invalid."""
    scores: dict[int, float] = {}
    results = cast("list[Any]", getattr(response, "results", None) or [])
    for result in results:
        fields = cast("Mapping[str, Any]", result if isinstance(result, dict) else vars(result))
        try:
            scores[int(fields["index"])] = float(fields["relevance_score"])
        except (KeyError, TypeError, ValueError):
            break
    if sorted(scores) != list(range(count)) or not all(score == score for score in scores.values()):
        raise TransientError(
            f"The reranker {model!r} answered scores that are not those of the {count} passages.",
            code="malformed_answer",
        )
    return [scores[index] for index in range(count)]
