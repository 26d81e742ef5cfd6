"""OpenDocument texts, spreadsheets and presentations, read from their content part."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from zipfile import ZipFile

from lxml import etree

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.sheet_text import CellBudget, one_line, render_sheet, table_lines
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.models.text import ParsedDocument, ParsedPage

TEXT = "application/vnd.oasis.opendocument.text"
SPREADSHEET = "application/vnd.oasis.opendocument.spreadsheet"
PRESENTATION = "application/vnd.oasis.opendocument.presentation"

_DELETED = frozenset({"tracked-changes", "forms", "shapes", "meta"})
_DEEPEST = 200


class OpenDocumentParser:
    """A text is one page; each visible sheet of a spreadsheet and each slide is a page."""

    content_types = (TEXT, SPREADSHEET, PRESENTATION, f"{TEXT}-template", f"{SPREADSHEET}-template")
    extensions = (".odt", ".ott", ".ods", ".odp")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read it with insertions accepted and deletions omitted; cells as displayed."""
        with open_package(path, noun="document") as archive:
            pages, warnings = _pages(_body(archive))
        if len(pages) > options.max_pages:
            raise LimitExceededError(f"The document has {len(pages)} pages; at most {options.max_pages} are read.")
        report_progress(len(pages), len(pages))
        return ParsedDocument(tuple(ParsedPage(number, text) for number, text in enumerate(pages, start=1)), warnings)


def _body(archive: ZipFile) -> Element:
    names = archive.namelist()
    if "META-INF/manifest.xml" in names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise EncryptedFileError("The document opens only with a password: remove its password, then upload it again.")
    body = parsed_xml(archive.read("content.xml")).find("{*}body")
    if body is None or len(body) == 0:
        raise ValueError("its part content.xml has no body")
    return body[0]


def _pages(content: Element) -> tuple[list[str], tuple[str, ...]]:
    kind = _name(content)
    if kind == "spreadsheet":
        return _sheets(content)
    if kind == "presentation":
        return [_slide(slide) for slide in content.iterchildren("{*}page")] or [""], ()
    return ["\n\n".join(_blocks(content))], ()


def _sheets(content: Element) -> tuple[list[str], tuple[str, ...]]:
    hidden_styles = {
        _attribute(style, "name")
        for style in content.getroottree().iter("{*}style")
        if any(_attribute(properties, "display") == "false" for properties in style.iterchildren("{*}table-properties"))
    }
    budget = CellBudget()
    pages: list[str] = []
    hidden: list[str] = []
    for table in content.iterchildren("{*}table"):
        title = _attribute(table, "name")
        if _attribute(table, "style-name") in hidden_styles:
            hidden.append(title)
        else:
            pages.append(render_sheet(title, _rows(table, budget)))
    if not pages:
        raise CorruptFileError("The spreadsheet has no visible sheet: unhide one, then upload it again.")
    warning = f"hidden sheets are not read: {', '.join(map(repr, hidden[:20]))}; unhide the sheets to be searched"
    return pages, (warning,) if hidden else ()


def _slide(slide: Element) -> str:
    notes = slide.find("{*}notes")
    texts = list(_blocks(slide))
    if notes is not None:
        said = list(_blocks(notes))
        texts += ["## Notes", *said] if said else []
    return "\n\n".join(texts)


def _rows(table: Element, budget: CellBudget) -> Iterator[Sequence[str]]:
    """Yield the rows of a table and its groups; repeated ones as often as they show something."""
    for row in table.iter("{*}table-row"):
        if next(row.iterancestors("{*}table")) is not table:
            continue  # of a table inside a cell
        cells = _cells(row, budget)
        times = _repeats(row, "number-rows-repeated") if any(cells) else 1
        budget.spend(times * (len(cells) + 1))
        yield from repeat(cells, times)


def _cells(row: Element, budget: CellBudget) -> list[str]:
    cells: list[str] = []
    skipped = 0
    for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
        text = one_line(" ".join(_characters(paragraph) for paragraph in cell.iter("{*}p", "{*}h")))
        repeats = _repeats(cell, "number-columns-repeated")
        if not text:
            skipped += repeats  # the last of a row reaches to the end of the sheet
            continue
        budget.spend(skipped + repeats)
        cells += chain([""] * skipped, [text] * repeats)
        skipped = 0
    return cells


def _repeats(element: Element, name: str) -> int:
    value = _attribute(element, name)
    times = int(value) if value.isdigit() else 1
    return max(times, 1)


def _blocks(element: Element, depth: int = 0) -> Iterator[str]:
    """Yield headings, paragraphs, lists and tables below an element, each as Markdown."""
    if depth > _DEEPEST:
        raise LimitExceededError("The document is nested too deeply to be read.")
    for child in element.iterchildren("*"):
        name = _name(child)
        render = _RENDERERS.get(name)
        if name in _DELETED or name == "notes":
            continue
        if render is None:
            yield from _blocks(child, depth + 1)
        elif text := render(child):
            yield text
        if name in {"p", "h"}:
            for frame in child.iter("{*}text-box"):
                yield from _blocks(frame, depth + 1)


def _heading(element: Element) -> str:
    text = one_line(_characters(element))
    level = _attribute(element, "outline-level")
    return f"{'#' * min(int(level) if level.isdigit() else 1, 6)} {text}" if text else ""


def _paragraph(element: Element) -> str:
    return _characters(element).strip()


def _list(element: Element) -> str:
    return "\n".join(_items(element, 0))


def _items(element: Element, level: int) -> Iterator[str]:
    for item in element.iterchildren("{*}list-item", "{*}list-header"):
        for child in item.iterchildren("{*}p", "{*}h", "{*}list"):
            if _name(child) != "list":
                text = one_line(_characters(child))
                if text:
                    yield f"{'  ' * level}- {text}"
            elif level < _DEEPEST:
                yield from _items(child, level + 1)


def _table(element: Element) -> str:
    return "\n".join(table_lines(_rows(element, CellBudget())))


_RENDERERS: dict[str, Callable[[Element], str]] = {"h": _heading, "p": _paragraph, "list": _list, "table": _table}


def _characters(paragraph: Element) -> str:
    """Return the text of a paragraph; a note is in brackets at its mark, a text box elsewhere."""
    parts = [paragraph.text or ""]
    for child in paragraph.iterchildren():
        name = _name(child) if isinstance(child.tag, str) else ""
        if name == "s":
            count = _attribute(child, "c")
            parts.append(" " * min(int(count) if count.isdigit() else 1, 100))
        elif name == "tab":
            parts.append("\t")
        elif name == "line-break":
            parts.append("\n")
        elif name in {"note", "annotation"}:
            said = one_line(" ".join(_characters(text) for text in child.iter("{*}p")))
            parts.append(f" [{said}] " if said else "")
        elif name and name not in {"frame", "custom-shape", "text-box", "annotation-end"}:
            parts.append(_characters(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _name(element: Element) -> str:
    return etree.QName(element).localname


def _attribute(element: Element, name: str) -> str:
    """Return an attribute by its name in any namespace; empty if missing."""
    return next((value for key, value in element.attrib.items() if etree.QName(key).localname == name), "")
