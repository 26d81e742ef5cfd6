"""The visible words of an HTML tree, collected without the readers of its blocks, to find what they lost."""

import unicodedata
from collections.abc import Collection, Iterator

from analytiq.ingestion.parsing.completeness import lost_pieces, lost_words, squeezed
from analytiq.ingestion.parsing.html_notes import is_back_link
from analytiq.ingestion.parsing.html_silent import SILENT
from analytiq.ingestion.parsing.html_style import Look, StyleSheet, blends, is_hidden, next_look
from analytiq.ingestion.parsing.html_tree import BLOCKS, CELLS, Element
from analytiq.ingestion.parsing.text_builder import TextBuilder

_END = "\0"
"""Stands for the start or end of a block: no text holds it."""
_NOT_TEXT = SILENT | {"svg", "math", "select", "textarea", "iframe", "rt", "rp", "template", "noscript"}
"""Elements with readers of their own, and those that show no text."""
MOST_COMPARED = 200
"""Most pieces that are searched for in the text: a search takes as long as the text."""
_PARTED = BLOCKS | frozenset(CELLS) | {"br", "tr", "caption", "button", "label", "sup", "sub", "ruby", "img", "input"}


def html_pieces(root: Element, *, left_out: Collection[int] = ()) -> Iterator[str]:
    """Yield the visible text between the starts and ends of blocks."""
    styles = StyleSheet(root)
    parts: list[str] = []
    waiting: list[tuple[Element | str, Look]] = [(root, styles.first_look())]
    while waiting:
        node, look = waiting.pop()
        if isinstance(node, str):
            if node == _END:
                yield "".join(parts)
                parts.clear()
            elif not blends(look):
                parts.append(node.replace("\xad", ""))
            continue
        declared = styles.declarations(node)
        if node.tag in _NOT_TEXT or id(node) in left_out or _is_unread(node) or is_hidden(node, declared):
            waiting.append((_END, look))
            continue
        inside = next_look(look, node, declared)
        is_apart = node.tag in _PARTED or declared.get("display", "inline") != "inline"
        if is_apart:
            waiting.append((_END, look))
        waiting += [(child, inside) for child in reversed(node.children)]
        if is_apart:
            waiting.append((_END, look))
    yield "".join(parts)


def _is_unread(element: Element) -> bool:
    return (element.tag == "dialog" and "open" not in element.attributes) or (
        element.tag == "a" and is_back_link(element)
    )


def append_lost_html(builder: TextBuilder, root: Element, *, left_out: Collection[int] = ()) -> None:
    """Add the visible text that a page lacks at its end."""
    pieces = list(html_pieces(root, left_out=left_out))
    lost = lost_words(pieces, [builder.text])
    if not lost:
        return
    found = list(lost_pieces(pieces, lost))
    if len(found) <= MOST_COMPARED:
        # Words may be parted otherwise, and raised digits written as such.
        text = _letters(builder.text)
        found = [piece for piece in found if _letters(piece) not in text]
    for piece in found:
        builder.paragraph(" ".join(piece.split()))


def _letters(text: str) -> str:
    return squeezed(unicodedata.normalize("NFKC", text))
