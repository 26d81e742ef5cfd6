"""The port that every chat model implements, and what goes through it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks to have done. `arguments` is what it wrote: meant to be JSON, and not always.

    Of one answer, ids are unique, and calls and their arguments bounded (`analytiq.inference.llm.bounding`).
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. A tool's answer names the call that it answers by `tool_call_id`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


class ToolChoice(StrEnum):
    """Whether the model may, must not, or must call a tool."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """A JSON schema that the answer's text is to follow."""

    name: str
    schema: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Options:
    """How to answer. None leaves it to the model."""

    tools: Sequence[Tool] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    answer_schema: AnswerSchema | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a call, as the provider counts; estimated where it does not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """Both together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.is_estimated or other.is_estimated,
        )


class FinishReason(StrEnum):
    """Why the answer ends."""

    STOP = "stop"
    LENGTH = "length"
    """The model's window, or `max_tokens`, is used up: the text is cut."""
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer. `cost_usd` is None where the model's price is not known.

    `reasoning`: what the model thought before it answered; no part of `text`.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: FinishReason = FinishReason.STOP
    cost_usd: float | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks before it answers."""

    text: str


StreamEvent = TextDelta | ReasoningDelta | Completion
"""Pieces of text as they arrive; the last event is the whole, with its usage.

The whole decides: what came as text may turn out to have been reasoning.
"""


class ChatModel(Protocol):
    """One model of one provider with one key. Neither method retries: that is the service's."""

    @property
    def model(self) -> str:
        """LiteLLM's model string."""
        ...

    async def complete(self, messages: Sequence[Message], options: Options) -> Completion:
        """Answer at once.

        Raises:
            RateLimitedError: `retry_after` in seconds, where the provider says.
            TransientError: the provider failed, or its answer cannot be read (code `malformed_answer`).
            ProviderRefusedError: the provider will never accept this call.
        """
        ...

    def stream(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[StreamEvent]:
        """Answer piece by piece; closing the generator ends the provider's work.

        Raises as `complete`, before the first piece or in the middle (code `stream_cut` where the provider ended
        without saying that it was done).
        """
        ...
