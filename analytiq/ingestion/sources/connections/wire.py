"""Answers of services as models: what a service leaves out has a default, and what we do not read is ignored."""

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from analytiq.errors import PermanentError


class WireModel(BaseModel):
    """The base of a service's objects."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=WireModel)


def read_as(model: type[Model], content: JsonValue, *, service: str) -> Model:
    """Return an answer as its model.

    Raises:
        PermanentError: it has another form.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise PermanentError(
            f"{service} answers in another form than documented ({_place_of(error)}). Check its address."
        ) from None


def readable(model: type[Model], contents: JsonValue) -> tuple[list[Model], int]:
    """Return the objects of a list that have the documented form, and the number of the others."""
    read: list[Model] = []
    unreadable = 0
    for content in contents if isinstance(contents, list) else []:
        try:
            read.append(model.model_validate(content))
        except ValidationError:
            unreadable += 1
    return read, unreadable


def _place_of(error: ValidationError) -> str:
    places: Sequence[str] = [
        ".".join(str(part) for part in item["loc"]) for item in error.errors(include_input=False, include_url=False)
    ]
    return ", ".join(places[:3])
