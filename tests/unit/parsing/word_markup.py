"""Pieces of WordprocessingML for tests, and the reading of documents made of them."""

from collections.abc import Mapping
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.docx import DocxParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.word_documents import WORD

SPACES = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"'
)


def parsed(path: Path, options: ParseOptions | None = None) -> ParsedDocument:
    """Return the document as the parser reads it."""
    return DocxParser().parse(path, options or ParseOptions(), lambda _done, _total: None)


def text_of(document: ParsedDocument) -> str:
    """Return the text of all pages."""
    return "\n\n".join(page.text for page in document.pages)


def blocks_of(document: ParsedDocument) -> list[tuple[BlockKind, int, str]]:
    """Return kind, level and words of each block."""
    return [
        (block.kind, block.level, page.text[block.start : block.end])
        for page in document.pages
        for block in page.blocks
    ]


def run(text: str, properties: str = "") -> str:
    """Return a run."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def para(content: str, properties: str = "") -> str:
    """Return a paragraph of text, or of runs if the content is markup."""
    inner = content if content.startswith("<") else run(content)
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def styled(text: str, style: str) -> str:
    """Return a paragraph of a style."""
    return para(text, f'<w:pStyle w:val="{style}"/>')


def numbered(text: str, level: int, num_id: int = 1) -> str:
    """Return a paragraph in a list."""
    return para(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{num_id}"/></w:numPr>')


def cell(content: str, properties: str = "") -> str:
    """Return a cell of a table."""
    inner = content if content.startswith("<") or not content else para(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}<w:p/></w:tc>"


def row(*cells: str, properties: str = "") -> str:
    """Return a row; cells that are no markup are text."""
    inner = "".join(one if one.startswith("<w:tc") else cell(one) for one in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{inner}</w:tr>"


def table(*rows: str) -> str:
    """Return a table."""
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def numbering(levels: Mapping[int, list[str]], nums: Mapping[int, tuple[int, str]]) -> dict[str, str]:
    """Return the part of the numbering.

    Args:
        levels: The content of the levels of each abstract numbering.
        nums: The abstract numbering and the overrides of each list.
    """
    abstract = "".join(
        f'<w:abstractNum w:abstractNumId="{key}">'
        + "".join(f'<w:lvl w:ilvl="{index}">{content}</w:lvl>' for index, content in enumerate(contents))
        + "</w:abstractNum>"
        for key, contents in levels.items()
    )
    lists = "".join(
        f'<w:num w:numId="{key}"><w:abstractNumId w:val="{base}"/>{overrides}</w:num>'
        for key, (base, overrides) in nums.items()
    )
    return {"word/numbering.xml": f"<w:numbering {WORD}>{abstract}{lists}</w:numbering>"}


def level(text: str, kind: str = "decimal", start: int = 1, more: str = "") -> str:
    """Return the content of a level of a numbering."""
    return f'<w:start w:val="{start}"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/>{more}'


def styles(content: str) -> dict[str, str]:
    """Return the part of the styles."""
    return {"word/styles.xml": f"<w:styles {WORD}>{content}</w:styles>"}


def style(style_id: str, name: str, more: str = "", kind: str = "paragraph") -> str:
    """Return a style."""
    return f'<w:style w:type="{kind}" w:styleId="{style_id}"><w:name w:val="{name}"/>{more}</w:style>'


def related(targets: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the relations of the main part: kind and target by id."""
    base = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    inner = "".join(
        f'<Relationship Id="{key}" Type="{base}/{kind}" Target="{target}"/>' for key, (kind, target) in targets.items()
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return {"word/_rels/document.xml.rels": f'<Relationships xmlns="{space}">{inner}</Relationships>'}
