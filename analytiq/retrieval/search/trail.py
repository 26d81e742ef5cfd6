"""What is noted of a search on its way: timings, counts, and what could not be done."""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from time import perf_counter

import structlog

from analytiq.errors import AnalytiqError
from analytiq.retrieval.search.request import Degradation, Statistics
from analytiq.telemetry import traces

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Trail:
    """One for each search."""

    timings_ms: dict[str, float] = field(default_factory=dict[str, float])
    statistics: Statistics = field(default_factory=Statistics)
    degraded: list[Degradation] = field(default_factory=list[Degradation])
    is_fused: bool = False
    """Whether both legs found something."""

    @contextlib.contextmanager
    def step(self, name: str) -> Generator[None]:
        """Time a step; of one that is made several times, all together."""
        started = perf_counter()
        try:
            with traces.span(f"search.{name}"):
                yield
        finally:
            self.add_time(name, (perf_counter() - started) * 1000)

    def add_time(self, name: str, milliseconds: float) -> None:
        """Add to a step's time."""
        self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + milliseconds, 2)

    def degrade(self, step: str, error: AnalytiqError) -> None:
        """Note that a step failed and was left out."""
        self.lack(step, error.code, error.detail)

    def lack(self, step: str, code: str, detail: str) -> None:
        """Note that a step was left out."""
        if all(known.step != step for known in self.degraded):
            # Not the detail: a provider may have put the question into it.
            log.warning("search.degraded", step=step, code=code)
            self.degraded.append(Degradation(step, code, detail))

    def count(self, **counts: int) -> None:
        """Note how many chunks a step had."""
        self.statistics = replace(self.statistics, **counts)
