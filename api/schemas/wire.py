"""What all wire shapes share."""

import unicodedata
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from analytiq.models.maker import Maker, MakerKind


class RequestBody(BaseModel):
    """A body that callers send; a misspelt field is an error, never ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _without_controls(text: str) -> str:
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("control characters are not allowed here")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("NUL is not allowed")
    return text


NO_CONTROLS = AfterValidator(_without_controls)
"""For text that is shown in one line: names."""

NO_NUL = AfterValidator(_without_nul)
"""For text with line breaks, and what MongoDB takes as a pattern."""


class ResponseBody(BaseModel):
    """A body that we answer."""

    model_config = ConfigDict(frozen=True)


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""RFC 3339 in UTC."""


class MadeBy(ResponseBody):
    """Whoever made something, or took it over."""

    kind: MakerKind
    id: str | None = Field(description="Of the person or the access token; null for the command line")
    name: str = Field(description="As it was then")

    @classmethod
    def of(cls, maker: Maker | None) -> "MadeBy | None":
        """From the stored shape."""
        return None if maker is None else cls(kind=maker.kind, id=maker.id, name=maker.name)


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


TextHash = Annotated[str | None, Field(description="Of the text that `start` and `end` count in; null in old answers")]
IsCurrent = Annotated[
    bool | None,
    Field(description="false: the document's text was replaced or deleted since; null where `text_hash` is null"),
]
