"""Common parts of request and response bodies."""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema

from analytiq.inference.providers.model_names import LONGEST_MODEL_NAME, is_model_name
from analytiq.models.maker import MakerKind

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that all JSON readers represent exactly (RFC 7493); MongoDB stores 64 bits."""
MOST_FIELDS = 1000
"""Maximum fields of an object in a body, since each unknown field is a separate error."""
_NUMBERS = ("int", "float", "bool")


def _make_strict(node: Any) -> None:
    if isinstance(node, dict):
        schema = cast("dict[str, Any]", node)
        if schema.get("type") in _NUMBERS:
            schema["strict"] = True
        if schema.get("type") == "int" and not {"le", "lt"} & schema.keys():
            schema["le"] = LARGEST_INTEGER
        if schema.get("type") == "int" and not {"ge", "gt"} & schema.keys():
            schema["ge"] = -LARGEST_INTEGER - 1
        for value in schema.values():
            _make_strict(value)
    elif isinstance(node, list | tuple):
        for value in cast("Iterable[Any]", node):
            _make_strict(value)


def _field_count(value: object) -> int:
    return len(cast("dict[object, object]", value)) if isinstance(value, dict) else 0


class RequestBody(BaseModel):
    """A request body. Unknown fields are errors, never ignored.

    Numbers and booleans are JSON's own: `0` is not false, `true` is not 1. Integers are bounded.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make all nested numbers and booleans strict."""
        schema = handler(source)
        _make_strict(schema)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, value: object) -> object:
        if _field_count(value) > MOST_FIELDS:
            raise ValueError(f"An object can have at most {MOST_FIELDS} fields.")
        return value


def _flag(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("Must be true or false.")
    return value


Flag = Annotated[bool, BeforeValidator(_flag)]
"""A boolean query parameter: `true` or `false`, without pydantic's other spellings."""


def _without_controls(text: str) -> str:
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("Control characters are not allowed.")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("NUL characters are not allowed.")
    return text


NO_CONTROLS = AfterValidator(_without_controls)
"""For single-line text such as names."""

NO_NUL = AfterValidator(_without_nul)
"""For multi-line text and MongoDB patterns."""


def _named(model: str) -> str:
    if not is_model_name(model):
        raise ValueError(f"{model!r} is not a model name. Names contain no addresses and no special characters.")
    return model


ModelName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_MODEL_NAME), AfterValidator(_named)]
"""A model's name in a call; never an address."""


class _Sources:
    """Values by name, with objects to ask in order for all other names."""

    def __init__(self, objects: tuple[object, ...], values: dict[str, object]) -> None:
        self._objects = objects
        self._values = values

    def __getattr__(self, name: str) -> object:
        if name in self._values:
            return self._values[name]
        for item in self._objects:
            try:
                return getattr(item, name)
            except AttributeError:
                continue
        raise AttributeError(name)


class ResponseBody(BaseModel):
    """A response body."""

    model_config = ConfigDict(frozen=True, from_attributes=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def from_model(cls, *models: object, **values: object) -> Self:
        """Build the response from objects of the library.

        A field's value comes from `values`, else from the first object with an attribute of the field's name or its
        `validation_alias`.
        """
        return cls.model_validate(_Sources(models, values))


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""RFC 3339 in UTC."""


class MadeBy(ResponseBody):
    """The creator, or the caller of a takeover."""

    kind: MakerKind
    id: str | None = Field(description="Id of the person or access token; null for the command line")
    name: str = Field(description="Name at that time")


class Problem(ResponseBody):
    """RFC 9457 problem details; `code` is stable."""

    class FieldProblem(ResponseBody):
        """An invalid field and the reason."""

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


TextHash = Annotated[str | None, Field(description="Hash of the text of `start` and `end`; null in old answers")]
IsCurrent = Annotated[
    bool | None,
    Field(description="false: the document's text was replaced or deleted since; null if `text_hash` is null"),
]
