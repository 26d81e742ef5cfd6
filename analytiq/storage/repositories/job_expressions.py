"""Shared parts of the queue's queries; times are the server's ($$NOW), so that no worker's clock counts."""

from collections.abc import Collection

from analytiq.models.document import Failure
from analytiq.models.job import JobKind, JobState
from analytiq.storage.repositories.rows import Row

MAX_TIME_EXPIRED = 50
WRITE_CONFLICT = 112
DUE: Row = {"$expr": {"$lte": ["$run_at", "$$NOW"]}}
NO_LEASE: Row = {
    "lease_token": None,
    "lease_expires_at": None,
    "worker": None,
    "served": None,
    "progress": None,
}


ASKED_AGAIN: Row = {"$gt": ["$wanted", "$served"]}
"""The work was requested again while running, so the end of the attempt must not end that request."""
CANCEL_IF_NOT_ASKED_AGAIN: Row = {"$and": [{"$ifNull": ["$is_cancel_wanted", False]}, {"$not": [ASKED_AGAIN]}]}
ONE_ATTEMPT_LESS: Row = {"$max": [0, {"$subtract": ["$attempt", 1]}]}
AFRESH: Row = {
    **NO_LEASE,
    "is_cancel_wanted": False,
    "state": JobState.AVAILABLE.value,
    "attempt": 0,
    "deaths": 0,
    "error": None,
    "waiting_since": None,
    "run_at": "$$NOW",
    "created_at": "$$NOW",
    "updated_at": "$$NOW",
    "wanted": {"$add": ["$wanted", 1]},
}
"""A failed job reset as if it had never been tried."""


def due_of(kinds: Collection[JobKind], lane: str | None) -> Row:
    """Return the query for due jobs without a lease."""
    due: Row = {"state": JobState.AVAILABLE.value, "kind": {"$in": [kind.value for kind in kinds]}, **DUE}
    return due if lane is None else {"lane": lane, **due}


def in_seconds(seconds: float) -> Row:
    """Return the expression for the server's time in the given number of seconds."""
    return {"$add": ["$$NOW", int(seconds * 1000)]}


def claimed_by(worker: str, lease_token: str, lease_seconds: float) -> Row:
    """Return the fields of a job that a worker claims."""
    return {
        "state": JobState.RUNNING.value,
        "served": "$wanted",
        "attempt": {"$add": ["$attempt", 1]},
        "lease_token": lease_token,
        "lease_expires_at": in_seconds(lease_seconds),
        "worker": {"$literal": worker},
        "progress": None,
        "updated_at": "$$NOW",
    }


def finished_again() -> Row:
    """Return the fields of a finished job that was requested while it ran."""
    return {
        **NO_LEASE,
        "is_cancel_wanted": False,
        "is_alone": False,
        "state": JobState.AVAILABLE.value,
        "run_at": "$$NOW",
        "attempt": 0,
        "deaths": 0,
        "error": None,
        "waiting_since": None,
        "updated_at": "$$NOW",
    }


def retried(failure: Failure, *, delay_seconds: float, is_counted: bool) -> Row:
    """Return the fields of a job that runs again after `delay_seconds`; see `retry` of the leases."""
    return {
        **NO_LEASE,
        "is_cancel_wanted": CANCEL_IF_NOT_ASKED_AGAIN,
        "state": JobState.AVAILABLE.value,
        "run_at": in_seconds(delay_seconds),
        "attempt": "$attempt" if is_counted else ONE_ATTEMPT_LESS,
        "waiting_since": None if is_counted else {"$ifNull": ["$waiting_since", "$$NOW"]},
        "error": {"$literal": failure.model_dump()},
    }


def given_back() -> Row:
    """Return the fields of a job that its worker returns unfinished; the attempt does not count."""
    return {
        **NO_LEASE,
        "is_cancel_wanted": CANCEL_IF_NOT_ASKED_AGAIN,
        "state": JobState.AVAILABLE.value,
        "run_at": "$$NOW",
        "attempt": ONE_ATTEMPT_LESS,
    }
