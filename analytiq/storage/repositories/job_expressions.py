"""Shared parts of the queue's queries; times are the server's ($$NOW), so that no worker's clock counts."""

from collections.abc import Collection

from analytiq.models.job import JobKind, JobState
from analytiq.storage.repositories.rows import Row

DUE: Row = {"$expr": {"$lte": ["$run_at", "$$NOW"]}}
NO_LEASE: Row = {
    "lease_token": None,
    "lease_expires_at": None,
    "worker": None,
    "served": None,
    "progress": None,
}


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
