"""The numbers and bullets of lists, as they show."""

import re

from analytiq.ingestion.parsing.xml_part import Element

_SCHEME = re.compile(r"(arabic|alphaLc|alphaUc|romanLc|romanUc)(ParenBoth|ParenR|Period|Plain)")
_FRAMES = {"ParenBoth": "({})", "ParenR": "{})", "Period": "{}.", "Plain": "{}"}
_STYLES = {"arabic": "1", "alphaLc": "a", "alphaUc": "A", "romanLc": "i", "romanUc": "I"}
_ROMAN = {
    1000: "m",
    900: "cm",
    500: "d",
    400: "cd",
    100: "c",
    90: "xc",
    50: "l",
    40: "xl",
    10: "x",
    9: "ix",
    5: "v",
    4: "iv",
    1: "i",
}
_MOST = 3_999


class ListNumbers:
    """Counts the numbered paragraphs of one shape."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def marker(self, properties: Element | None, depth: int) -> str:
        """Return a paragraph's own bullet or number; empty if it states neither."""
        for deeper in [level for level in self._counts if level > depth]:
            del self._counts[deeper]
        numbered = None if properties is None else properties.find("{*}buAutoNum")
        if numbered is None:
            self._counts.pop(depth, None)
            has_bullet = properties is not None and properties.find("{*}buChar") is not None
            return "-" if has_bullet else ""
        start = numbered.get("startAt", "1")
        first = int(start) if start.isdecimal() else 1
        self._counts[depth] = self._counts.get(depth, first - 1) + 1
        return shown_number(self._counts[depth], numbered.get("type", ""))


def shown_number(number: int, scheme: str) -> str:
    """Return a number as its scheme shows it, such as `romanLcParenR`; others as Arabic with a period."""
    match = _SCHEME.match(scheme)
    style, frame = (match[1], match[2]) if match else ("arabic", "Period")
    return _FRAMES[frame].format(counted(number, _STYLES[style]))


def counted(number: int, style: str) -> str:
    """Return a number in a style: `1`, `a`, `A`, `i` or `I`; others as Arabic."""
    number = min(number, _MOST)
    if number < 1 or style not in {"a", "A", "i", "I"}:
        return str(number)
    is_letter = style in {"a", "A"}
    text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1) if is_letter else _roman(number)
    return text.upper() if style.isupper() else text


def _roman(number: int) -> str:
    letters: list[str] = []
    for value, sign in _ROMAN.items():
        times, number = divmod(number, value)
        letters.append(sign * times)
    return "".join(letters)
