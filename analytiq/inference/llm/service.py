"""The chat service: calls models with the organization's key, within its limits, and counted."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import stamina
import structlog

from analytiq import clock
from analytiq.errors import InvalidInputError, RateLimitedError, TransientError
from analytiq.inference.credentials.providers import Credentials
from analytiq.inference.llm.base import (
    ChatModel,
    Completion,
    Message,
    Options,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TokenUsage,
)
from analytiq.inference.llm.counting import note_call, require_budget_for
from analytiq.inference.llm.litellm_chat import CHAT_EXAMPLES, LiteLLMChat, cost_usd
from analytiq.inference.llm.reading import CHARACTERS_PER_TOKEN, characters_of
from analytiq.inference.providers.allowed import Use
from analytiq.inference.providers.default_models import DefaultModels
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.models.llm_usage import LlmOperation, LlmUsage
from analytiq.models.organization import Organization
from analytiq.settings import LlmSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.telemetry import traces
from analytiq.tenancy.rate_limits.limits import RateLimits

log = structlog.get_logger(__name__)

ATTEMPTS = 3
MODELS_AT_ONCE = 100
"""Most models, by key and address, kept with their connections."""
LONGEST_PAUSE_SECONDS = 5.0
ASSUMED_ANSWER_TOKENS = 500
"""Size of an answer assumed by the rate limit if a call names no `max_tokens`."""

PREFERRED_MODELS = {
    "openai": "gpt-4o-mini",
    "anthropic": "anthropic/claude-haiku-4-5",
    "gemini": "gemini/gemini-2.5-flash",
    "mistral": "mistral/mistral-small-latest",
}
"""Provider → the model used if a call names none: small and fast ones."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a call, recorded with its usage."""

    operation: LlmOperation
    kb_id: str | None = None
    run_id: str | None = None


class ChatService:
    """Caller of chat models for organizations."""

    def __init__(
        self,
        rows: Repositories,
        credentials: Credentials,
        rate_limits: RateLimits,
        settings: LlmSettings,
    ) -> None:
        self._defaults = DefaultModels(rows.runtime_settings)
        self._credentials = credentials
        self._rate_limits = rate_limits
        self._usage = rows.llm_usage
        self._settings = settings
        self._models: OrderedDict[tuple[str, str, str, bool], LiteLLMChat] = OrderedDict()

    async def default_model(self, organization: Organization) -> str | None:
        """Return the model for calls that name none; None if the organization has no key for any."""
        chosen = await self._chosen_default()
        if chosen is not None:
            return chosen
        for provider, model in PREFERRED_MODELS.items():
            credential = await self._credentials.find(organization.id, provider)
            if credential is not None and credential.api_base is None:
                return model
        return None

    async def _chosen_default(self) -> str | None:
        """Return the operator's default, named now or at an earlier start."""
        return self._settings.default_model or await self._defaults.chat()

    async def choose(self, organization: Organization, model: str | None, *, own_key: bool = False) -> LiteLLMChat:
        """Return the model of this name, else the default.

        Args:
            organization: the caller.
            model: LiteLLM's model string, or None.
            own_key: True to refuse the operator's key and server.

        Raises:
            InvalidInputError: no such model, or no key for its provider; explains how to add one.
        """
        name = model or await self.default_model(organization)
        if name is None:
            raise InvalidInputError.of_field(
                "model",
                "No chat model is configured. Store a provider's key (`analytiq providers put`), or name a model of"
                " your own server in ANALYTIQ_LLM__DEFAULT_MODEL, as openai/<model>.",
                code="no_chat_model",
            )
        # Importing LiteLLM takes seconds: not in the event loop.
        provider = await asyncio.to_thread(provider_of, name, use=Use.CHAT, field="model", examples=CHAT_EXAMPLES)
        credential = await self._credentials.find(organization.id, provider)
        if credential is None or (own_key and not credential.is_own):
            raise InvalidInputError.of_field(
                "model",
                f"The model {name!r} needs {'your own' if own_key else 'an'} API key of {provider!r}, which is missing."
                f" Store one with `analytiq providers put {provider}`.",
                code="provider_key_missing",
            )
        if not credential.is_own and not credential.is_keyless and name not in await self.free_models():
            raise InvalidInputError.of_field(
                "model",
                f"The operator's key of {provider!r} is not for the model {name!r}. Name no model, store a key of your"
                f" own (`analytiq providers put {provider}`), or have the operator name it in"
                " ANALYTIQ_LLM__PLATFORM_MODELS or as ANALYTIQ_LLM__DEFAULT_MODEL.",
                code="model_not_allowed",
            )
        identity = (name, credential.api_key.get_secret_value(), credential.api_base or "", credential.is_guarded)
        chosen = self._models.pop(identity, None) or LiteLLMChat(
            name, credential, timeout_seconds=self._settings.timeout_seconds
        )
        self._models[identity] = chosen  # now the most recently used
        if len(self._models) > MODELS_AT_ONCE:
            self._models.popitem(last=False)
        return chosen

    async def free_models(self) -> frozenset[str]:
        """Return the models open to everyone through the platform's key: prices differ by a factor of a thousand."""
        chosen = await self._chosen_default()
        free = {*PREFERRED_MODELS.values(), *self._settings.platform_models}
        return frozenset(free if chosen is None else free | {chosen})

    async def close(self) -> None:
        """Drop the models with their keys."""
        self._models.clear()

    async def complete(
        self,
        organization: Organization,
        messages: Sequence[Message],
        options: Options,
        purpose: Purpose,
        *,
        model: str | None = None,
        own_key: bool = False,
    ) -> Completion:
        """Return a whole answer; transient failures are retried within seconds. `own_key`: see `choose`.

        Raises:
            InvalidInputError: no such model, or no key for its provider.
            QuotaExceededError: the caller's budget is used up; nothing was sent.
            RateLimitedError: not before `retry_after` seconds.
            TransientError: the provider failed several times.
            ProviderRefusedError: the provider will never accept this call.
        """
        chosen = await self.choose(organization, model, own_key=own_key)
        with traces.span("llm.complete", model=chosen.model, operation=purpose.operation.value):
            async for attempt in stamina.retry_context(
                on=_pause, attempts=ATTEMPTS, wait_initial=0.2, wait_max=LONGEST_PAUSE_SECONDS, timeout=None
            ):
                with attempt:
                    return await self._asked_once(organization, chosen, messages, options, purpose)
        raise AssertionError("stamina leaves the loop by returning or raising")

    async def stream(
        self,
        organization: Organization,
        messages: Sequence[Message],
        options: Options,
        purpose: Purpose,
        *,
        model: str | None = None,
    ) -> AsyncGenerator[StreamEvent]:
        """Answer piece by piece, without retries: the caller has read part of the answer.

        Closing the generator ends the provider's work; the usage until then is still recorded, as an estimate.
        """
        chosen = await self.choose(organization, model)
        require_budget_for(estimated_usage(messages, "").prompt_tokens)
        await self._rate_limits.take_call(organization.id, chosen.model, tokens=_tokens_of(messages, options))
        text = ""
        is_noted = False
        is_left = False
        try:
            async with aclosing(chosen.stream(messages, options)) as events:
                async for event in events:
                    if isinstance(event, TextDelta | ReasoningDelta):
                        text += event.text
                    else:
                        await self._note(organization, chosen, event, purpose)
                        is_noted = True
                    yield event
        except RateLimitedError as error:
            await self._told_to_wait(organization, chosen, error)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            # Also before the first piece: by then the provider has read the question and charges for it.
            is_left = True
            raise
        finally:
            if (text or is_left) and not is_noted:
                await self._note_cut(organization, chosen, messages, text, purpose)

    async def _asked_once(
        self,
        organization: Organization,
        chosen: ChatModel,
        messages: Sequence[Message],
        options: Options,
        purpose: Purpose,
    ) -> Completion:
        require_budget_for(estimated_usage(messages, "").prompt_tokens)
        await self._rate_limits.take_call(organization.id, chosen.model, tokens=_tokens_of(messages, options))
        try:
            completion = await chosen.complete(messages, options)
        except RateLimitedError as error:
            await self._told_to_wait(organization, chosen, error)
            raise
        except TransientError as error:
            if error.code == "timeout":
                await self._note_cut(organization, chosen, messages, "", purpose)
            raise
        except asyncio.CancelledError:
            # By then the provider has read the question and charges for it, whether or not anyone waits for the answer.
            await self._note_cut(organization, chosen, messages, "", purpose)
            raise
        await asyncio.shield(self._note(organization, chosen, completion, purpose))
        return completion

    async def _note_cut(
        self, organization: Organization, chosen: ChatModel, messages: Sequence[Message], text: str, purpose: Purpose
    ) -> None:
        """Record the estimated usage of a call cut after `text`."""
        used = estimated_usage(messages, text)
        cut = Completion(text, usage=used, cost_usd=cost_usd(chosen.model, used))
        await asyncio.shield(self._note(organization, chosen, cut, purpose, is_complete=False))

    async def _told_to_wait(self, organization: Organization, chosen: ChatModel, error: RateLimitedError) -> None:
        if error.retry_after is not None:
            await self._rate_limits.told_to_wait(organization.id, chosen.model, seconds=error.retry_after)

    async def _note(
        self,
        organization: Organization,
        chosen: ChatModel,
        completion: Completion,
        purpose: Purpose,
        *,
        is_complete: bool = True,
    ) -> None:
        note_call(completion.usage, completion.cost_usd)
        await self._usage.add(
            LlmUsage(
                organization_id=organization.id,
                operation=purpose.operation,
                model=chosen.model,
                kb_id=purpose.kb_id,
                run_id=purpose.run_id,
                prompt_tokens=completion.usage.prompt_tokens,
                completion_tokens=completion.usage.completion_tokens,
                cost_usd=completion.cost_usd,
                is_complete=is_complete,
                used_at=clock.now(),
            )
        )


def estimated_usage(messages: Sequence[Message], text: str) -> TokenUsage:
    """Estimate the usage of a call, or of one cut after `text`, from its characters."""
    return TokenUsage(
        _characters(messages) // CHARACTERS_PER_TOKEN + 1, len(text) // CHARACTERS_PER_TOKEN + 1, is_estimated=True
    )


def _pause(error: Exception) -> bool | float:
    """Return True and the provider's wait in seconds, if any, when the failed call is worth a retry here."""
    if isinstance(error, RateLimitedError) and error.retry_after is not None:
        return error.retry_after if error.retry_after <= LONGEST_PAUSE_SECONDS else False
    return isinstance(error, TransientError)


def _tokens_of(messages: Sequence[Message], options: Options) -> int:
    return _characters(messages) // CHARACTERS_PER_TOKEN + (options.max_tokens or ASSUMED_ANSWER_TOKENS)


def _characters(messages: Sequence[Message]) -> int:
    called = sum(len(call.arguments) for message in messages for call in message.tool_calls)
    return called + sum(map(characters_of, messages))
