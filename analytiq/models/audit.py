"""An entry of the audit log."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from analytiq.models.stored import Stored


class ActorKind(StrEnum):
    """The kind of caller."""

    USER = "user"
    TOKEN = "token"  # noqa: S105  # a kind
    OPERATOR = "operator"
    """An operator at the command line, in the database itself."""


class Actor(Stored):
    """The author of an action: a person, a token, or an operator; `name` as of the action."""

    kind: ActorKind
    id: str | None
    name: str


class AuditEntry(Stored):
    """One action. It stores ids and names, never secrets, texts or questions."""

    id: str
    organization_id: str
    at: datetime
    action: str
    """The action's name in the API: `delete_document`, `sign_in`."""
    actor: Actor
    target: dict[str, str] = Field(default_factory=dict[str, str])
    """Ids and names of the action's object: {"document_id": …}."""
    address: str | None = None
    request_id: str | None = None
    status: int = 200
    """The status of the response: refused attempts of known callers are recorded too."""
