"""The shapes of a slide as blocks: titles, lists, paragraphs, tables, charts, diagrams, described pictures."""

from collections.abc import Iterator, Mapping
from zipfile import ZipFile

from lxml import etree

from analytiq.ingestion.parsing.chart_text import write_chart
from analytiq.ingestion.parsing.diagram_text import write_diagram
from analytiq.ingestion.parsing.drawing_text import described, paragraphs, write_picture
from analytiq.ingestion.parsing.numbering import ListNumbers
from analytiq.ingestion.parsing.open_xml import Relation
from analytiq.ingestion.parsing.sheet_text import CellBudget, one_line, sheet_lines
from analytiq.ingestion.parsing.spans import Span, SpannedRow, filled_rows
from analytiq.ingestion.parsing.table_lines import lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element, attributes_of, parsed_xml
from analytiq.models.blocks import BlockKind

_LISTS = frozenset({"body", "obj"})
"""Placeholders whose paragraphs have bullets by their layout."""
_TRUE = frozenset({"1", "true", "on"})


class ShapeWriter:
    """Writes the shapes of a slide to its page."""

    def __init__(self, builder: TextBuilder, archive: ZipFile, related: Mapping[str, Relation]) -> None:
        self._builder = builder
        self._archive = archive
        self._related = related
        self._written: set[str] = set()

    def write(self, shape: Element) -> None:
        """Add a shape's words."""
        if etree.QName(shape).localname == "pic":
            self._builder.paragraph(described(shape), kind=BlockKind.IMAGE)
            write_picture(self._builder, self._archive, self._related, shape)
        tables = list(shape.iter("{*}tbl"))
        for table in tables:
            self._write_table(table)
        if not tables:
            self._write_paragraphs(shape)
        self._write_parts(shape)

    def write_unplaced(self) -> None:
        """Add charts and diagrams that no shape of the slide names."""
        for relation in self._related.values():
            self._write_part(relation)

    def _write_parts(self, shape: Element) -> None:
        for element in shape.iterfind(".//{*}graphicData/*"):
            for _, value in attributes_of(element):
                if value in self._related:
                    self._write_part(self._related[value])

    def _write_part(self, relation: Relation) -> None:
        if relation.part in self._written or relation.kind not in {"chart", "chartEx", "diagramData"}:
            return
        self._written.add(relation.part)
        root = parsed_xml(self._archive.read(relation.part))
        if relation.kind == "diagramData":
            write_diagram(self._builder, root)
        else:
            write_chart(self._builder, root)

    def _write_table(self, table: Element) -> None:
        rows = list(filled_rows(_rows(table), CellBudget()))
        properties = table.find("{*}tblPr")
        states_header = properties is not None and properties.get("firstRow") in _TRUE
        first = next(table.iterchildren("{*}tr"), None)
        is_simple = first is not None and all(cell.get("gridSpan", "1") == "1" for cell in first.iterchildren("{*}tc"))
        if states_header and is_simple:
            self._builder.table(lines_below_header(rows[:1], rows[1:]))
        else:
            self._builder.table(sheet_lines(rows))

    def _write_paragraphs(self, shape: Element) -> None:
        found = list(paragraphs(shape))
        is_list = placeholder(shape) in _LISTS and len(found) > 1
        numbers = ListNumbers()
        plain: list[str] = []
        for paragraph, text in found:
            properties = paragraph.find("{*}pPr")
            depth = _level(properties) + 1
            marker = numbers.marker(properties, depth)
            if marker or (is_list and (properties is None or properties.find("{*}buNone") is None)):
                self._builder.paragraph("\n".join(plain))
                plain.clear()
                self._builder.list_item(text, depth=depth, marker=marker or "-")
            else:
                plain.append(text)
        self._builder.paragraph("\n".join(plain))


def placeholder(shape: Element) -> str | None:
    """Return the type of the layout's place that a shape fills; None for a shape of its own."""
    place = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if place is None else place.get("type", "obj")


def _level(properties: Element | None) -> int:
    level = "0" if properties is None else properties.get("lvl", "0")
    return min(int(level), 8) if level.isdecimal() else 0


def _rows(table: Element) -> Iterator[SpannedRow]:
    for row in table.iterchildren("{*}tr"):
        cells: list[str] = []
        spans: list[Span] = []
        for column, cell in enumerate(row.iterchildren("{*}tc")):
            is_covered = cell.get("hMerge") in _TRUE or cell.get("vMerge") in _TRUE
            cells.append("" if is_covered else one_line(" ".join(text for _, text in paragraphs(cell))))
            span = Span(column, _times(cell, "gridSpan"), _times(cell, "rowSpan"))
            if not is_covered and (span.columns > 1 or span.rows > 1):
                spans.append(span)
        yield SpannedRow(cells, spans)


def _times(cell: Element, name: str) -> int:
    value = cell.get(name, "1")
    return max(min(int(value), 10_000), 1) if value.isdecimal() else 1
