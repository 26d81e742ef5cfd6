"""Code in HTML: its lines as written, and the name of its language."""

import re
from collections.abc import Callable

from analytiq.ingestion.parsing.html_tree import BLOCKS, Element

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?)[-\s:]\s*([\w+#.-]{1,30})", re.IGNORECASE
)
_CODE_TOOLS = frozenset({"sourcecode", "hljs", "highlight", "prettyprint", "numbersource", "code", "codehilite"})
_LINE_NUMBERS = frozenset({"linenos", "lineno", "linenodiv", "line-numbers-rows", "gutter", "blob-num"})


def code_language(element: Element, wrapper: str) -> str:
    """Return the language that a block of code, its code element or the division around it names."""
    inner = next((child for child in element.elements() if child.tag in {"code", "samp", "kbd"}), None)
    places = [place for place in (inner, element) if place is not None]
    for place in places:
        if stated := place.get("data-lang") or place.get("data-language"):
            return stated.split()[0][:30]
    for classes in (*(place.get("class") for place in places), wrapper):
        if (found := _LANGUAGE.search(classes)) is not None:
            return "" if found[1].lower() in {"default", "none", "plaintext", "text"} else found[1]
        names = classes.split()
        if len(names) == 2 and names[0].lower() in {"sourcecode", "src"}:
            return names[1].removeprefix("src-")
    return ""


def preformatted_text(element: Element, is_seen: Callable[[Element], bool]) -> str:
    """Return preformatted words with their blanks and line ends, without numbers of lines."""
    parts: list[str] = []
    pending: list[Element | str] = list(reversed(element.children))
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "br":
            parts.append("\n")
        elif not _LINE_NUMBERS & set(node.classes) and is_seen(node):
            is_line = node.tag in BLOCKS or node.tag == "tr"
            if is_line and parts and not parts[-1].endswith("\n"):
                parts.append("\n")
            if is_line:
                pending.append("\n")
            pending += reversed(node.children)
    return "".join(parts).replace("\xa0", " ")
