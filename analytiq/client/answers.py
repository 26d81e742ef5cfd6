"""Base classes of the API's answers. Unknown fields are kept."""

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Answer(BaseModel):
    """An immutable answer, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Page(Answer, Generic[Item]):
    """A page of a list; `total_count` is a lower bound if `total_count_is_at_least`."""

    items: list[Item]
    total_count: int
    total_count_is_at_least: bool = False
    skip: int


class Failure(Answer):
    """The cause of a failure."""

    code: str
    detail: str
