"""The words of an OpenDocument part, collected without its parser, to find what the parser lost."""

from collections.abc import Iterator

from analytiq.ingestion.parsing.odf_styles import Styles, attribute, local_name
from analytiq.ingestion.parsing.xml_part import Element

_UNSHOWN = frozenset(
    {"tracked-changes", "forms", "script", "event-listeners", "note-citation", "label", "meta", "title", "desc"}
    | {"creator", "date", "covered-table-cell"}
)
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
