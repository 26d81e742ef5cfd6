"""The trace of one search: timings, counts, and omitted steps."""

import asyncio
import contextlib
from collections.abc import Awaitable, Generator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

import structlog

from analytiq.errors import AnalytiqError
from analytiq.retrieval.pipeline.request import Degradation, Statistics
from analytiq.telemetry import traces

log = structlog.get_logger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class Trace:
    """The trace of one search."""

    timings_ms: dict[str, float] = field(default_factory=dict[str, float])
    statistics: Statistics = field(default_factory=Statistics)
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    is_fused: bool = False
    """True if both retrievers found something."""

    @contextlib.contextmanager
    def step(self, name: str) -> Generator[None]:
        """Time a step; repetitions add up."""
        started = perf_counter()
        try:
            with traces.span(f"search.{name}"):
                yield
        finally:
            self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + (perf_counter() - started) * 1000, 2)

    async def attempt(
        self, step: str, work: Awaitable[T], *, seconds: float, fatal: tuple[type[AnalytiqError], ...] = ()
    ) -> T | None:
        """Await the result of an optional step; record the reason of a failure.

        Raises:
            AnalytiqError: one of `fatal`.
        """
        try:
            async with asyncio.timeout(seconds):
                return await work
        except fatal:
            raise
        except TimeoutError:
            self.leave_out(step, "timeout", f"it took longer than {seconds:g} s")
        except AnalytiqError as error:
            self.leave_out(step, error.code, error.detail)
        return None

    def leave_out(self, step: str, code: str, detail: str) -> None:
        """Record an omitted step, once."""
        if all(known.step != step for known in self.degraded):
            # Not the detail: a provider may have quoted the question in it.
            log.warning("search.degraded", step=step, code=code)
            self.degraded.append(Degradation(step, code, detail))
