"""Parameters and annotations that tools share."""

from typing import Annotated

from mcp_types import ToolAnnotations
from pydantic import Field

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

NamePart = Annotated[str | None, Field(max_length=255, description="A part of the name")]
Skip = Annotated[int, Field(ge=0, le=1_000_000, description="Number to leave out before the first")]
Limit = Annotated[int, Field(ge=1, le=100, description="Most to answer")]
