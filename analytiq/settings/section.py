"""Common base of the sections of settings."""

from pydantic import BaseModel, ConfigDict

MEBIBYTE = 1024 * 1024


class Section(BaseModel):
    """A level of the tree: immutable, without unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid")
