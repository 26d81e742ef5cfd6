"""Counts the calls of models that a piece of work makes, and refuses those beyond its budget, whatever lies between."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from analytiq.inference.llm.base import TokenUsage


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
_budget: ContextVar[Callable[[int], None] | None] = ContextVar("llm_calls_budget", default=None)


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


@contextmanager
def requiring_budget(require: Callable[[int], None]) -> Generator[None]:
    """Within it, `require` is told before each call with how many tokens it asks, and raises where it is too many."""
    token = _budget.set(require)
    try:
        yield
    finally:
        _budget.reset(token)


def require_budget_for(tokens: int) -> None:
    """Refuse a call that whoever the work is for has no budget for.

    Raises:
        QuotaExceededError: nothing may be sent.
    """
    require = _budget.get()
    if require is not None:
        require(tokens)
