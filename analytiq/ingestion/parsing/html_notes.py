"""Footnotes of HTML: the notes, references to them, and the links back, which are no words of the text."""

from analytiq.ingestion.parsing.html_tree import Element

_NOTE_ROLES = frozenset({"doc-footnote", "doc-endnote", "doc-endnotes", "footnote", "footnotes", "endnote", "endnotes",
                         "rearnote", "rearnotes"})  # fmt: skip
_NOTE_CLASSES = frozenset({"footnote", "footnotes", "endnotes", "footnotes-list"})
_REFERENCE_ROLES = frozenset({"doc-noteref", "noteref"})
_BACK_SIGNS = frozenset({"↩", "↩︎", "↑", "^", "⏎", "¶", "#", "§", "🔗", "⤴"})
_NOTE_ELEMENTS = frozenset({"aside", "div", "section", "li", "ol", "p", "ul"})


def holds_notes(element: Element) -> bool:
    """Return True if the element is a footnote, or holds footnotes."""
    if not element.attributes or element.tag not in _NOTE_ELEMENTS:
        return False
    return bool(_roles(element) & _NOTE_ROLES or _NOTE_CLASSES.intersection(element.classes))


def is_reference(element: Element) -> bool:
    """Return True if a link, or a superscript that is nothing but a link, leads to a footnote."""
    if element.tag == "a":
        return bool(_roles(element) & _REFERENCE_ROLES) or "footnote-ref" in element.classes
    links = [child for child in element.elements() if child.tag == "a"]
    inner = "".join(link.text() for link in links).strip()
    return bool(inner) and inner == element.text().strip() and all(link.get("href").startswith("#") for link in links)


def is_back_link(element: Element) -> bool:
    """Return True if a link leads back to its reference, or only to the heading that it stands in."""
    if "doc-backlink" in _roles(element) or "footnote-backref" in element.classes:
        return True
    return element.get("href").startswith("#") and element.text().strip() in _BACK_SIGNS


def _roles(element: Element) -> set[str]:
    return {*element.get("role").split(), *element.get("epub:type").split()}
