"""What all wire shapes share."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer


class RequestBody(BaseModel):
    """A body that callers send; a misspelt field is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseBody(BaseModel):
    """A body that we answer."""

    model_config = ConfigDict(frozen=True)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""RFC 3339 in UTC."""


class Problem(ResponseBody):
    """RFC 9457 problem details; `code` is stable."""

    class FieldProblem(ResponseBody):
        """One wrong field and why."""

        field: str
        reason: str

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldProblem] | None = None
    instance: str
    request_id: str | None = None
