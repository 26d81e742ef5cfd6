"""The number of jobs that a turn of a partition may take, bounded by the time that it holds its slot. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from analytiq.models.job import JobKind

TURN_SECONDS = 0.25
"""Seconds that the jobs of a turn may add to the time of its first: another's single document waits that long."""
MOST_FIXED_SECONDS = 2.0
"""Most seconds that they may add where a turn takes as long whatever its size: for a slow provider's call, or because
the machine is so busy that each command waits. Without this, turns would be smallest where sharing saves most."""
SMALLEST_HALVED = 2
FIRST_JOBS = 8
"""Jobs of a partition's first turn, whose pace is unknown."""
_MEMORY = 0.8
"""Weight of the earlier turns at each new one."""
MOST_REMEMBERED = 10_000


@dataclass(slots=True)
class _Pace:
    """Decayed sums over the turns of a partition, for the straight line of seconds over jobs."""

    weight: float = 0.0
    jobs: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def note(self, jobs: int, seconds: float) -> None:
        added = (1.0, jobs, seconds, jobs * jobs, jobs * seconds)
        kept = (self.weight, self.jobs, self.seconds, self.squares, self.products)
        self.weight, self.jobs, self.seconds, self.squares, self.products = (
            _MEMORY * old + new for old, new in zip(kept, added, strict=True)
        )

    @property
    def seconds_a_job(self) -> float | None:
        """Return what one more job costs; None if the turns were too much alike to tell.

        Not the mean: a provider's call or a commit takes its time however many jobs share it.
        """
        spread = self.weight * self.squares - self.jobs**2
        if spread < self.weight**2:
            return None
        return max(0.0, (self.weight * self.products - self.jobs * self.seconds) / spread)

    def seconds_for_more(self, seconds_a_job: float) -> float:
        """Return the seconds that all jobs of a turn may take beside its fixed cost."""
        fixed = (self.seconds - seconds_a_job * self.jobs) / self.weight
        return max(TURN_SECONDS, min(fixed, MOST_FIXED_SECONDS))

    @property
    def untried_size(self) -> int:
        """Return another size than usual, whose turn tells what one more job costs."""
        usual = round(self.jobs / self.weight)
        if usual <= SMALLEST_HALVED:
            return 2 * SMALLEST_HALVED  # turns of one and two are too much alike, and would alternate for ever
        return usual * 2 if self.seconds < self.weight * TURN_SECONDS / 2 else usual // 2


class TurnSizes:
    """Sizes of turns by partition, from the pace of the partition's last turns in this process."""

    def __init__(self, kinds: Collection[JobKind], largest: int) -> None:
        self._kinds = frozenset(kind.value for kind in kinds)
        self._largest = largest
        self._paces: dict[str, _Pace] = {}

    def of(self, lane: str) -> int:
        """Return the most jobs of the partition's next turn; 1 if its kind has no handler of batches."""
        if lane.rpartition(":")[2] not in self._kinds:  # nor are heavy jobs, whose partitions end otherwise
            return 1
        pace = self._paces.get(lane)
        if pace is None:
            return min(FIRST_JOBS, self._largest)
        cost = pace.seconds_a_job
        if cost is None:
            return max(1, min(self._largest, pace.untried_size))
        return max(1, min(self._largest, int(pace.seconds_for_more(cost) / max(cost, 1e-6))))

    def note(self, lane: str, jobs: int, seconds: float) -> None:
        """Note a turn that has ended."""
        if len(self._paces) >= MOST_REMEMBERED:
            self._paces.clear()
        self._paces.setdefault(lane, _Pace()).note(jobs, seconds)
