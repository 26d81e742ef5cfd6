"""Base of the API's answers. Unknown fields are kept."""

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Answer(BaseModel):
    """One answer, or a part of one: it does not change."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Page(Answer, Generic[Item]):
    """Some of many; `total_count` is how many there are, or where `total_count_is_at_least`, how many were counted."""

    items: list[Item]
    total_count: int
    total_count_is_at_least: bool = False
    skip: int


class Failure(Answer):
    """The cause of a failure."""

    code: str
    detail: str
