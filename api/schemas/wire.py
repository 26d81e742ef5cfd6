"""What all wire shapes share."""

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
"""The largest that every reader of JSON holds exactly (RFC 7493); MongoDB holds 64 bits."""
MOST_FIELDS = 1000
"""Of an object in a body: each unknown field would be an error of its own."""
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
    """A body that callers send; a misspelt field is an error, never ignored.

    Numbers and booleans are JSON's own: `0` is not false, `true` is not 1, and integers have a bound.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make every number and boolean below this model strict."""
        schema = handler(source)
        _make_strict(schema)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, value: object) -> object:
        if _field_count(value) > MOST_FIELDS:
            raise ValueError(f"an object has at most {MOST_FIELDS} fields")
        return value


def _flag(value: object) -> object:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError("write true or false")
    return value


Flag = Annotated[bool, BeforeValidator(_flag)]
"""A boolean of a query: `true` or `false`, and none of the other words that pydantic takes."""


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


def _named(model: str) -> str:
    if not is_model_name(model):
        raise ValueError(f"{model!r} is not a model's name: it holds an address, or characters that no name has")
    return model


ModelName = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_MODEL_NAME), AfterValidator(_named)]
"""A model as a call names it; never an address."""


class _Sources:
    """Values by name, and objects that are asked in order for every other name."""

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
    """A body of an answer."""

    model_config = ConfigDict(frozen=True, from_attributes=True, validate_by_name=True, validate_by_alias=True)

    @classmethod
    def from_model(cls, *models: object, **values: object) -> Self:
        """Build the response from objects of the library.

        A field's value is the one in `values`, else the attribute of the first object that has it. The attribute has
        the field's name, or its `validation_alias`.
        """
        return cls.model_validate(_Sources(models, values))


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]
"""RFC 3339 in UTC."""


class MadeBy(ResponseBody):
    """Whoever made something, or took it over."""

    kind: MakerKind
    id: str | None = Field(description="Of the person or the access token; null for the command line")
    name: str = Field(description="As it was then")


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
