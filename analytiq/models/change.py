"""Events of a change stream: the row that changed and the moment, not its new content."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self


class ChangeKind(StrEnum):
    """The subject of a changed row."""

    DOCUMENT = "document"
    KNOWLEDGE_BASE = "knowledge_base"
    JOB = "job"
    CREDENTIAL = "credential"
    """An access token, a session, a membership or an organization: its callers must authenticate again."""


class ChangeMoment(NamedTuple):
    """A moment in the history of the database, the same for all processes: its cluster time."""

    seconds: int
    increment: int

    def __str__(self) -> str:
        return f"{self.seconds}.{self.increment}"

    @classmethod
    def of(cls, text: str | None) -> Self | None:
        """Parse an event's id; return None for anything else."""
        seconds, separator, increment = (text or "").partition(".")
        parts = (seconds, increment)
        if not separator or not all(part.isascii() and part.isdigit() and len(part) <= 10 for part in parts):
            return None
        return cls(int(seconds), int(increment))


class ChangeKey(NamedTuple):
    """The changed row: a kind and the row's id."""

    kind: ChangeKind
    id: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a row. `organization_id` is None if only the row contains it."""

    key: ChangeKey
    moment: ChangeMoment
    organization_id: str | None = None
