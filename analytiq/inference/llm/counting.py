"""Counts the model calls of a piece of work, at any depth, and refuses those beyond its budget."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from analytiq.inference.llm.base import TokenUsage


@dataclass(frozen=True, slots=True)
class CountedCall:
    """One call; `cost_usd` is None for a model of unknown price."""

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
    """Count the calls of this task and of tasks started in the block; an outer block does not count them too."""
    count = CallCount()
    token = _counting.set(count)
    try:
        yield count
    finally:
        _counting.reset(token)


def note_call(usage: TokenUsage, cost_usd: float | None) -> None:
    """Add a call to the running count."""
    count = _counting.get()
    if count is not None:
        count.calls.append(CountedCall(usage, cost_usd))


@contextmanager
def requiring_budget(require: Callable[[int], None]) -> Generator[None]:
    """Call `require` with the number of tokens before each call within the block; it raises beyond the budget."""
    token = _budget.set(require)
    try:
        yield
    finally:
        _budget.reset(token)


def require_budget_for(tokens: int) -> None:
    """Refuse a call beyond the budget of the work.

    Raises:
        QuotaExceededError: the budget is used up; nothing may be sent.
    """
    require = _budget.get()
    if require is not None:
        require(tokens)
