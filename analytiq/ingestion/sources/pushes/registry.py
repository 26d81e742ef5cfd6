"""Readers of services' webhooks by kind: built in, or the attribute `read_push` of a kind's class."""

from importlib import import_module
from typing import cast

from analytiq.ingestion.sources.pushes.protocol import PushReader
from analytiq.ingestion.sources.registry import known_kinds

_ROOM = "analytiq.ingestion.sources.pushes.readers"
BUILT_IN_READERS = {
    "confluence": "confluence:read_push",
    "github": "github:read_push",
    "jira": "jira:read_push",
    "notion": "notion:read_push",
    "slack": "slack:read_push",
}
"""Module and function by kind."""


def push_reader_of(kind: str) -> PushReader | None:
    """Return the reader of a kind; None if its service has no webhooks that are understood here."""
    place = BUILT_IN_READERS.get(kind)
    if place is not None:
        module, _, name = place.partition(":")
        return cast("PushReader", getattr(import_module(f"{_ROOM}.{module}"), name))
    return cast("PushReader | None", getattr(known_kinds().get(kind), "read_push", None))
