"""Request and response bodies of tags."""

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from api.schemas.wire import NO_CONTROLS, NO_NUL, Moment, RequestBody, ResponseBody

TagName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100), NO_CONTROLS]
Color = Annotated[str, StringConstraints(pattern=r"^#[0-9a-fA-F]{6}$")]
Description = Annotated[str, StringConstraints(max_length=2000), NO_NUL]


class TagCreate(RequestBody):
    """A tag to create."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "invoice", "color": "#2f6fed", "description": "Incoming invoices"}]},
    )

    name: TagName
    color: Color = "#6b7280"
    description: Description = ""


class TagUpdate(RequestBody):
    """Fields to change; omitted fields stay."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"color": "#d9480f"}]})

    name: TagName | None = None
    color: Color | None = None
    description: Description | None = None


class TagResponse(ResponseBody):
    """A tag."""

    tag_id: str = Field(validation_alias="id")
    name: str
    color: str
    description: str
    created_at: Moment
    updated_at: Moment


class TagList(ResponseBody):
    """A page of tags."""

    tags: list[TagResponse]
    total_count: int = Field(description="Number of matches on all pages")
    skip: int
