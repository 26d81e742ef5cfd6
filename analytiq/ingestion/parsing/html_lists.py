"""Markers of HTML's lists: bullets, and numbers as a browser counts and writes them."""

import re
from collections.abc import Mapping

from analytiq.ingestion.parsing.html_tree import Element

BULLET = "-"
_INTEGER = re.compile(r"[+-]?\d{1,9}")
_STYLES = {
    "decimal": "1", "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
    "lower-roman": "i", "upper-roman": "I",
}  # fmt: skip
_ROMAN = [
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
]  # fmt: skip


def list_markers(element: Element, declared: Mapping[str, str]) -> dict[int, str]:
    """Return the marker of each item of a numbered list, by the item's identity; bullets are left out."""
    style = declared.get("list-style-type") or declared.get("list-style", "")
    kinds = [_STYLES[word] for word in style.split() if word in _STYLES]
    if (element.tag != "ol" and not kinds) or "none" in style.split():
        return {}
    kind = kinds[0] if kinds else element.get("type")
    items = [child for child in element.elements() if child.tag == "li"]
    is_reversed = "reversed" in element.attributes
    number = _integer(element.get("start"))
    if number is None:
        number = len(items) if is_reversed else 1
    markers: dict[int, str] = {}
    for item in items:
        stated = _integer(item.get("value"))
        number = number if stated is None else stated
        markers[id(item)] = f"{written(number, item.get('type') or kind)}."
        number += -1 if is_reversed else 1
    return markers


def item_marker(item: Element) -> str:
    """Return the marker of an item outside of a list."""
    number = _integer(item.get("value"))
    return BULLET if number is None else f"{number}."


def written(number: int, kind: str) -> str:
    """Return a number as HTML's types `1`, `a`, `A`, `i` and `I` write it."""
    if kind in {"a", "A"} and number > 0:
        letters = _letters(number)
        return letters if kind == "a" else letters.upper()
    if kind in {"i", "I"} and 0 < number < 4000:
        roman = _roman(number)
        return roman if kind == "i" else roman.upper()
    return str(number)


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def _roman(number: int) -> str:
    signs: list[str] = []
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        signs.append(sign * count)
    return "".join(signs)


def _integer(stated: str) -> int | None:
    found = _INTEGER.match(stated.strip())
    return int(found[0]) if found else None
