"""Who did what: one entry of the audit log."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.stored import Stored


class ActorKind(StrEnum):
    """What kind of caller."""

    USER = "user"
    TOKEN = "token"  # noqa: S105  # a kind
    OPERATOR = "operator"
    """Somebody at the command line, in the database itself."""


class Actor(Stored):
    """Who did it: a person, a token, or an operator; `name` as it was then."""

    kind: ActorKind
    id: str | None
    name: str


class AuditEntry(Stored):
    """One deed. It holds ids and names, never secrets, texts or questions."""

    id: str
    organization_id: str
    at: datetime
    action: str
    """What was done, as the API names it: `delete_document`, `sign_in`."""
    actor: Actor
    target: dict[str, str] = Field(default_factory=dict[str, str])
    """Ids and names of what it was done to: {"document_id": …}."""
    address: str | None = None
    request_id: str | None = None
    status: int = 200
    """What the call was answered with: refused attempts of known callers are noted, too."""
