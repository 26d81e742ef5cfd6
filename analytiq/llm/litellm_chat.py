"""Every hosted chat model, and every OpenAI-compatible server, through LiteLLM."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import SecretStr

from analytiq.chunking.tokens import without_surrogates
from analytiq.errors import TransientError
from analytiq.llm.base import (
    AnswerSchema,
    Completion,
    FinishReason,
    Message,
    Options,
    StreamEvent,
    TextDelta,
    TokenUsage,
    Tool,
    ToolCall,
)
from analytiq.llm.bounding import LONGEST_ARGUMENTS, MOST_CALLS, bounded_calls, bounded_count, longest_text
from analytiq.providers.guarded_http import guarded_openai_client
from analytiq.providers.litellm_errors import Use, translated
from analytiq.providers.litellm_module import NO_KEY, address_for, litellm, provider_of

CHAT_EXAMPLES = "gpt-4o-mini, anthropic/claude-sonnet-4-5, gemini/gemini-2.5-flash, openai/<model of your own server>"
CHARACTERS_PER_TOKEN = 4
"""For an estimate where the provider does not count; English text has about so many."""
WHOLE_TIMEOUTS = 2
"""So many `timeout_seconds` a whole answer may take: a server that sends a byte now and then is never silent."""
STREAM_TIMEOUTS = 10
"""As WHOLE_TIMEOUTS, of a stream, which shows something meanwhile."""


class LiteLLMChat:
    """One model of one provider with one key; LiteLLM keeps and reuses the connections.

    Args of the constructor:
        model: LiteLLM's model string, for example `gpt-4o-mini`.
        api_key: the provider's key; None for a server that asks for none.
        api_base: the address of an OpenAI-compatible server, or None for the provider's own.
        timeout_seconds: of silence; a whole answer may take twice as long, a stream ten times.
        is_guarded: `api_base` was named by a tenant: connect to public addresses only, and follow no redirect.
    """

    def __init__(
        self,
        model: str,
        api_key: SecretStr | None,
        api_base: str | None = None,
        *,
        timeout_seconds: float = 120.0,
        is_guarded: bool = False,
    ) -> None:
        self._model = model
        self._api_key = api_key
        self._api_base = api_base
        self._timeout_seconds = timeout_seconds
        self._is_guarded = is_guarded
        self._guarded_client: Any = None

    def __repr__(self) -> str:
        return f"LiteLLMChat({self._model!r})"

    @property
    def model(self) -> str:
        """See ChatModel."""
        return self._model

    async def complete(self, messages: Sequence[Message], options: Options) -> Completion:
        """See ChatModel."""
        try:
            async with asyncio.timeout(self._timeout_seconds * WHOLE_TIMEOUTS):
                response = await self._call(messages, options, is_stream=False)
        except TimeoutError:
            raise TransientError(
                f"The provider of {self._model!r} did not end its answer within"
                f" {self._timeout_seconds * WHOLE_TIMEOUTS:g} s: try again later.",
                code="timeout",
            ) from None
        try:
            completion = _completion(response, self._model, longest_text(options.max_tokens))
        except _STUMBLES:
            raise self._unreadable() from None
        return self._priced(completion, messages)

    async def stream(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[StreamEvent]:
        """See ChatModel."""
        parts = _Parts(most_characters=longest_text(options.max_tokens))
        async with aclosing(self._chunks(messages, options)) as chunks:
            async for chunk in chunks:
                try:
                    text = parts.take(chunk)
                except _STUMBLES:
                    raise self._unreadable() from None
                if text:
                    yield TextDelta(text)
                if parts.is_full:
                    # What is not read any more is not paid for any longer.
                    break
        if parts.finish_reason is None:
            raise TransientError(
                f"The provider of {self._model!r} ended its answer in the middle: ask again.", code="stream_cut"
            )
        yield self._priced(parts.whole(), messages)

    async def _chunks(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[Any]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_seconds * STREAM_TIMEOUTS
        response = await self._call(messages, options, is_stream=True)
        iterator = aiter(response)
        try:
            while True:
                try:
                    async with asyncio.timeout_at(min(deadline, loop.time() + self._timeout_seconds)):
                        chunk = await anext(iterator)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise TransientError(
                        f"The provider of {self._model!r} was silent for {self._timeout_seconds:g} s in the middle of"
                        f" its answer, or did not end it within {self._timeout_seconds * STREAM_TIMEOUTS:g} s: ask"
                        " again.",
                        code="stream_cut",
                    ) from None
                except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises is translated
                    raise self._translated(error) from None
                yield chunk
        finally:
            await _close(response)

    async def _call(self, messages: Sequence[Message], options: Options, *, is_stream: bool) -> Any:
        # The first import blocks for seconds.
        module = await asyncio.to_thread(litellm)
        arguments = self._arguments(messages, options, is_stream=is_stream)
        key = self._api_key.get_secret_value() if self._api_key else NO_KEY
        if self._is_guarded:
            arguments["client"] = self._client()
        try:
            return await module.acompletion(**arguments, api_key=key)
        except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises is translated, bugs of its own too
            raise self._translated(error) from None

    def _client(self) -> Any:
        if self._guarded_client is None:
            self._guarded_client = guarded_openai_client(
                self._api_key, self._api_base, timeout_seconds=self._timeout_seconds
            )
        return self._guarded_client

    async def close(self) -> None:
        """Close the connections that are its own."""
        client, self._guarded_client = self._guarded_client, None
        if client is not None:
            await client.close()

    def _translated(self, error: Exception) -> Exception:
        key = self._api_key.get_secret_value() if self._api_key else None
        return translated(error, model=self._model, api_key=key, use=Use.CHAT)

    def _unreadable(self) -> TransientError:
        return TransientError(
            f"The answer of the provider of {self._model!r} cannot be read: try again later.", code="malformed_answer"
        )

    def _arguments(self, messages: Sequence[Message], options: Options, *, is_stream: bool) -> dict[str, Any]:
        provider = provider_of(self._model, field="model", examples=CHAT_EXAMPLES)
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in messages],
            "timeout": self._timeout_seconds,
            "num_retries": 0,
            "max_retries": 0,
        }
        base = address_for(provider, self._api_base)
        if base is not None:
            arguments["api_base"] = base
        if options.tools:
            arguments |= {"tools": [_tool(tool) for tool in options.tools], "tool_choice": options.tool_choice.value}
        if options.answer_schema is not None:
            arguments["response_format"] = _response_format(options.answer_schema)
        if options.temperature is not None:
            arguments["temperature"] = options.temperature
        if options.max_tokens is not None:
            arguments["max_tokens"] = options.max_tokens
        if is_stream:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        # A model that has not a parameter is asked without it: a temperature is no reason to refuse an answer.
        return {**arguments, "drop_params": True}

    def _priced(self, completion: Completion, messages: Sequence[Message]) -> Completion:
        usage = completion.usage
        if not usage.total_tokens:
            usage = _estimated(messages, completion)
        return Completion(
            text=completion.text,
            tool_calls=completion.tool_calls,
            usage=usage,
            finish_reason=completion.finish_reason,
            cost_usd=cost_usd(self._model, usage),
        )


def cost_usd(model: str, usage: TokenUsage) -> float | None:
    """What LiteLLM's table of prices says of a call; None where it does not know the model."""
    try:
        prompt, completion = litellm().cost_per_token(
            model=model, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )
    except Exception:  # noqa: BLE001  # it raises whatever it likes for a model that is not in the table
        return None
    return float(prompt) + float(completion)


_STUMBLES = (AttributeError, LookupError, TypeError, ValueError)
"""What reading an answer raises that has another shape than providers' answers have."""


@dataclass(slots=True)
class _CallParts:
    """A tool call as its fragments arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Parts:
    """An answer as its pieces arrive."""

    most_characters: int
    characters: int = 0
    text: list[str] = field(default_factory=list[str])
    calls: dict[int, _CallParts] = field(default_factory=dict[int, _CallParts])
    finish_reason: FinishReason | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)

    @property
    def is_full(self) -> bool:
        """Whether this is more than is taken of an answer."""
        too_long = any(len(call.arguments) > LONGEST_ARGUMENTS for call in self.calls.values())
        return self.characters >= self.most_characters or len(self.calls) > MOST_CALLS or too_long

    def take(self, chunk: Any) -> str:
        """Add a piece; returns its text, as far as it is taken."""
        self.usage = _usage(getattr(chunk, "usage", None)) or self.usage
        text = ""
        for choice in chunk.choices or ():
            if choice.finish_reason is not None:
                self.finish_reason = _finish_reason(choice.finish_reason)
            delta = choice.delta
            text += getattr(delta, "content", None) or ""
            for fragment in getattr(delta, "tool_calls", None) or ():
                self._take_fragment(fragment)
        text = without_surrogates(text)[: self.most_characters - self.characters]
        self.characters += len(text)
        self.text.append(text)
        if self.is_full:
            self.finish_reason = FinishReason.LENGTH
        return text

    def _take_fragment(self, fragment: Any) -> None:
        call = self.calls.setdefault(int(fragment.index or 0), _CallParts())
        call.id = fragment.id or call.id
        function = fragment.function
        if function is not None:
            call.name = call.name or function.name or ""
            call.arguments += function.arguments or ""

    def whole(self) -> Completion:
        """The whole answer, from its pieces."""
        calls = tuple(
            ToolCall(call.id or f"call_{index}", call.name, call.arguments)
            for index, call in sorted(self.calls.items())
        )
        usage = TokenUsage() if self.is_full else self.usage
        return Completion("".join(self.text), bounded_calls(calls), usage, self.finish_reason or FinishReason.STOP)


def _completion(response: Any, model: str, most_characters: int) -> Completion:
    choices = response.choices
    if not choices:
        raise TransientError(f"The provider of {model!r} answered nothing: ask again.", code="malformed_answer")
    message = choices[0].message
    calls = tuple(
        ToolCall(call.id or f"call_{index}", call.function.name or "", call.function.arguments or "")
        for index, call in enumerate(message.tool_calls or ())
    )
    usage = _usage(getattr(response, "usage", None)) or TokenUsage()
    text = without_surrogates(message.content or "")
    is_cut = len(text) > most_characters
    reason = FinishReason.LENGTH if is_cut else _finish_reason(choices[0].finish_reason)
    return Completion(text[:most_characters], bounded_calls(calls), usage, reason)


def _usage(raw: Any) -> TokenUsage | None:
    if raw is None:
        return None
    return TokenUsage(bounded_count(raw.prompt_tokens), bounded_count(raw.completion_tokens))


def _estimated(messages: Sequence[Message], completion: Completion) -> TokenUsage:
    asked = sum(len(message.content) for message in messages)
    answered = len(completion.text) + sum(len(call.arguments) for call in completion.tool_calls)
    return TokenUsage(asked // CHARACTERS_PER_TOKEN + 1, answered // CHARACTERS_PER_TOKEN + 1, is_estimated=True)


def _finish_reason(raw: object) -> FinishReason:
    if raw == "function_call":
        return FinishReason.TOOL_CALLS
    try:
        return FinishReason(str(raw))
    except ValueError:
        return FinishReason.STOP


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments_text(call)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    return written


def _arguments_text(call: ToolCall) -> str:
    """Providers refuse a conversation in which an earlier call's arguments are no JSON object."""
    try:
        is_object = isinstance(json.loads(call.arguments), dict)
    except ValueError:
        is_object = False
    return call.arguments if is_object else "{}"


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _response_format(schema: AnswerSchema) -> Mapping[str, Any]:
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.name, "schema": dict(schema.schema), "strict": True},
    }


async def _close(response: Any) -> None:
    """Close the connection that a stream comes by: what is not read any more is not paid for any longer."""
    for source in (getattr(response, "completion_stream", None), response):
        for name in ("aclose", "close"):
            closing = getattr(source, name, None)
            if closing is None:
                continue
            result = cast("object", closing())
            if asyncio.iscoroutine(result):
                await result
            return
