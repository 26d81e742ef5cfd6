"""Base classes of the API's answers. Unknown fields are kept."""

from datetime import datetime
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Answer(BaseModel):
    """An immutable answer, or a part of one."""

    # Built when first used: an import makes 150 of them, a program uses some.
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


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
    at: datetime | None = None


class JobProgress(Answer):
    """Progress of a running job: `done` of `total` `unit`s (pages, chunks)."""

    done: int
    total: int
    unit: str
