"""Styles of OpenDocument: what they hide, and how they number."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.numbering import counted
from analytiq.ingestion.parsing.xml_part import FEW_ATTRIBUTES, Element, attributes_of

_MOST_PARENTS = 20


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; empty for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element, name: str) -> str:
    """Return an attribute by its name in any namespace; empty if missing."""
    given = element.attrib
    for key, value in given.items() if len(given) <= FEW_ATTRIBUTES else attributes_of(element):
        if key.endswith(name) and key[: -len(name)][-1:] in {"", "}"}:
            return str(value)
    return ""


def outer_paragraphs(element: Element) -> Iterator[Element]:
    """Yield the paragraphs and headings below an element, but none within another: their own reader meets those."""
    waiting = list(reversed(element))
    while waiting:
        current = waiting.pop()
        if local_name(current) in {"p", "h"}:
            yield current
        else:
            waiting.extend(reversed(current))


@dataclass(frozen=True, slots=True)
class LevelStyle:
    """The numbers of one level of a list."""

    number_format: str
    prefix: str
    suffix: str
    shown_levels: int
    start: int


@dataclass(slots=True)
class Styles:
    """The styles of a document that matter to its words.

    Attributes:
        hidden: (family, name) of the styles of hidden text.
        hidden_tables: names of the styles of hidden tables.
        levels: the numbered levels of each list style; those of the outline under "".
    """

    hidden: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    hidden_tables: set[str] = field(default_factory=set[str])
    levels: dict[str, dict[int, LevelStyle]] = field(default_factory=dict[str, dict[int, LevelStyle]])


def read_styles(roots: Iterable[Element]) -> Styles:
    """Read the styles of the content part and of the part of styles."""
    styles = Styles()
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for root in roots:
        for style in root.iter("{*}style"):
            key = (attribute(style, "family"), attribute(style, "name"))
            parents[key] = (key[0], attribute(style, "parent-style-name"))
            for properties in style.iterchildren("{*}text-properties", "{*}table-properties"):
                is_text = local_name(properties) == "text-properties"
                display = attribute(properties, "display")
                if is_text and display == "none":
                    styles.hidden.add(key)
                elif not is_text and display == "false":
                    styles.hidden_tables.add(key[1])
        for style in root.iter("{*}list-style", "{*}outline-style"):
            name = "" if local_name(style) == "outline-style" else attribute(style, "name")
            styles.levels.setdefault(name, {}).update(_levels(style))
    _inherit(styles.hidden, parents)
    return styles


def _inherit(hidden: set[tuple[str, str]], parents: dict[tuple[str, str], tuple[str, str]]) -> None:
    stated = frozenset(hidden)
    for key in parents:
        above = key
        for _ in range(_MOST_PARENTS):
            above = parents.get(above, ("", ""))
            if above in stated:
                hidden.add(key)


def _levels(style: Element) -> dict[int, LevelStyle]:
    levels: dict[int, LevelStyle] = {}
    for level in style.iterchildren("{*}list-level-style-number", "{*}outline-level-style"):
        levels[_number(level, "level")] = LevelStyle(
            attribute(level, "num-format"),
            attribute(level, "num-prefix"),
            attribute(level, "num-suffix"),
            _number(level, "display-levels"),
            _number(level, "start-value"),
        )
    return levels


def _number(element: Element, name: str) -> int:
    value = attribute(element, name)
    return int(value) if value.isdecimal() and len(value) < 6 else 1


class Numbers:
    """Counts the items of the lists of one style."""

    def __init__(self, levels: dict[int, LevelStyle]) -> None:
        self._levels = levels
        self._counts: dict[int, int] = {}

    def next(self, level: int, *, start: str = "") -> str:
        """Count an item of a level and return its number as shown; empty for bullets."""
        style = self._levels.get(level)
        first = int(start) if start.isdecimal() and len(start) < 6 else None
        before = self._counts.get(level, (style.start if style else 1) - 1)
        self._counts = {deeper: count for deeper, count in self._counts.items() if deeper < level}
        self._counts[level] = before + 1 if first is None else first
        if style is None or not style.number_format:
            return ""
        shown = range(max(level - style.shown_levels + 1, 1), level + 1)
        numbers = [self._shown(place) for place in shown if place in self._levels]
        return f"{style.prefix}{'.'.join(number for number in numbers if number)}{style.suffix}".strip()

    def _shown(self, level: int) -> str:
        style = self._levels[level]
        return counted(self._counts.get(level, style.start), style.number_format) if style.number_format else ""
