"""Formulas of MathML as a line: the author's LaTeX where it is given, else the signs with `/`, `^`, `_` and `√`."""

from analytiq.ingestion.parsing.html_tree import Element

_ANNOTATIONS = frozenset({"annotation", "annotation-xml"})


def math_text(element: Element) -> str:
    """Return a formula as a line."""
    for child in element.walk():
        if child.tag == "annotation" and "tex" in child.get("encoding").lower():
            return " ".join(child.text().split())
    return " ".join(_signs(element).split())


def _signs(element: Element) -> str:
    tag = element.tag
    if tag in _ANNOTATIONS:
        return ""
    parts = [_signs(child) for child in element.elements()]
    if not parts:
        return element.text().strip()
    if tag == "mfrac" and len(parts) == 2:
        return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
    if tag in {"msup", "mover"} and len(parts) == 2:
        return f"{parts[0]}^{_grouped(parts[1])}"
    if tag in {"msub", "munder"} and len(parts) == 2:
        return f"{parts[0]}_{_grouped(parts[1])}"
    if tag in {"msubsup", "munderover"} and len(parts) == 3:
        return f"{parts[0]}_{_grouped(parts[1])}^{_grouped(parts[2])}"
    if tag == "msqrt":
        return f"√{_grouped(''.join(parts))}"
    if tag == "mroot" and len(parts) == 2:
        return f"{_grouped(parts[1])}√{_grouped(parts[0])}"
    if tag == "mtr":
        return ", ".join(parts)
    if tag == "mtable":
        return "; ".join(parts)
    return "".join(parts)


def _grouped(text: str) -> str:
    return text if len(text) == 1 or text.isalnum() else f"({text})"
