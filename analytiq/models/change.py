"""What a change stream tells: which row changed when, not what it became."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self


class ChangeKind(StrEnum):
    """What a changed row is about."""

    DOCUMENT = "document"
    KNOWLEDGE_BASE = "knowledge_base"
    JOB = "job"
    CREDENTIAL = "credential"
    """An access token, a session, a membership or an organization: who depends on it must show anew who they are."""


class ChangeMoment(NamedTuple):
    """A place in the history of the database, the same for all processes: its cluster time."""

    seconds: int
    increment: int

    def __str__(self) -> str:
        return f"{self.seconds}.{self.increment}"

    @classmethod
    def of(cls, text: str | None) -> Self | None:
        """From the id of an event; None where it is none."""
        seconds, separator, increment = (text or "").partition(".")
        parts = (seconds, increment)
        if not separator or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
            return None
        return cls(int(seconds), int(increment))


class ChangeKey(NamedTuple):
    """What changed: a kind and the row's id."""

    kind: ChangeKind
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """One row changed. `organization_id` is None where the change stream does not tell: reading the row does."""

    key: ChangeKey
    moment: ChangeMoment
    organization_id: str | None = None
