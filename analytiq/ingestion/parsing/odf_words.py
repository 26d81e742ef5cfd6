"""The words of an OpenDocument part, collected without its parser, to find what the parser lost."""

from collections.abc import Iterator

from analytiq.ingestion.parsing.odf_styles import Styles, attribute, local_name
from analytiq.ingestion.parsing.xml_part import Element

_UNSHOWN = frozenset(
    {"tracked-changes", "forms", "script", "event-listeners", "note-citation", "label", "meta", "title", "desc"}
    | {"creator", "date", "covered-table-cell"}
)
_UNSEEN = frozenset({"collapse", "filter"})
_MOST_COLUMNS = 16_384
_APART = frozenset({"note", "annotation", "s", "tab", "line-break", "ruby-text"})


def odf_pieces(element: Element, styles: Styles) -> Iterator[str]:
    """Yield the visible text of each paragraph below an element, of those within frames and notes apart."""
    waiting = [element]
    while waiting:
        current = waiting.pop()
        name = local_name(current)
        if not name or name in _UNSHOWN or is_hidden(current, name, styles):
            continue
        if name in {"p", "h"}:
            parts: list[str] = []
            _collect(current, styles, parts, waiting)
            yield "".join(parts)
        else:
            waiting.extend(reversed(current))


def _collect(element: Element, styles: Styles, parts: list[str], waiting: list[Element]) -> None:
    parts.append(element.text or "")
    for child in element.iterchildren():
        name = local_name(child)
        if name in _APART:
            parts.append(" ")
        if name in {"p", "h"} or name in {"note", "annotation", "math"}:
            waiting.append(child)
        elif name and (name not in _UNSHOWN or name == "date") and not is_hidden(child, name, styles):
            _collect(child, styles, parts, waiting)
        parts.append(child.tail or "")


def sheet_pieces(table: Element, styles: Styles) -> Iterator[str]:
    """Yield the visible text of each cell, note and shape of a sheet, without hidden rows and columns."""
    hidden = set(_hidden_columns(table))
    for row in table.iter("{*}table-row"):
        if attribute(row, "visibility") in _UNSEEN:
            continue
        place = 0
        for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            if len(cell) and place not in hidden and local_name(cell) == "table-cell":
                is_plain = len(cell) == 1 and len(cell[0]) == 0 and not cell[0].attrib
                yield from [cell[0].text or ""] if is_plain else odf_pieces(cell, styles)
            repeated = attribute(cell, "number-columns-repeated")
            place += int(repeated) if repeated.isdecimal() else 1
    for shapes in table.iterchildren("{*}shapes"):
        yield from odf_pieces(shapes, styles)


def _hidden_columns(table: Element) -> Iterator[int]:
    place = 0
    for column in table.iter("{*}table-column"):
        repeated = attribute(column, "number-columns-repeated")
        times = int(repeated) if repeated.isdecimal() else 1
        if attribute(column, "visibility") in _UNSEEN:
            yield from range(place, min(place + times, _MOST_COLUMNS))
        place += times


def is_hidden(element: Element, name: str, styles: Styles) -> bool:
    """Return True if the author or a style hides an element's words."""
    if name in {"hidden-text", "section"}:
        return attribute(element, "is-hidden") == "true" or attribute(element, "display") == "none"
    if name == "span":
        return ("text", attribute(element, "style-name")) in styles.hidden
    if name in {"p", "h"}:
        hidden = next(element.iter("{*}hidden-paragraph"), None)
        is_marked = hidden is not None and attribute(hidden, "is-hidden") == "true"
        return is_marked or ("paragraph", attribute(element, "style-name")) in styles.hidden
    return False
