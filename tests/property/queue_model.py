"""The queue as a plain model: rows by key, and which requests an attempt has served."""

import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

MOST_DEATHS = 2


class Outcome(StrEnum):
    """The outcome that a worker reports for the job that it holds, or believes to hold."""

    FINISH = "finish"
    RETRY = "retry"
    WAIT = "wait"
    """As `retry`, later, and the attempt does not count."""
    BURY = "bury"
    GIVE_BACK = "give back"
    HEARTBEAT = "heartbeat"


@dataclass(slots=True)
class Row:
    """A row of `jobs`, as far as it decides anything."""

    state: str = "available"
    is_due: bool = True
    priority: int = 0
    wanted: int = 0
    served: int | None = None
    attempt: int = 0
    deaths: int = 0
    token: str | None = None
    is_cancel_wanted: bool = False

    @property
    def is_asked_again(self) -> bool:
        return self.wanted > (self.served or 0)


@dataclass(slots=True)
class QueueModel:
    """Every move of the drawing in `analytiq.jobs.queue`; each method returns whether the queue may answer so."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])

    def copy(self) -> "QueueModel":
        return copy.deepcopy(self)

    def enqueue(self, key: str, *, priority: int, is_delayed: bool) -> bool:
        row = self.rows.setdefault(key, Row(state="dead", priority=priority))
        if row.state == "dead":
            row.state, row.is_due, row.attempt, row.deaths = "available", not is_delayed, 0, 0
        elif row.state == "available":
            row.is_due |= not is_delayed
        if row.state != "running":
            row.is_cancel_wanted = False  # what is asked for after a cancellation is wanted
        row.priority = min(row.priority, priority)
        row.wanted += 1
        return True

    def claim(self, key: str | None, token: str | None, *, is_alone: bool) -> bool:
        """None may mean that others were faster; alone, a worker takes one of the most urgent."""
        due = {name: row for name, row in self.rows.items() if row.state == "available" and row.is_due}
        if key is None:
            return not (is_alone and due)
        if key not in due or (is_alone and due[key].priority > min(row.priority for row in due.values())):
            return False
        row = due[key]
        row.state, row.served, row.token = "running", row.wanted, token
        row.attempt += 1
        return True

    def settle(self, key: str, token: str | None, outcome: Outcome, answer: Any) -> bool:
        """`answer`: whether the queue took the outcome; of a heartbeat, None or whether to stop."""
        row = self.rows.get(key)
        if row is None or row.token != token:
            return answer in (None, False)
        if outcome is Outcome.HEARTBEAT:
            return answer is row.is_cancel_wanted
        if answer is not True:
            return False
        is_asked_again = row.is_asked_again
        match outcome:
            case Outcome.FINISH if not is_asked_again:
                del self.rows[key]
                return True
            case Outcome.BURY if not is_asked_again:
                self._release(row, "dead")
                row.is_cancel_wanted = False
            case Outcome.FINISH | Outcome.BURY:
                self._release(row, "available")
                row.attempt, row.deaths, row.is_cancel_wanted = 0, 0, False
            case _:
                self._release(row, "available")
                row.is_due = outcome is not Outcome.WAIT
                row.attempt -= outcome is not Outcome.RETRY
                row.is_cancel_wanted &= not is_asked_again
        return True

    def die(self, key: str, count: int, *, is_alone: bool) -> bool:
        """The lease runs out; beside others, a heartbeat may have come in time."""
        row = self.rows.get(key)
        is_running = row is not None and row.state == "running"
        if row is None or not count:
            return not (count or (is_running and is_alone))
        if not is_running:
            return False
        row.deaths += 1
        if row.is_asked_again:
            row.attempt, row.deaths, row.is_cancel_wanted = 0, 0, False
            self._release(row, "available")
        else:
            self._release(row, "dead" if row.deaths >= MOST_DEATHS else "available")
        return True

    def cancel(self, key: str, state: str | None) -> bool:
        row = self.rows.get(key)
        if row is None or row.state != state:
            return row is None and state is None
        row.is_cancel_wanted = row.state == "running"
        if row.state == "available":
            row.state = "dead"
        return True

    def replay(self, key: str, count: int) -> bool:
        row = self.rows.get(key)
        if row is None or row.state != "dead":
            return count == 0
        row.state, row.is_due, row.attempt, row.deaths, row.is_cancel_wanted = "available", True, 0, 0, False
        row.wanted += 1
        return count == 1

    def pass_time(self) -> bool:
        for row in self.rows.values():
            row.is_due = True
        return True

    def _release(self, row: Row, state: str) -> None:
        row.state, row.is_due, row.token, row.served = state, True, None, None
