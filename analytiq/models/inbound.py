"""Inbound addresses of sources, and the messages that reached them."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.stored import Stored


class InboundSecret(Stored):
    """A secret that signs pushes, encrypted under the installation's secret key."""

    sealed: str = Field(repr=False)
    created_at: datetime
    expires_at: datetime | None = None
    """Since when a later secret alone is valid; None for the latest."""
    is_learned: bool = False
    """The service told it in its first request."""
    is_used: bool = False
    """For a learned secret: a request was signed by it."""


class InboundAddress(Stored):
    """A row of `source_addresses`: a source has one at most.

    `address` is the unguessable part of the URL. It is no secret: each request is signed too.
    """

    id: str
    organization_id: str
    source_id: str
    address: str
    secrets: tuple[InboundSecret, ...] = Field(default=(), repr=False)
    """Latest first."""
    created_at: datetime
    last_push_at: datetime | None = None


class MessageState(StrEnum):
    """The state of a received message."""

    NEW = "new"
    AGAIN = "again"
    """Sent again, and not done yet."""
    DONE = "done"
    """Sent again, and done before."""
    REPLAYED = "replayed"
    """A request that arrived before, with the same signed time."""
