"""OpenDocument texts, spreadsheets and presentations, read from their content part."""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from zipfile import ZipFile

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.completeness import SourceWords
from analytiq.ingestion.parsing.odf_sight import OdfSight
from analytiq.ingestion.parsing.odf_styles import Styles, attribute, local_name, outer_paragraphs, read_styles
from analytiq.ingestion.parsing.odf_tables import table_rows
from analytiq.ingestion.parsing.odf_text import OdfWriter
from analytiq.ingestion.parsing.odf_words import odf_pieces, sheet_pieces
from analytiq.ingestion.parsing.office_words import append_lost
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.ingestion.parsing.sheet_text import hidden_slides, one_line, sheet_lines
from analytiq.ingestion.parsing.spans import filled_rows
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.ingestion.tables.sheets import begin_sheet, collected_rows
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage

TEXT = "application/vnd.oasis.opendocument.text"
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
PRESENTATION = "application/vnd.oasis.opendocument.presentation"

MOST_COMPARED = 1_000_000
"""Most cells of a sheet whose words are compared with its lines."""
_FIELDS = ("{*}page-number", "{*}page-count", "{*}sheet-name", "{*}date", "{*}time", "{*}title", "{*}file-name")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_HEADS_AND_FEET = ("{*}header", "{*}header-first", "{*}header-left", "{*}footer", "{*}footer-first", "{*}footer-left")


class OpenDocumentParser:
    """A text is one page; each visible sheet of a spreadsheet and each slide is a page."""

    content_types = (TEXT, SPREADSHEET, PRESENTATION, f"{TEXT}-template", f"{SPREADSHEET}-template")
    extensions = (".odt", ".ott", ".ods", ".odp")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read it with insertions accepted and deletions omitted; cells as displayed; hidden words counted."""
        with open_package(path, noun="document") as archive:
            document = _Document(archive)
            pages = document.pages(options.max_pages)
            title = telling_title(_stated_title(archive), *(page.name for page in pages[:1] if document.has_slides))
            warnings = tuple(document.warnings())
        report_progress(len(pages), len(pages))
        return ParsedDocument(tuple(pages), warnings, title)


def _stated_title(archive: ZipFile) -> str:
    if "meta.xml" not in archive.NameToInfo:
        return ""
    return parsed_xml(archive.read("meta.xml")).findtext("{*}meta/{*}title") or ""


class _Document:
    def __init__(self, archive: ZipFile) -> None:
        names = archive.NameToInfo
        if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise needs_password("document")
        root = parsed_xml(archive.read("content.xml"))
        body = root.find("{*}body")
        if body is None or len(body) == 0:
            raise ValueError("its part content.xml has no body")
        self._content = body[0]
        parts = [root, *([parsed_xml(archive.read("styles.xml"))] if "styles.xml" in names else [])]
        self._style_parts = parts[1:]
        self._styles: Styles = read_styles(reversed(parts))
        self._sight = OdfSight()
        self._sight.read_styles(reversed(parts))
        self._sight.remove_unseen(self._content)
        self._writer = OdfWriter(archive, self._styles)
        self._writer.note_controls(self._content)
        self._hidden_sheets: list[str] = []
        self._hidden_rows = self._hidden_columns = self._appended_words = 0
        self.has_slides = local_name(self._content) == "presentation"

    def pages(self, most: int) -> list[ParsedPage]:
        """Return the pages.

        Raises:
            LimitExceededError: there are more than `most`.
        """
        kind = local_name(self._content)
        elements: list[Element] = []
        if kind == "spreadsheet":
            elements = list(self._visible_sheets())
        elif self.has_slides:
            elements = list(self._content.iterchildren("{*}page"))
        if len(elements) > most:
            raise LimitExceededError(f"The document has {len(elements)} pages; at most {most} are read.")
        if kind == "spreadsheet":
            return [self._sheet(number, sheet) for number, sheet in enumerate(elements, start=1)]
        if self.has_slides:
            slides = [self._slide(number, slide) for number, slide in enumerate(elements, start=1)]
            return slides or [ParsedPage(1, "")]
        self._writer.write(self._content)
        self._append_lost(self._content)
        self._write_furniture()
        return [self._writer.builder.page(1)]

    def warnings(self) -> Iterator[str]:
        """Yield what was left out because it is hidden."""
        if self._hidden_sheets:
            names = ", ".join(map(repr, self._hidden_sheets[:20]))
            yield f"hidden sheets are not read: {names}; unhide the sheets to be searched"
        yield from hidden_slides(self._sight.hidden_slides)
        words = self._writer.hidden_words + self._sight.hidden_words
        counts = {"rows": self._hidden_rows, "columns": self._hidden_columns, "words": words}
        if said := " and ".join(f"{count} hidden {what}" for what, count in counts.items() if count):
            yield f"{said} are not read; unhide what is to be searched"
        if self._appended_words:
            yield f"{self._appended_words} words stand in unusual places; they are at the end of their page"

    def _visible_sheets(self) -> Iterator[Element]:
        is_empty = True
        for table in self._content.iterchildren("{*}table"):
            if attribute(table, "style-name") in self._styles.hidden_tables:
                self._hidden_sheets.append(attribute(table, "name"))
            else:
                is_empty = False
                yield table
        if is_empty:
            raise CorruptFileError("The spreadsheet has no visible sheet: unhide one, then upload it again.")

    def _sheet(self, page_number: int, table: Element) -> ParsedPage:
        writer, builder = self._writer, self._writer.builder
        name = one_line(attribute(table, "name"))
        builder.heading(name, 1)
        begin_sheet(name)
        read = table_rows(table, writer, writer.budget)
        rows = chain(read.header, read.rows)
        builder.table(sheet_lines(collected_rows(filled_rows(rows, writer.budget))))
        for drawn in chain(read.drawn, *(shapes.iterchildren("*") for shapes in table.iterchildren("{*}shapes"))):
            writer.write_one(drawn)
        if read.notes:
            builder.heading("Notes", 2)
        for note in read.notes:
            builder.list_item(note)
        self._append_lost_cells(table)
        self._hidden_rows += read.hidden_rows
        self._hidden_columns += len(read.hidden_columns)
        self._write_furniture()
        page = builder.page(page_number, name=name)
        return page if len(page.blocks) > 1 or not name else ParsedPage(page_number, "", name=name)

    def _slide(self, page_number: int, slide: Element) -> ParsedPage:
        writer, builder = self._writer, self._writer.builder
        titles = [frame for frame in slide.iterchildren("{*}frame") if attribute(frame, "class") == "title"]
        drawn: list[Element] = []
        title = one_line(
            " ".join(writer.characters(text, drawn) for frame in titles for text in outer_paragraphs(frame))
        )
        builder.heading(title, 1)
        for shape in slide.iterchildren("*"):
            if shape not in titles:
                writer.write_one(shape)
        notes = slide.find("{*}notes")
        if notes is not None and _has_words(notes):
            builder.heading("Notes", 2)
            writer.write(notes)
        self._append_lost(slide)
        return builder.page(page_number, name=title)

    def _append_lost(self, element: Element) -> None:
        self._appended_words += append_lost(self._writer.builder, odf_pieces(element, self._styles))

    def _append_lost_cells(self, table: Element) -> None:
        """Add the words of cells that the lines of a sheet lack."""
        words = SourceWords()
        for piece in islice(sheet_pieces(table, self._styles), MOST_COMPARED):
            words.add(piece)
        lost = words.lost(self._writer.builder.texts())
        self._writer.builder.paragraph(" ".join(lost.elements()))
        self._appended_words += lost.total()

    def _write_furniture(self) -> None:
        """Add the printed heads and feet once, without their fields."""
        found: dict[str, None] = {}
        for part in self._style_parts:
            for place in part.iterfind("{*}master-styles/{*}master-page"):
                for element in place.iterchildren(*_HEADS_AND_FEET):
                    found[self._furniture_text(element)] = None
        self._style_parts = []
        for text in filter(None, found):
            self._writer.builder.paragraph(text, kind=BlockKind.FURNITURE)

    def _furniture_text(self, element: Element) -> str:
        """Return the words of a head or foot; none if they only name its fields, as `Page` does."""
        fields = list(element.iter(*_FIELDS))
        for field in fields:
            field.text = ""
        drawn: list[Element] = []
        text = one_line(" ".join(self._writer.characters(text, drawn) for text in outer_paragraphs(element)))
        words = _LETTERS.findall(text)
        return text if len(words) > (1 if fields else 0) else ""


def _has_words(element: Element) -> bool:
    return any(str(text).strip() for paragraph in element.iter("{*}p", "{*}h") for text in paragraph.itertext())
