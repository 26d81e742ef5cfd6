"""Response bodies of a document's structure."""

from pydantic import Field

from analytiq.ingestion.documents.service import TextStructure
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import PageSpan
from api.schemas.locating import BoxResponse
from api.schemas.wire import ResponseBody


class RangeResponse(ResponseBody):
    """The characters [start, end) of the document's whole text."""

    start: int
    end: int


class TableShapeResponse(ResponseBody):
    """The columns of a table, and the range of each row below the header."""

    header: list[str] = Field(description="A name for each column, empty for a column without one; [] without header")
    rows: list[RangeResponse]

    @classmethod
    def from_shape(cls, shape: TableShape) -> "TableShapeResponse":
        """Build the response."""
        return cls(header=list(shape.header), rows=[RangeResponse(start=start, end=end) for start, end in shape.rows])


class BlockResponse(ResponseBody):
    """A block of the text: `text[start:end]` of the whole, without the marks of Markdown before its words."""

    kind: BlockKind
    start: int
    end: int
    level: int = Field(description="Of a heading, 1 (highest) to 9; of a list item, its depth from 1; else 0")
    page_number: int
    page_name: str = Field(description="Name of the sheet, slide or chapter; empty for a page without one")
    language: str = Field(description="Programming language of code, as its source names it; else empty")
    table: TableShapeResponse | None = Field(description="Of a table only")
    box: BoxResponse | None = Field(description="The block's place on its page, if known")

    @classmethod
    def from_block(cls, block: Block, page: PageSpan) -> "BlockResponse":
        """Build the response."""
        return cls.from_model(
            block,
            page_number=page.page_number,
            page_name=page.name,
            table=None if block.table is None else TableShapeResponse.from_shape(block.table),
            box=None if block.box is None else BoxResponse.from_box(block.box),
        )


class DocumentBlocksResponse(ResponseBody):
    """The blocks of a range of pages, in the order of the text."""

    document_id: str
    document_name: str
    title: str = Field(description="The title that the file states; empty for a file without one")
    page_count: int
    text_hash: str | None = Field(description="Hash of the text's version; offsets are valid for the same hash only")
    blocks: list[BlockResponse]

    @classmethod
    def from_structure(cls, structure: TextStructure) -> "DocumentBlocksResponse":
        """Build the response."""
        document = structure.document
        return cls(
            document_id=document.id,
            document_name=document.document_name,
            title=structure.title,
            page_count=structure.page_count,
            text_hash=document.text_hash,
            blocks=[BlockResponse.from_block(block, page) for page, blocks in structure.pages for block in blocks],
        )
