"""Formulas of MathML as LaTeX, the form that people and language models read."""

from analytiq.ingestion.parsing.xml_part import Element

_DEEPEST = 100
_UNREAD = frozenset({"annotation", "annotation-xml"})
_FORMS = {
    ("mfrac", 2): r"\frac{{{}}}{{{}}}",
    ("msup", 2): "{}^{{{}}}",
    ("msub", 2): "{}_{{{}}}",
    ("msubsup", 3): "{}_{{{}}}^{{{}}}",
    ("munder", 2): "{}_{{{}}}",
    ("mover", 2): "{}^{{{}}}",
    ("munderover", 3): "{}_{{{}}}^{{{}}}",
    ("mroot", 2): r"\sqrt[{1}]{{{0}}}",
}
"""The form of an element with a number of parts."""


def formula(element: Element, depth: int = 0) -> str:
    """Return a formula as LaTeX; what has no form of its own is joined by blanks."""
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if not name or name in _UNREAD or depth > _DEEPEST:
        return ""
    if len(element) == 0:
        return " ".join((element.text or "").split())
    parts = [formula(child, depth + 1) for child in element.iterchildren()]
    form = _FORMS.get((name, len(parts)))
    if form is not None:
        return form.format(*parts)
    joined = " ".join(part for part in parts if part)
    return rf"\sqrt{{{joined}}}" if name == "msqrt" else joined
