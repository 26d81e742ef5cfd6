"""Reader of providers' answers, whole or piece by piece, bounded in any shape."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from analytiq.errors import TransientError
from analytiq.inference.llm.base import Completion, FinishReason, Message, TokenUsage, ToolCall
from analytiq.inference.llm.bounding import LONGEST_ARGUMENTS, MOST_CALLS, bounded_calls, bounded_count
from analytiq.inference.llm.reasoning import ReasoningSplitter, Split, split_reasoning
from analytiq.inference.tokens import without_surrogates

CHARACTERS_PER_TOKEN = 4
"""Estimate for providers that do not count: the average of English text."""
CHARACTERS_OF_A_PICTURE = 6000
"""The same for a picture: most models count at most 1,500 tokens for one."""

STUMBLES = (AttributeError, LookupError, TypeError, ValueError)
"""Exceptions raised by reading an answer of unexpected structure."""


@dataclass(slots=True)
class _CallParts:
    """A tool call as its fragments arrive."""

    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Parts:
    """An answer as its pieces arrive."""

    most_characters: int
    characters: int = 0
    answer: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    splitter: ReasoningSplitter = field(default_factory=ReasoningSplitter)
    calls: dict[int, _CallParts] = field(default_factory=dict[int, _CallParts])
    finish_reason: FinishReason | None = None
    usage: TokenUsage = field(default_factory=TokenUsage)

    @property
    def is_full(self) -> bool:
        """True once the answer exceeds its bound."""
        too_long = any(len(call.arguments) > LONGEST_ARGUMENTS for call in self.calls.values())
        return self.characters >= self.most_characters or len(self.calls) > MOST_CALLS or too_long

    def take(self, chunk: Any) -> Split:
        """Add a piece; return the part of its text within the bound."""
        self.usage = _usage(getattr(chunk, "usage", None)) or self.usage
        text = reasoning = ""
        for choice in chunk.choices or ():
            if choice.finish_reason is not None:
                self.finish_reason = _finish_reason(choice.finish_reason)
            delta = choice.delta
            text += getattr(delta, "content", None) or ""
            reasoning += _reasoning_of(delta)
            for fragment in getattr(delta, "tool_calls", None) or ():
                self._take_fragment(fragment)
        taken = Split(reasoning=self._bounded(reasoning)) + self.splitter.take(self._bounded(text))
        self._keep(taken)
        if self.is_full:
            self.finish_reason = FinishReason.LENGTH
        return taken

    def _bounded(self, text: str) -> str:
        kept = without_surrogates(text)[: self.most_characters - self.characters]
        self.characters += len(kept)
        return kept

    def end(self) -> Split:
        """Return the rest of the text, held back as a possible tag."""
        rest = self.splitter.end()
        self._keep(rest)
        return rest

    def _keep(self, taken: Split) -> None:
        if taken.retracts:
            # Text of the answer that `taken` itself holds back is in its reasoning.
            self.reasoning += self.answer
            self.answer.clear()
        self.reasoning.append(taken.reasoning)
        self.answer.append(taken.answer)

    def _take_fragment(self, fragment: Any) -> None:
        call = self.calls.setdefault(int(fragment.index or 0), _CallParts())
        call.id = fragment.id or call.id
        function = fragment.function
        if function is not None:
            call.name = call.name or function.name or ""
            call.arguments += function.arguments or ""

    def whole(self) -> Completion:
        """Build the whole answer from its pieces."""
        calls = tuple(
            ToolCall(call.id or f"call_{index}", call.name, call.arguments)
            for index, call in sorted(self.calls.items())
        )
        usage = TokenUsage() if self.is_full else self.usage
        return Completion(
            "".join(self.answer),
            bounded_calls(calls),
            usage,
            self.finish_reason or FinishReason.STOP,
            reasoning="".join(self.reasoning),
        )


def completion_of(response: Any, model: str, most_characters: int) -> Completion:
    """Read a whole answer."""
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
    apart = without_surrogates(_reasoning_of(message))[:most_characters]
    found = Split(reasoning=apart) + split_reasoning(text[:most_characters])
    return Completion(found.answer, bounded_calls(calls), usage, reason, reasoning=found.reasoning)


def characters_of(message: Message) -> int:
    """Return the size of a message for estimates of its tokens."""
    return len(message.content) + CHARACTERS_OF_A_PICTURE * len(message.pictures)


def _reasoning_of(message: Any) -> str:
    """Read the reasoning of a message or a piece of one: servers name the field differently."""
    for name in ("reasoning_content", "reasoning"):
        told = getattr(message, name, None)
        if isinstance(told, str) and told:
            return told
    return ""


def _usage(raw: Any) -> TokenUsage | None:
    if raw is None:
        return None
    return TokenUsage(bounded_count(raw.prompt_tokens), bounded_count(raw.completion_tokens))


def estimated(messages: Sequence[Message], completion: Completion) -> TokenUsage:
    """Estimate the tokens of a call if the provider does not count them."""
    asked = sum(map(characters_of, messages))
    answered = (
        len(completion.text) + len(completion.reasoning) + sum(len(call.arguments) for call in completion.tool_calls)
    )
    return TokenUsage(asked // CHARACTERS_PER_TOKEN + 1, answered // CHARACTERS_PER_TOKEN + 1, is_estimated=True)


_FINISH_REASONS = {
    "function_call": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "content_filtered": FinishReason.CONTENT_FILTER,
    "guardrail_intervened": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.CONTENT_FILTER,
    "sensitive": FinishReason.CONTENT_FILTER,
    "safety": FinishReason.CONTENT_FILTER,
    "recitation": FinishReason.CONTENT_FILTER,
    "blocklist": FinishReason.CONTENT_FILTER,
    "prohibited_content": FinishReason.CONTENT_FILTER,
    "spii": FinishReason.CONTENT_FILTER,
    "error_toxic": FinishReason.CONTENT_FILTER,
}
"""Providers' words, which LiteLLM passes on unchanged."""


def _finish_reason(raw: object) -> FinishReason:
    told = str(raw).lower()
    try:
        return FinishReason(told)
    except ValueError:
        return _FINISH_REASONS.get(told, FinishReason.STOP)
