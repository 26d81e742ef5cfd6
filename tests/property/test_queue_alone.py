"""The queue against a plain model: no work is lost, nobody has a job beside another, requests are counted right.

Several moves are made at once; some order of them must explain all the answers and the rows. Apart from the model,
a book of requests is kept: each must be served by an attempt that was claimed after it, or be visible as dead or
cancelled.
"""

import asyncio
import itertools
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from analytiq import clock
from analytiq.errors import LeaseLostError
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobKind, JobRequest, JobState, Priority
from analytiq.models.job_payloads import SyncPayload
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.migrations import migrate
from analytiq.storage.repositories.jobs import JobQuery, JobRepository
from tests.property.conftest import emptied, schedules
from tests.property.queue_model import MOST_DEATHS, Outcome, QueueModel

KEYS = 3
WORKERS = 3
ORGANIZATION = "organization"
LONG_SECONDS = 3600.0
FAILURE = Failure(code="temporarily_unavailable", detail="it costs $5", at=clock.now())


@dataclass(frozen=True)
class Enqueue:
    key: int
    is_urgent: bool
    is_delayed: bool


@dataclass(frozen=True)
class Claim:
    worker: int


@dataclass(frozen=True)
class Settle:
    """The worker's last job, be it its own still or not. A cancelled one is always buried, as the runner does."""

    worker: int
    outcome: Outcome


@dataclass(frozen=True)
class Die:
    key: int


@dataclass(frozen=True)
class Cancel:
    key: int


@dataclass(frozen=True)
class Replay:
    key: int


@dataclass(frozen=True)
class PassTime:
    """Make postponed work due."""


Move = Enqueue | Claim | Settle | Die | Cancel | Replay | PassTime

_keys = st.integers(0, KEYS - 1)
_workers = st.integers(0, WORKERS - 1)
_moves: st.SearchStrategy[Move | None] = st.one_of(
    st.none(),
    st.builds(Claim, _workers),
    st.builds(Enqueue, _keys, st.booleans(), st.booleans()),
    st.builds(Settle, _workers, st.sampled_from(Outcome)),
    st.builds(Settle, _workers, st.just(Outcome.FINISH)),
    st.builds(Die, _keys),
    st.builds(Cancel, _keys),
    st.sampled_from([Replay(0), Replay(1), Replay(2), PassTime()]),
)
# As in `decisions.schedules`: long lists, in which Hypothesis leaves a move out by choosing None.
rounds: st.SearchStrategy[list[list[Move]]] = st.lists(
    st.lists(_moves, min_size=1, max_size=3), min_size=25, max_size=60
).map(lambda chosen: [moves for round_ in chosen if (moves := [move for move in round_ if move is not None])])


def request(key: int, *, is_urgent: bool = True, is_delayed: bool = False) -> JobRequest:
    return JobRequest(
        payload=SyncPayload(kb_id=f"kb{key % 2}", document_id=f"document{key}"),
        organization_id=ORGANIZATION,
        priority=Priority.INTERACTIVE if is_urgent else Priority.BULK,
        delay_seconds=LONG_SECONDS if is_delayed else 0.0,
    )


NAMES = [request(key).deduplication_key for key in range(KEYS)]


class Book:
    """Requests by key, in order: the last one made, served by which claim, cancelled up to which."""

    def __init__(self) -> None:
        self.asked = dict.fromkeys(NAMES, 0)
        self.cancelled = dict.fromkeys(NAMES, 0)
        self.begun: dict[str, int] = {}
        """Token → requests that were there when the attempt was claimed."""
        self.tried = dict.fromkeys(NAMES, 0)
        """Requests that an attempt has begun to serve."""
        self.done = dict.fromkeys(NAMES, 0)

    def require_nothing_lost(self, rows: dict[str, Job]) -> None:
        for name in NAMES:
            row = rows.get(name)
            if row is None:
                assert self.done[name] == self.asked[name], f"{name} is gone, and its last request was never served"
            elif row.state is JobState.DEAD:
                ended = max(self.tried[name], self.cancelled[name])
                assert ended == self.asked[name], (
                    f"{name} is dead, and its last request was neither tried nor cancelled"
                )


class Rig:
    """The queue's repository, as several workers use it, beside the model."""

    def __init__(self, connection: MongoConnection) -> None:
        self._collection = connection.database["jobs"]
        self.jobs = JobRepository(connection)
        self.model = QueueModel()
        self.book = Book()
        self._held: dict[int, Job] = {}

    async def play(self, moves: list[Move]) -> None:
        """Make the moves at once, and require an order that explains what came of them.

        Of several deaths the first counts: a rescue takes back whatever has run out.
        """
        deaths = [move for move in moves if isinstance(move, Die)]
        moves = [move for move in moves if move not in deaths[1:]]
        # Whoever acts on a job acts on the one that it has when the round begins.
        held = dict(self._held)
        answers = await asyncio.gather(*(self._make(move, held) for move in moves))
        rows = await self._rows()
        note(f"{list(zip(moves, answers, strict=True))}")
        for order in itertools.permutations(range(len(moves))):
            model = self.model.copy()
            if all(self._explain(model, moves[at], answers[at], held, len(moves)) for at in order) and model_is(
                model, rows
            ):
                self.model = model
                self._keep_book([(moves[at], answers[at]) for at in order], held)
                self.book.require_nothing_lost({row.id: row for row in rows.values()})
                return
        raise AssertionError(f"no order explains {answers} and {rows} after {self.model.rows}")

    async def _make(self, move: Move, held: dict[int, Job]) -> Any:
        match move:
            case Enqueue(key, is_urgent, is_delayed):
                return await self.jobs.enqueue([request(key, is_urgent=is_urgent, is_delayed=is_delayed)])
            case Claim(worker):
                job = await self.jobs.claim(
                    [JobKind.SYNC], worker=str(worker), lease_token=new_id(), lease_seconds=LONG_SECONDS
                )
                if job is not None:
                    self._held[worker] = job
                return job
            case Settle(worker, outcome):
                if worker not in held:
                    return None
                return await self._settle(held[worker], outcome)
            case Die(key):
                past = clock.now() - timedelta(seconds=LONG_SECONDS)
                running = {"_id": NAMES[key], "state": "running"}
                await self._collection.update_one(running, {"$set": {"lease_expires_at": past}})
                return await self.jobs.rescue(max_deaths=MOST_DEATHS)
            case Cancel(key):
                state = await self.jobs.cancel(ORGANIZATION, NAMES[key], FAILURE)
                return None if state is None else state.value
            case Replay(key):
                return await self.jobs.replay(ORGANIZATION, JobQuery(), job_id=NAMES[key])
            case PassTime():
                await self._collection.update_many({"state": "available"}, [{"$set": {"run_at": "$$NOW"}}])
                return None

    async def _settle(self, job: Job, outcome: Outcome) -> Any:
        match outcome:
            case Outcome.FINISH:
                try:
                    await self.jobs.finish(job)
                except LeaseLostError:
                    return False
                return True
            case Outcome.RETRY | Outcome.WAIT:
                later = outcome is Outcome.WAIT
                seconds = LONG_SECONDS if later else 0.0
                return await self.jobs.retry(job, FAILURE, delay_seconds=seconds, is_counted=not later)
            case Outcome.BURY:
                return await self.jobs.bury(job, FAILURE)
            case Outcome.GIVE_BACK:
                return await self.jobs.give_back(job)
            case Outcome.HEARTBEAT:
                beat = await self.jobs.heartbeat(job, lease_seconds=LONG_SECONDS)
                return None if beat is None else beat.is_cancel_wanted

    async def _rows(self) -> dict[str, Job]:
        found = [await self.jobs.get(name) for name in NAMES]
        return {job.id: job for job in found if job is not None}

    def _explain(self, model: QueueModel, move: Move, answer: Any, held: dict[int, Job], at_once: int) -> bool:
        match move:
            case Enqueue(key, is_urgent, is_delayed):
                priority = request(key, is_urgent=is_urgent).priority
                return model.enqueue(NAMES[key], priority=priority, is_delayed=is_delayed)
            case Claim():
                name, token = (answer.id, answer.lease_token) if answer else (None, None)
                return model.claim(name, token, is_alone=at_once == 1)
            case Settle(worker, outcome):
                job = held.get(worker)
                return job is None or model.settle(job.id, job.lease_token, outcome, answer)
            case Die(key):
                return model.die(NAMES[key], answer, is_alone=at_once == 1)
            case Cancel(key):
                return model.cancel(NAMES[key], answer)
            case Replay(key):
                return model.replay(NAMES[key], answer)
            case PassTime():
                return model.pass_time()

    def _keep_book(self, made: list[tuple[Move, Any]], held: dict[int, Job]) -> None:
        book = self.book
        for move, answer in made:
            match move:
                case Enqueue(key):
                    book.asked[NAMES[key]] += 1
                case Replay(key):
                    book.asked[NAMES[key]] += answer
                case Claim() if answer is not None:
                    book.begun[answer.lease_token] = book.asked[answer.id]
                    if not answer.is_cancel_wanted:
                        book.tried[answer.id] = book.asked[answer.id]
                case Cancel(key) if answer is not None:
                    book.cancelled[NAMES[key]] = book.asked[NAMES[key]]
                case Settle(worker, Outcome.FINISH) if answer is True:
                    job = held[worker]
                    book.done[job.id] = book.begun[job.lease_token or ""]
                case _:
                    pass


def model_is(model: QueueModel, rows: dict[str, Job]) -> bool:
    now = clock.now() + timedelta(seconds=LONG_SECONDS / 2)
    found = {
        name: (
            row.state.value,
            row.state is not JobState.AVAILABLE or row.run_at <= now,
            row.priority,
            (row.wanted, row.served, row.attempt, row.deaths),
            row.lease_token,
            row.is_cancel_wanted,
        )
        for name, row in rows.items()
    }
    wanted = {
        name: (
            row.state,
            row.state != "available" or row.is_due,
            row.priority,
            (row.wanted, row.served, row.attempt, row.deaths),
            row.token,
            row.is_cancel_wanted,
        )
        for name, row in model.rows.items()
    }
    return found == wanted


@pytest.fixture(scope="module")
async def queue_database(module_database: MongoConnection) -> MongoConnection:
    await migrate(module_database)
    return module_database


@given(rounds=rounds)
@schedules(60)
async def test_queue_loses_no_work_and_gives_no_job_to_two(
    queue_database: MongoConnection, rounds: list[list[Move]]
) -> None:
    rig = Rig(queue_database)
    try:
        for moves in rounds:
            await rig.play(moves)
    finally:
        await emptied(queue_database)
