"""The blocks of a story: the body, a cell, a note, a header or a text box."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from zipfile import is_zipfile

from analytiq.ingestion.parsing.word.alt_chunks import AltChunk, chunk_blocks
from analytiq.ingestion.parsing.word.graphics import chart_lines, diagram_items
from analytiq.ingestion.parsing.word.inline import (
    HIDDEN_BY_CHANGES,
    PAGE_BREAK,
    RENDERED_BREAK,
    Anchored,
    Inline,
    InlineReader,
    Sight,
    joins_next,
)
from analytiq.ingestion.parsing.word.math import formula
from analytiq.ingestion.parsing.word.names import (
    any_attribute,
    child_of,
    chosen_alternative,
    is_on,
    local_name,
    value_of,
)
from analytiq.ingestion.parsing.word.notes import Notes
from analytiq.ingestion.parsing.word.numbering import ListMarker, Numbering, NumberRef, number_ref_of
from analytiq.ingestion.parsing.word.package import WordPackage
from analytiq.ingestion.parsing.word.styles import ParagraphStyle, Styles, is_shaded, outline_of
from analytiq.ingestion.parsing.word.tables import TableReader, visible_cells, visible_rows
from analytiq.ingestion.parsing.word.writers import LineWriter, PictureFile, Writer
from analytiq.ingestion.parsing.xml_part import Element
from analytiq.models.blocks import BlockKind

_LONGEST_HEADING = 1000
_SKIPPED = frozenset({"sdtPr", "sdtEndPr", "tcPr", "pPr", "rPr", "sectPr", "customXmlPr", "tblPr", "tblGrid", "trPr"})


@dataclass(slots=True)
class Source:
    """The state that the readers of a document share; `part` is the part that is being read."""

    package: WordPackage
    styles: Styles
    numbering: Numbering
    notes: Notes
    sight: Sight
    inline: InlineReader
    part: str
    read_nested: Callable[[bytes, Writer], None]
    read_parts: set[str] = field(default_factory=set[str])
    title: str = ""


class BlockReader:
    """Reads block after block into a writer."""

    def __init__(self, source: Source, writer: Writer, *, is_on_page: bool = False) -> None:
        self._source = source
        self._writer = writer
        self._is_on_page = is_on_page
        self._hidden = HIDDEN_BY_CHANGES[source.sight.changes]
        self._carried = ""
        self._code: list[str] = []
        self._cell_figures: list[PictureFile] = []

    def block(self, element: Element) -> None:
        """Read a paragraph, a table, or what stands around them."""
        name = local_name(element)
        if not name or name in _SKIPPED or name in self._hidden:
            return
        match name:
            case "p":
                self._paragraph(element)
            case "tbl":
                self._table(element)
            case "AlternateContent":
                chosen = chosen_alternative(element)
                if chosen is not None:
                    self.blocks(chosen)
            case "altChunk":
                self._chunk(any_attribute(element, "id"))
            case "oMathPara" | "oMath":
                self._write(formula(element), BlockKind.PARAGRAPH)
            case "r":
                self._anchored(self._source.inline.read(element, self._source.styles.paragraph("").look))
            case _:
                self.blocks(element)

    def blocks(self, parent: Element) -> None:
        """Read the blocks in an element."""
        for child in parent:
            self.block(child)

    def finish(self) -> None:
        """Write what waits for a next block."""
        if self._carried:
            text, self._carried = self._carried, ""
            self._write(text, BlockKind.PARAGRAPH)
        self._flush_code()

    def table_reader(self) -> TableReader:
        """Return a reader for the children of a table."""
        return TableReader(self._cell, self._source.styles, self._source.sight.changes)

    def take_of_table(self, table: TableReader, child: Element) -> None:
        """Read a child of a table; the cells of a single column are written as they are read."""
        if not table.is_single_column:
            table.take(child)
            return
        changes = self._source.sight.changes
        for row in visible_rows(child, changes):
            for cell in visible_cells(row, changes):
                self.blocks(cell)

    def end_table(self, table: TableReader) -> None:
        """Write a table."""
        self.finish()
        self._writer.table(table.lines())
        figures, self._cell_figures = self._cell_figures, []
        for name, read in figures:
            self._writer.figure(name, read)

    def page_break(self, *, is_rendered: bool) -> None:
        """Write the footnotes of the page, and begin the next."""
        self.finish()
        if self._is_on_page:
            self.notes()
        self._writer.page_break(is_rendered=is_rendered)

    def notes(self) -> None:
        """Write the footnotes whose marks were met."""
        for mark, element in self._source.notes.take("footnote"):
            self.note(mark, element, part="footnotes")

    def note(self, mark: str, element: Element, *, part: str) -> None:
        """Write a note behind its mark."""
        text = "\n".join(self.lines(element, self._source.package.part(part)))
        self._writer.block(f"{mark} {text}" if text else "", BlockKind.FOOTNOTE)

    def lines(self, element: Element, part: str | None) -> list[str]:
        """Return the blocks of a story in another part as lines."""
        source = self._source
        before, source.part = source.part, part or source.part
        writer = LineWriter()
        reader = BlockReader(source, writer)
        reader.blocks(element)
        reader.finish()
        source.part = before
        return [line.replace(PAGE_BREAK, " ").replace(RENDERED_BREAK, "") for line in writer.lines]

    def _table(self, element: Element) -> None:
        table = self.table_reader()
        for child in element:
            self.take_of_table(table, child)
        self.end_table(table)

    def _cell(self, cell: Element) -> LineWriter:
        writer = LineWriter()
        reader = BlockReader(self._source, writer)
        reader.blocks(cell)
        reader.finish()
        self._cell_figures += writer.figures
        return writer

    def _paragraph(self, element: Element) -> None:
        source = self._source
        properties = child_of(element, "pPr")
        style_id = value_of(child_of(properties, "pStyle"))
        style = source.styles.paragraph(style_id)
        is_bare = self._is_on_page and not is_shaded(child_of(properties, "shd"))
        inline = source.inline.read(element, style.look, is_on_page=is_bare)
        if joins_next(properties, source.sight.changes):
            self._carried += inline.text
        else:
            inline.text = self._carried + inline.text
            self._carried = ""
            marker = self._marker(properties, style, style_id, inline)
            page_break = child_of(properties, "pageBreakBefore")
            if is_on(page_break) if page_break is not None else style.starts_page:
                self.page_break(is_rendered=True)
            self._shown(inline.text, _role(properties, style), marker)
        self._anchored(inline)

    def _marker(
        self, properties: Element | None, style: ParagraphStyle, style_id: str, inline: Inline
    ) -> ListMarker | None:
        """Count the paragraph in its list; Word does not count a paragraph that is hidden as a whole."""
        own = number_ref_of(properties)
        ref = own if own.num_id is not None else NumberRef(style.numbering.num_id, _either(own, style.numbering))
        if ref.num_id is None:
            return None
        if not inline.text and is_on(child_of(properties, "rPr", "vanish")):
            return None
        return self._source.numbering.next_marker(ref, style.numbering_style or style_id)

    def _shown(self, text: str, role: tuple[BlockKind, int, bool], marker: ListMarker | None) -> None:
        """Write a paragraph, cut at its page breaks; a page that Word began within it begins behind it."""
        for index, piece in enumerate(text.split(PAGE_BREAK)):
            if index:
                self.page_break(is_rendered=False)
            rendered = piece.count(RENDERED_BREAK)
            if rendered and piece.lstrip().startswith(RENDERED_BREAK):
                self.page_break(is_rendered=True)
                rendered -= 1
            words = piece.replace(RENDERED_BREAK, "").strip("\n ") if rendered or RENDERED_BREAK in piece else piece
            if words.strip():
                self._role(words, role, marker)
                marker = None
            for _ in range(rendered):
                self.page_break(is_rendered=False)

    def _role(self, text: str, role: tuple[BlockKind, int, bool], marker: ListMarker | None) -> None:
        kind, level, is_title = role
        number = marker.text if marker else ""
        if kind is BlockKind.CODE and not number:
            self._code.append(text)
            return
        self._flush_code()
        if is_title and not self._source.title:
            self._source.title = " ".join(text.split())
        if level and len(text) <= _LONGEST_HEADING:
            self._writer.heading(f"{number} {text}" if number else text, level)
        elif marker and (number or marker.is_bullet):
            self._writer.list_item(text, depth=marker.depth, marker=number or "-")
        else:
            self._writer.block(text, kind)

    def _write(self, text: str, kind: BlockKind) -> None:
        self._flush_code()
        if text.strip():
            self._writer.block(text.replace(PAGE_BREAK, "\n").replace(RENDERED_BREAK, ""), kind)

    def _flush_code(self) -> None:
        if self._code:
            code, self._code = "\n".join(self._code), []
            self._writer.block(code, BlockKind.CODE)

    def _anchored(self, inline: Inline) -> None:
        """Write what is anchored in a paragraph behind it."""
        if not (inline.boxes or inline.pictures or inline.objects or inline.figures):
            return
        is_on_page, self._is_on_page = self._is_on_page, False
        carried, self._carried = self._carried, ""
        for box in inline.boxes:
            self.blocks(box)
            self.finish()
        for description in inline.pictures:
            self._write(description, BlockKind.IMAGE)
        for relation_id in inline.figures:
            self._figure(relation_id)
        for anchored in inline.objects:
            self._object(anchored)
        self._is_on_page, self._carried = is_on_page, carried

    def _figure(self, relation_id: str) -> None:
        package = self._source.package
        name = package.target(self._source.part, relation_id)
        if name is not None:
            self._flush_code()
            self._writer.figure(name, lambda: package.read(name))

    def _object(self, anchored: Anchored) -> None:
        name = self._source.package.target(self._source.part, anchored.relation_id)
        if name is not None and name not in self._source.read_parts:
            self.graphic(name, anchored.kind)

    def graphic(self, name: str, kind: str) -> None:
        """Write a chart as a table, a diagram as a list."""
        self._flush_code()
        self._source.read_parts.add(name)
        root = self._source.package.root(name)
        if root is None:
            return
        if kind == "chart":
            self._writer.table(chart_lines(root))
            return
        for text, depth in diagram_items(root):
            self._writer.list_item(text, depth=depth, marker="-")

    def _chunk(self, relation_id: str | None) -> None:
        package = self._source.package
        name = package.target(self._source.part, relation_id)
        if name is None or name in self._source.read_parts:
            return
        self._source.read_parts.add(name)
        self.finish()
        content = package.read(name)
        if is_zipfile(io.BytesIO(content)):
            self._source.read_nested(content, self._writer)
            return
        for text, level in chunk_blocks(AltChunk(name, content)):
            if level:
                self._writer.heading(text, level)
            else:
                self._writer.block(text, BlockKind.PARAGRAPH)


def _role(properties: Element | None, style: ParagraphStyle) -> tuple[BlockKind, int, bool]:
    outline = outline_of(properties)
    level = style.level if outline is None else (outline + 1) % 10
    return style.kind, level, style.is_title


def _either(own: NumberRef, style: NumberRef) -> int | None:
    return style.level if own.level is None else own.level


def stories(package: WordPackage, kind: str) -> Iterator[tuple[str, Element]]:
    """Yield name and root of each part of a kind, such as `header`."""
    for name in package.parts(kind):
        root = package.root(name)
        if root is not None:
            yield name, root
