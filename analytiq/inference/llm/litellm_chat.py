"""Every hosted chat model, and every OpenAI-compatible server, through LiteLLM."""

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from analytiq.errors import TransientError
from analytiq.inference.credentials.providers import Credential
from analytiq.inference.llm.base import (
    AnswerSchema,
    Completion,
    Message,
    Options,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    TokenUsage,
    Tool,
    ToolCall,
)
from analytiq.inference.llm.bounding import longest_text
from analytiq.inference.llm.reading import STUMBLES, Parts, completion_of, estimated
from analytiq.inference.llm.reasoning import Split
from analytiq.inference.providers.allowed import Use, destination_of
from analytiq.inference.providers.guarded_http import Destination, bound_for
from analytiq.inference.providers.litellm_errors import translated
from analytiq.inference.providers.litellm_module import NO_KEY, address_for, litellm, provider_of

CHAT_EXAMPLES = "gpt-4o-mini, anthropic/claude-sonnet-4-5, gemini/gemini-2.5-flash, openai/<model of your own server>"
WHOLE_TIMEOUTS = 2
"""Multiple of `timeout_seconds` for a whole answer: a server that sends a byte now and then is never silent."""
STREAM_TIMEOUTS = 10
"""The same for a stream, which shows text meanwhile."""


class LiteLLMChat:
    """One model of one provider with one key; LiteLLM keeps and reuses the connections.

    Args of the constructor:
        model: LiteLLM's model string, for example `gpt-4o-mini`.
        credential: the key, and the address of an OpenAI-compatible server.
        timeout_seconds: of silence; a whole answer may take twice as long, a stream ten times.
    """

    def __init__(self, model: str, credential: Credential, *, timeout_seconds: float = 120.0) -> None:
        self._model = model
        self._credential = credential
        self._timeout_seconds = timeout_seconds

    def __repr__(self) -> str:
        return f"LiteLLMChat({self._model!r})"

    @property
    def model(self) -> str:
        """See ChatModel."""
        return self._model

    @property
    def endpoint(self) -> str:
        """The address of the organization's own server; empty for the provider's well-known one."""
        return self._credential.api_base or ""

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
            completion = completion_of(response, self._model, longest_text(options.max_tokens))
        except STUMBLES:
            raise self._unreadable() from None
        return self._priced(completion, messages)

    async def stream(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[StreamEvent]:
        """See ChatModel."""
        parts = Parts(most_characters=longest_text(options.max_tokens))
        async with aclosing(self._chunks(messages, options)) as chunks:
            async for chunk in chunks:
                try:
                    taken = parts.take(chunk)
                except STUMBLES:
                    raise self._unreadable() from None
                for piece in _deltas(taken):
                    yield piece
                if parts.is_full:
                    # An unread rest is no longer charged.
                    break
        if parts.finish_reason is None:
            raise TransientError(
                f"The provider of {self._model!r} ended its answer in the middle: ask again.", code="stream_cut"
            )
        for piece in _deltas(parts.end()):
            yield piece
        yield self._priced(parts.whole(), messages)

    async def _chunks(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[Any]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_seconds * STREAM_TIMEOUTS
        response = await self._call(messages, options, is_stream=True)
        iterator = aiter(response)
        try:
            while True:
                try:
                    limit = min(deadline, loop.time() + self._timeout_seconds)
                    # Some of LiteLLM's streams connect only with their first piece.
                    with bound_for(self._destination):
                        async with asyncio.timeout_at(limit):
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
        key = self._credential.api_key.get_secret_value()
        try:
            with bound_for(self._destination):
                return await module.acompletion(**arguments, api_key=key or NO_KEY)
        except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises is translated, bugs of its own too
            raise self._translated(error) from None

    @functools.cached_property
    def _base(self) -> str | None:
        return address_for(self._provider, self._credential.api_base, Use.CHAT)

    @functools.cached_property
    def _destination(self) -> Destination:
        return destination_of(self._provider, self._base, is_guarded=self._credential.is_guarded)

    @functools.cached_property
    def _provider(self) -> str:
        return provider_of(self._model, use=Use.CHAT, field="model", examples=CHAT_EXAMPLES)

    def _translated(self, error: Exception) -> Exception:
        key = self._credential.api_key.get_secret_value()
        return translated(error, model=self._model, api_key=key, use=Use.CHAT)

    def _unreadable(self) -> TransientError:
        return TransientError(
            f"The answer of the provider of {self._model!r} cannot be read: try again later.", code="malformed_answer"
        )

    def _arguments(self, messages: Sequence[Message], options: Options, *, is_stream: bool) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": [_message(message) for message in messages],
            "timeout": self._timeout_seconds,
            "num_retries": 0,
            "max_retries": 0,
        }
        base = self._base
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
        # A model without a parameter is called without it: a temperature is no reason to refuse an answer.
        return {**arguments, "drop_params": True}

    def _priced(self, completion: Completion, messages: Sequence[Message]) -> Completion:
        usage = completion.usage
        if not usage.total_tokens:
            usage = estimated(messages, completion)
        return replace(completion, usage=usage, cost_usd=cost_usd(self._model, usage))


def cost_usd(model: str, usage: TokenUsage) -> float | None:
    """Return the price of a call by LiteLLM's table; None for an unknown model."""
    try:
        prompt, completion = litellm().cost_per_token(
            model=model, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens
        )
    except Exception:  # noqa: BLE001  # it raises whatever it likes for a model that is not in the table
        return None
    return float(prompt) + float(completion)


def _deltas(taken: Split) -> list[TextDelta | ReasoningDelta]:
    deltas: list[TextDelta | ReasoningDelta] = []
    if taken.reasoning and not taken.retracts:
        deltas.append(ReasoningDelta(taken.reasoning))
    if taken.answer:
        deltas.append(TextDelta(taken.answer))
    return deltas


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role.value, "content": message.content}
    if message.pictures:
        shown = [{"type": "image_url", "image_url": {"url": picture.data_uri}} for picture in message.pictures]
        written["content"] = [{"type": "text", "text": message.content}, *shown]
    if message.tool_calls:
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments_text(call)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        written["tool_call_id"] = message.tool_call_id
    return written


def _arguments_text(call: ToolCall) -> str:
    """Replace invalid arguments: providers refuse a conversation whose earlier calls are no JSON objects."""
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
    """Close the connection of a stream, so that its unread rest costs nothing."""
    for source in (getattr(response, "completion_stream", None), response):
        for name in ("aclose", "close"):
            closing = getattr(source, name, None)
            if closing is None:
                continue
            result = cast("object", closing())
            if asyncio.iscoroutine(result):
                await result
            return
