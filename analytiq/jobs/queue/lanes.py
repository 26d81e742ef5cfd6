"""Fair turns: between organizations, and between the partitions of one. Pure, in memory.

A partition holds the jobs of one organization, knowledge base and kind. Each process keeps a book of the partitions
that it believes to hold due jobs, and takes turns: first between urgencies, then between organizations, then between
an organization's partitions. So 10,000 waiting documents of one knowledge base delay another's single document by one
turn, and an organization with 100 knowledge bases gets no more turns than one with a single one. As each process is
fair by itself, all together are, without a row that all would write to.

Turns are weighted by time: each second for which a job holds a slot counts as a further turn of its organization. While
several organizations have work, none begins a job beyond its share of the slots. Extractions, which hold a parser
each, may have a bound for each organization besides. Of the jobs that wait for somebody who did not answer before, a
process runs one at a time: a hundred silent sources hold one slot.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

from analytiq.models.job import HEAVY, extracts, is_slow

ANY_URGENCY_TURN = 8
"""One turn in this many goes to the partition that has waited longest, whatever its urgency, so that none starves."""


@dataclass(slots=True)
class Lane:
    """A partition as a process sees it. `priority`: that of its most urgent known job; smaller is sooner."""

    lane_id: str
    organization_id: str
    priority: int
    turns: float
    """Virtual time: the turns taken, or those required for its share."""
    version: int = 0
    blocked_until: float = 0.0
    since: int = 0
    """The number of the turn at which it was entered, or had its last turn."""

    @property
    def is_heavy(self) -> bool:
        """Return True if the jobs of the partition are expensive."""
        return self.lane_id.endswith(HEAVY)


@dataclass(slots=True)
class _Organization:
    turns: float
    lanes: dict[str, Lane] = field(default_factory=dict[str, Lane])


@dataclass(frozen=True, slots=True)
class Wanted:
    """The partitions that a slot may serve.

    `with_heavy`: include long jobs. `capacity`: the number of slots, of which each organization with
    work gets an equal share; None: no bound. `for_newcomers`: only organizations that hold no slot.
    """

    with_heavy: bool = True
    capacity: int | None = None
    for_newcomers: bool = False


ANYTHING = Wanted()
SECONDS_A_TURN = 1.0
"""Seconds for which a job may hold a slot within one turn."""
MOST_REMEMBERED = 10_000
"""Most idle organizations whose past use still counts."""


class LaneBook:
    """The partitions that may hold due jobs. `now` is any monotonic clock, in seconds.

    `most_extractions`: the most documents of one organization that are read at once; None: no bound but its share.
    """

    def __init__(self, most_extractions: int | None = None) -> None:
        self._most_extractions = most_extractions
        self._organizations: dict[str, _Organization] = {}
        self._running: dict[str, int] = {}
        self._extracting: Counter[str] = Counter()
        self._slow = 0
        """Running jobs of slow partitions."""
        self._past: dict[str, float] = {}
        """The virtual time of organizations that have left the book, if ahead of all others."""
        self._turns = 0.0
        self._count = 0

    def __len__(self) -> int:
        return sum(len(organization.lanes) for organization in self._organizations.values())

    def note(self, lane_id: str, organization_id: str, priority: int) -> None:
        """Note that a job of the partition is due now or soon."""
        organization = self._organizations.get(organization_id)
        if organization is None:
            # A newcomer starts level with the others: past idleness gives no claim to be served alone.
            turns = max(self._turns, self._past.pop(organization_id, 0.0))
            organization = self._organizations[organization_id] = _Organization(turns)
        lane = organization.lanes.get(lane_id)
        if lane is None:
            begin = min((other.turns for other in organization.lanes.values()), default=0.0)
            organization.lanes[lane_id] = Lane(lane_id, organization_id, priority, begin, since=self._count)
        else:
            lane.version += 1
            lane.priority = min(lane.priority, priority)

    def next(self, now: float, wanted: Wanted = ANYTHING) -> Lane | None:
        """Return the partition whose turn it is; None if none is available now."""
        ready = [lane for lane in self._served_by(wanted) if lane.blocked_until <= now]
        if wanted.capacity is not None:
            ready = self._within_share(ready, wanted.capacity) or ready
        if not ready:
            return None
        if self._count % ANY_URGENCY_TURN == ANY_URGENCY_TURN - 1:
            return min(ready, key=lambda lane: (lane.since, lane.lane_id))
        return min(ready, key=self._order)

    def soonest(self, wanted: Wanted = ANYTHING) -> float | None:
        """Return the earliest time at which a partition becomes available; None without partitions."""
        return min((lane.blocked_until for lane in self._served_by(wanted)), default=None)

    def begin(self, organization_id: str, lane_id: str = "") -> None:
        """Count a slot as held by the organization, for a job of the partition."""
        self.enter(organization_id)
        if extracts(lane_id):
            self._extracting[organization_id] += 1
        self._slow += is_slow(lane_id)

    def enter(self, organization_id: str) -> None:
        """Count a slot as held."""
        self._running[organization_id] = self._running.get(organization_id, 0) + 1

    def leave(self, organization_id: str) -> None:
        """Count a slot as free."""
        left = self._running.get(organization_id, 0) - 1
        if left > 0:
            self._running[organization_id] = left
        else:
            self._running.pop(organization_id, None)

    def end(self, organization_id: str, seconds: float = 0.0, lane_id: str = "") -> None:
        """Count a slot as free again, and charge the organization for the time held."""
        if extracts(lane_id):
            self._extracting[organization_id] -= 1
            if self._extracting[organization_id] <= 0:
                del self._extracting[organization_id]
        self._slow -= is_slow(lane_id)
        self.leave(organization_id)
        turns = seconds / SECONDS_A_TURN
        organization = self._organizations.get(organization_id)
        if organization is not None:
            organization.turns += turns
        else:
            self._remember(organization_id, max(self._turns, self._past.get(organization_id, 0.0)) + turns)

    def served(self, lane: Lane, priority: int) -> None:
        """Note that the partition had its turn, with a job of this priority."""
        organization = self._organizations.get(lane.organization_id)
        if organization is None:
            return
        self._count += 1
        lane.turns += 1
        lane.since = self._count
        lane.priority = priority
        organization.turns += 1
        self._turns = max(self._turns, organization.turns - 1)

    def empty(self, lane: Lane, version: int) -> None:
        """Remove an empty partition, unless it was noted again since `version` was read."""
        organization = self._organizations.get(lane.organization_id)
        if organization is None or lane.version != version:
            return
        organization.lanes.pop(lane.lane_id, None)
        if not organization.lanes:
            del self._organizations[lane.organization_id]
            self._remember(lane.organization_id, organization.turns)

    def block(self, lane: Lane, until: float) -> None:
        """Block the partition until this time: its jobs are held, or it must wait."""
        lane.blocked_until = max(lane.blocked_until, until)

    def unblock(self, lane_id: str, organization_id: str) -> None:
        """Unblock the partition."""
        organization = self._organizations.get(organization_id)
        if organization is not None and lane_id in organization.lanes:
            organization.lanes[lane_id].blocked_until = 0.0

    def defer(self, lane_id: str, until: float) -> None:
        """Block a partition by its name, if it is in the book."""
        for organization in self._organizations.values():
            if lane_id in organization.lanes:
                self.block(organization.lanes[lane_id], until)

    def _served_by(self, wanted: Wanted) -> list[Lane]:
        return [
            lane
            for organization_id, organization in self._organizations.items()
            if not (wanted.for_newcomers and organization_id in self._running)
            for lane in organization.lanes.values()
            if (wanted.with_heavy or not lane.is_heavy) and self._may_run(lane)
        ]

    def _may_run(self, lane: Lane) -> bool:
        """Return False if the partition's next job would be a second slow one, or an extraction beyond the bound."""
        if self._slow and is_slow(lane.lane_id):
            return False
        if self._most_extractions is None or not extracts(lane.lane_id):
            return True
        return self._extracting[lane.organization_id] < self._most_extractions

    def _within_share(self, ready: list[Lane], capacity: int) -> list[Lane]:
        """Return the partitions of organizations that hold fewer slots than their share."""
        active = {lane.organization_id for lane in ready} | self._running.keys()
        share = math.ceil(capacity / max(1, len(active)))
        return [lane for lane in ready if self._running.get(lane.organization_id, 0) < share]

    def _remember(self, organization_id: str, turns: float) -> None:
        if turns > self._turns:
            self._past[organization_id] = turns
        if len(self._past) > MOST_REMEMBERED:
            self._past = {name: past for name, past in self._past.items() if past > self._turns}

    def _order(self, lane: Lane) -> tuple[int, float, str, float, str]:
        organization = self._organizations[lane.organization_id]
        return (lane.priority, organization.turns, lane.organization_id, lane.turns, lane.lane_id)
