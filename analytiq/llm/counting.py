"""Counts the calls of chat models that a piece of work makes, whatever lies between it and them."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from analytiq.llm.base import TokenUsage


@dataclass(frozen=True, slots=True)
class CountedCall:
    """One call; `cost_usd` None: the model's price is not known."""

    usage: TokenUsage
    cost_usd: float | None


@dataclass(slots=True)
class CallCount:
    """Calls so far."""

    calls: list[CountedCall] = field(default_factory=list[CountedCall])


_counting: ContextVar[CallCount | None] = ContextVar("llm_calls_counted", default=None)


@contextmanager
def counting_calls() -> Generator[CallCount]:
    """Within it, the calls of this task and of those that it starts are counted; not for the block around it too."""
    count = CallCount()
    token = _counting.set(count)
    try:
        yield count
    finally:
        _counting.reset(token)


def note_call(usage: TokenUsage, cost_usd: float | None) -> None:
    """Add a call to whatever is being counted."""
    count = _counting.get()
    if count is not None:
        count.calls.append(CountedCall(usage, cost_usd))
