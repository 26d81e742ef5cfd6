"""The content of an OpenDocument part as blocks: headings, paragraphs, lists, tables, frames, formulas, charts."""

import posixpath
from collections.abc import Iterator
from itertools import chain
from zipfile import ZipFile

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.chart_text import chart_lines
from analytiq.ingestion.parsing.mathml import formula
from analytiq.ingestion.parsing.odf_styles import Numbers, Styles, attribute, local_name, outer_paragraphs
from analytiq.ingestion.parsing.odf_tables import table_rows
from analytiq.ingestion.parsing.odf_words import is_hidden
from analytiq.ingestion.parsing.sheet_text import CellBudget, one_line, sheet_lines
from analytiq.ingestion.parsing.spans import filled_rows
from analytiq.ingestion.parsing.table_lines import lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.models.blocks import BlockKind

DRAWN = frozenset(
    {"frame", "custom-shape", "text-box", "object", "image", "control", "g", "caption", "measure"}
    | {"rect", "circle", "ellipse", "line", "polyline", "polygon", "regular-polygon", "path", "connector"}
)
_UNREAD = frozenset(
    {"tracked-changes", "forms", "shapes", "meta", "notes", "annotation-end", "script", "event-listeners"}
    | {"title", "desc", "glue-point", "ruby-text", "note-citation", "label"}
)
_DEEPEST = 200
_MOST_BLANKS = 100


class OdfWriter:
    """Writes elements of a document to a page, and counts the words of hidden ones."""

    def __init__(self, archive: ZipFile, styles: Styles) -> None:
        self.builder = TextBuilder()
        self.hidden_words = 0
        self.budget = CellBudget()
        self._archive = archive
        self._styles = styles
        self._outline = Numbers(styles.levels.get("", {}))
        self._lists: dict[str, Numbers] = {}
        self._controls: dict[str, str] = {}

    def note_controls(self, content: Element) -> None:
        """Keep the labels and values of form fields, which stand apart from their places."""
        for forms in content.iter("{*}forms"):
            for control in forms.iter("*"):
                values = (
                    attribute(control, "label"),
                    attribute(control, "current-value") or attribute(control, "value"),
                )
                words = " ".join(dict.fromkeys(filter(None, values)))
                if name := attribute(control, "id"):
                    self._controls[name] = words

    def write(self, element: Element, depth: int = 0) -> None:
        """Add what stands below an element."""
        if depth > _DEEPEST:
            raise LimitExceededError("The document is nested too deeply to be read.")
        for child in element.iterchildren("*"):
            self.write_one(child, depth)

    def write_one(self, child: Element, depth: int = 0) -> None:
        """Add an element."""
        name = local_name(child)
        if name in _UNREAD:
            return
        if is_hidden(child, name, self._styles):
            self._count_hidden(child)
        elif name == "h":
            self._write_heading(child, depth)
        elif name == "p":
            self._write_paragraph(child, depth)
        elif name == "list":
            self._write_list(child, depth)
        elif name == "table":
            self._write_table(child)
        elif name == "numbered-paragraph":
            self._write_numbered(child, depth)
        elif name == "math":
            self.builder.paragraph(formula(child))
        elif name == "annotation":
            self.builder.paragraph(_bracketed(self._said(child)))
        else:
            if name in DRAWN:
                self._write_drawn(child, name)
            self.write(child, depth + 1)

    def characters(self, paragraph: Element, drawn: list[Element]) -> str:
        """Return a paragraph's text, with notes in brackets at their mark; collect the frames that it holds."""
        parts = [paragraph.text or ""]
        for child in paragraph.iterchildren():
            parts.append(self._inline(child, local_name(child), drawn))
            parts.append(child.tail or "")
        return "".join(parts)

    def _inline(self, child: Element, name: str, drawn: list[Element]) -> str:
        if not name or name in _UNREAD:
            return ""
        if is_hidden(child, name, self._styles):
            self._count_hidden(child)
            return ""
        if name == "s":
            count = attribute(child, "c")
            return " " * min(int(count) if count.isdecimal() else 1, _MOST_BLANKS)
        if name in {"tab", "line-break"}:
            return "\t" if name == "tab" else "\n"
        if name in {"note", "annotation"}:
            return _bracketed(self._said(child))
        if name in DRAWN:
            drawn.append(child)
            return ""
        if name == "math":
            return formula(child)
        reading = child.find("{*}ruby-text") if name == "ruby" else None
        text = self.characters(child, drawn)
        return text if reading is None else f"{text} ({one_line(self.characters(reading, drawn))})"

    def _said(self, note: Element) -> str:
        """Return the words of a note or a comment, without its mark, author and date."""
        drawn: list[Element] = []
        return one_line(" ".join(self.characters(text, drawn) for text in outer_paragraphs(note)))

    def _count_hidden(self, element: Element) -> None:
        texts = [str(text) for text in element.itertext()]
        self.hidden_words += len(" ".join([*texts, attribute(element, "string-value")]).split())

    def _write_heading(self, element: Element, depth: int, number: str = "") -> None:
        drawn: list[Element] = []
        text = self.characters(element, drawn)
        level = attribute(element, "outline-level")
        place = int(level) if level.isdecimal() and len(level) < 4 else 1
        if text.strip() and not number and attribute(element, "is-list-header") != "true":
            number = self._outline.next(place)
        has_number = element.find("{*}number") is not None or not number
        self.builder.heading(text if has_number else f"{number} {text}", place)
        self._write_all(drawn, depth)

    def _write_paragraph(self, element: Element, depth: int) -> None:
        drawn: list[Element] = []
        self.builder.paragraph(self.characters(element, drawn))
        self._write_all(drawn, depth)

    def _write_numbered(self, element: Element, depth: int) -> None:
        number = element.find("{*}number")
        drawn: list[Element] = []
        for text in element.iterchildren("{*}p", "{*}h"):
            words = one_line(self.characters(text, drawn))
            marker = one_line(number.text or "") if number is not None else ""
            self.builder.list_item(words, marker=marker or "-")
        self._write_all(drawn, depth)

    def _write_all(self, elements: list[Element], depth: int) -> None:
        for element in elements:
            self.write_one(element, depth + 1)

    def _write_list(self, element: Element, depth: int) -> None:
        style = attribute(element, "style-name")
        earlier = attribute(element, "continue-list")
        numbers = self._lists.get(earlier) if earlier else None
        if numbers is None and attribute(element, "continue-numbering") == "true":
            numbers = self._lists.get(f" {style}")
        numbers = numbers or Numbers(self._styles.levels.get(style, {}) if style else {})
        self._lists[f" {style}"] = numbers
        self._lists[attribute(element, "id")] = numbers
        self._write_items(element, numbers, 1, depth)

    def _write_items(self, element: Element, numbers: Numbers, level: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise LimitExceededError("The document is nested too deeply to be read.")
        for item in element.iterchildren("{*}list-item", "{*}list-header"):
            is_first = local_name(item) == "list-item"
            for child in item.iterchildren("*"):
                name = local_name(child)
                if name == "list":
                    self._write_items(child, numbers, level + 1, depth + 1)
                elif name in {"p", "h"} and is_first and not is_hidden(child, name, self._styles):
                    self._write_item(child, numbers.next(level, start=attribute(item, "start-value")), level, depth)
                    is_first = False
                elif name != "number":
                    self.write_one(child, depth + 1)

    def _write_item(self, element: Element, number: str, level: int, depth: int) -> None:
        if local_name(element) == "h":
            self._write_heading(element, depth, number)
            return
        drawn: list[Element] = []
        self.builder.list_item(one_line(self.characters(element, drawn)), depth=level, marker=number or "-")
        self._write_all(drawn, depth)

    def _write_table(self, element: Element) -> None:
        read = table_rows(element, self, self.budget)
        header = list(filled_rows(read.header, self.budget))
        rows = filled_rows(read.rows, self.budget)
        self.builder.table(lines_below_header(header, rows) if header else sheet_lines(rows))

    def _write_drawn(self, element: Element, name: str) -> None:
        described = (one_line(text.text or "") for text in element.iterchildren("{*}title", "{*}desc"))
        self.builder.paragraph("\n".join(dict.fromkeys(filter(None, described))), kind=BlockKind.IMAGE)
        for image in element.iterchildren("{*}image"):
            self._write_picture(attribute(image, "href"))
        if name == "control":
            self.builder.paragraph(self._controls.get(attribute(element, "control"), ""))
        elif name == "object":
            self._write_object(attribute(element, "href"))

    def _write_picture(self, address: str) -> None:
        part = posixpath.normpath(address).lstrip("/")
        if address and part in self._archive.NameToInfo:
            self.builder.figure(part, lambda: self._archive.read(part))

    def _write_object(self, address: str) -> None:
        part = posixpath.normpath(posixpath.join(address, "content.xml")).lstrip("/")
        if not address or part not in self._archive.NameToInfo:
            return
        root = parsed_xml(self._archive.read(part))
        if local_name(root) == "math":
            self.builder.paragraph(formula(root))
        for chart in root.iterfind("{*}body/{*}chart/{*}chart"):
            self._write_chart(chart)

    def _write_chart(self, chart: Element) -> None:
        for title in _titles(chart):
            self.builder.paragraph(self._said(title), kind=BlockKind.CAPTION)
        for table in chart.iterchildren("{*}table"):
            read = table_rows(table, self, self.budget)
            names, *rows = [*filled_rows(chain(read.header, read.rows), self.budget), []]
            self.builder.table(chart_lines(names, rows))


def _titles(chart: Element) -> Iterator[Element]:
    yield from chart.iterchildren("{*}title", "{*}subtitle")
    yield from chart.iterfind("{*}plot-area/{*}axis/{*}title")


def _bracketed(text: str) -> str:
    return f" [{text}] " if text else ""
