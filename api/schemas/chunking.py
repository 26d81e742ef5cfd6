"""Settings of chunking, in several bodies."""

from typing import Annotated

from pydantic import AfterValidator, Field

from analytiq.models.index_types import IndexType, in_order

SectionLevel = Annotated[
    int,
    Field(
        ge=0,
        le=6,
        description="Heading level that no chunk crosses, 1 to 6; 0: no level, small sections are merged. For the "
        "chunkers `section`, `row`, `code` and `auto`, and for the index type `section`",
    ),
]
IndexTypes = Annotated[
    tuple[IndexType, ...],
    Field(
        min_length=1,
        max_length=len(IndexType),
        description="Granularities to index: `paragraph` (by the chunker), `section` (a heading with its text) and "
        "`website` (a whole page; the whole document if it has no pages, such as a web page)",
    ),
    AfterValidator(in_order),
]
SearchedTypes = Annotated[
    tuple[IndexType, ...],
    Field(max_length=len(IndexType), description="Index types of the passages; default: all of the knowledge base"),
]
