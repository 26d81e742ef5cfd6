"""PowerPoint presentations, opened by python-pptx, with a page for each slide."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from lxml import etree
from pptx import Presentation
from pptx.exc import PythonPptxError

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.sheet_text import one_line, table_lines
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.models.text import ParsedDocument, ParsedPage

_TITLES = frozenset({"title", "ctrTitle"})
_UNREAD = frozenset({"sldNum", "sldImg"})
_FURNITURE = frozenset({"dt", "ftr", "hdr"})
"""Placeholders for date, footer and header: usually the same on every slide, so each text counts once."""
_DEEPEST_GROUP = 50


class PptxParser:
    """Title, texts in a screen reader's order, tables, charts, diagrams, notes, comments."""

    content_types = ("application/vnd.openxmlformats-officedocument.presentationml.presentation",)
    extensions = (".pptx", ".pptm", ".ppsx", ".potx")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read every slide, including hidden ones, which are numbered with the others."""
        with open_package(path, noun="presentation", also_damaged=(PythonPptxError,)):
            slides = cast("Sequence[Any]", Presentation(str(path)).slides)
            total = len(slides)
            if total > options.max_pages:
                raise LimitExceededError(f"The presentation has {total} slides; at most {options.max_pages} are read.")
            pages: list[ParsedPage] = []
            furniture: set[str] = set()
            for page_number, slide in enumerate(slides, start=1):
                pages.append(ParsedPage(page_number, "\n\n".join(filter(None, _slide_parts(slide, furniture)))))
                report_progress(page_number, total)
        if not pages:
            raise CorruptFileError("The presentation has no slides: upload one that has.")
        return ParsedDocument(tuple(pages))


def _slide_parts(slide: Any, furniture: set[str]) -> Iterator[str]:
    shapes = [shape for shape in _shapes(slide.shapes._spTree) if _placeholder(shape) not in _UNREAD]  # noqa: SLF001
    titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
    for shape in titles:
        title = one_line(" ".join(_paragraphs(shape)))
        yield f"# {title}" if title else ""
    for shape in shapes:
        if shape not in titles:
            text = "\n".join(_lines(shape))
            if _placeholder(shape) not in _FURNITURE or text not in furniture:
                yield text
            if _placeholder(shape) in _FURNITURE:
                furniture.add(text)
    yield from _related(slide)
    if slide.has_notes_slide:
        yield _notes(slide.notes_slide.shapes._spTree)  # noqa: SLF001


def _notes(tree: Element) -> str:
    shapes = [shape for shape in _shapes(tree) if _placeholder(shape) not in _UNREAD | _FURNITURE]
    notes = "\n".join(line for shape in shapes for line in _paragraphs(shape))
    return f"## Notes\n\n{notes}" if notes else ""


def _shapes(tree: Element, depth: int = 0) -> Iterator[Element]:
    """Yield the shapes of a slide, with those of a group in its place."""
    for child in tree.iterchildren("{*}sp", "{*}graphicFrame", "{*}grpSp", "{*}AlternateContent"):
        name = etree.QName(child).localname
        if name == "grpSp":
            if depth < _DEEPEST_GROUP:
                yield from _shapes(child, depth + 1)
        elif name == "AlternateContent":
            # Two forms of one shape; the compatible one is often a picture.
            choice = child.find("{*}Choice")
            if choice is not None:
                yield from _shapes(choice, depth)
        else:
            yield child


def _placeholder(shape: Element) -> str | None:
    place = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
    return None if place is None else place.get("type", "obj")


def _lines(shape: Element) -> Iterator[str]:
    tables = list(shape.iter("{*}tbl"))
    if not tables:
        yield from _paragraphs(shape)
    for table in tables:
        rows = (
            [one_line(" ".join(_paragraphs(cell))) for cell in row.iterchildren("{*}tc")] for row in table.iter("{*}tr")
        )
        yield from table_lines(row for row in rows if any(row))


def _paragraphs(element: Element) -> Iterator[str]:
    """Yield the nonempty paragraphs below an element, in order; deeper levels of a list are indented."""
    for paragraph in element.iter("{*}p"):
        text = "".join(_characters(paragraph)).strip()
        if text:
            properties = paragraph.find("{*}pPr")
            level = properties.get("lvl", "0") if properties is not None else "0"
            yield "  " * min(int(level) if level.isdigit() else 0, 8) + text


def _characters(paragraph: Element) -> Iterator[str]:
    for element in paragraph.iter("{*}t", "{*}br", "{*}tab"):
        yield (element.text or "") if etree.QName(element).localname == "t" else " "


def _related(slide: Any) -> Iterator[str]:
    """Yield the texts of separate parts: charts, diagrams (SmartArt), comments."""
    comments: list[str] = []
    for relation in slide.part.rels.values():
        if relation.is_external:
            continue
        kind = str(relation.reltype).rpartition("/")[2]
        if kind == "chart":
            yield "\n".join(_chart_lines(relation.target_part.chart))
        elif kind == "diagramData":
            yield "\n".join(_paragraphs(parsed_xml(relation.target_part.blob)))
        elif kind == "comments":
            comments += _comments(parsed_xml(relation.target_part.blob))
    if comments:
        yield "\n".join(["## Comments", "", *comments])


def _comments(root: Element) -> Iterator[str]:
    """Yield texts of comments: in elements `text` in the older form, in paragraphs in the newer one."""
    for comment in root.iter("{*}cm"):
        older = (element.text or "" for element in comment.iter("{*}text"))
        text = one_line(" ".join([*older, *_paragraphs(comment)]))
        if text:
            yield text


def _chart_lines(chart: Any) -> Iterator[str]:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield one_line(chart.chart_title.text_frame.text)
    plots = [(plot, [one_line(str(category)) for category in plot.categories]) for plot in chart.plots]
    for _, group in groupby(plots, key=lambda pair: pair[1]):
        drawn = list(group)
        series = [series for plot, _ in drawn for series in plot.series]
        columns = [[shown_value(value) for value in item.values] for item in series]
        height = max([len(drawn[0][1]), *map(len, columns)])
        names = ["", *(one_line(str(item.name or "")) for item in series)]
        for row in range(height):
            cells = [drawn[0][1], *columns]
            yield "; ".join(
                f"{name}: {column[row]}" if name else column[row]
                for name, column in zip(names, cells, strict=True)
                if row < len(column) and column[row]
            )
