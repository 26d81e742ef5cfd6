"""Port of every chat model, with its messages and answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from analytiq.models.pictures import Picture


class Role(StrEnum):
    """The author of a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. `arguments` is text by the model, usually JSON.

    Within one answer, ids are unique, and calls and their arguments bounded (`analytiq.inference.llm.bounding`).
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. A tool's result names its call by `tool_call_id`. Only a user's message has pictures."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call; `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


class ToolChoice(StrEnum):
    """The model's freedom: it may, must not, or must call a tool."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """A JSON schema for the answer's text."""

    name: str
    schema: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of an answer. None leaves the choice to the model."""

    tools: Sequence[Tool] = ()
    tool_choice: ToolChoice = ToolChoice.AUTO
    answer_schema: AnswerSchema | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a call, as the provider counts them, or estimated without a count."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    is_estimated: bool = False

    @property
    def total_tokens(self) -> int:
        """The sum of both."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        return TokenUsage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.is_estimated or other.is_estimated,
        )


class FinishReason(StrEnum):
    """The reason for the end of an answer."""

    STOP = "stop"
    LENGTH = "length"
    """The model's window or `max_tokens` is used up: the text is cut."""
    TOOL_CALLS = "tool_calls"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer. `cost_usd` is None for a model of unknown price.

    `reasoning`: the model's thoughts before the answer; not part of `text`.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    finish_reason: FinishReason = FinishReason.STOP
    cost_usd: float | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next part of the model's reasoning before its answer."""

    text: str


StreamEvent = TextDelta | ReasoningDelta | Completion
"""Pieces of text as they arrive; the last event is the whole, with its usage.

The last event decides: earlier text may turn out to be reasoning.
"""


class ChatModel(Protocol):
    """One model of one provider with one key. Retries are left to the service."""

    @property
    def model(self) -> str:
        """LiteLLM's model string."""
        ...

    async def complete(self, messages: Sequence[Message], options: Options) -> Completion:
        """Return the whole answer.

        Raises:
            RateLimitedError: `retry_after` in seconds, if the provider names it.
            TransientError: the provider failed, or its answer cannot be read (code `malformed_answer`).
            ProviderRefusedError: the provider will never accept this call.
        """
        ...

    def stream(self, messages: Sequence[Message], options: Options) -> AsyncGenerator[StreamEvent]:
        """Answer piece by piece; closing the generator ends the provider's work.

        Raises the errors of `complete`, before the first piece or in the middle (code `stream_cut` if the provider
        closed the stream early).
        """
        ...
