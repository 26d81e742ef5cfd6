"""Automatic numbers of paragraphs, which a document defines and does not store."""

import re
from dataclasses import dataclass, field, replace

from analytiq.ingestion.parsing.word.names import any_attribute, as_number, attribute, child_of, is_on, value_of
from analytiq.ingestion.parsing.word.number_formats import formatted
from analytiq.ingestion.parsing.xml_part import Element

LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
_MOST_LINKS = 10
_LONGEST_TEXT = 255
"""Word's own limit; every paragraph of the list repeats the text."""


@dataclass(frozen=True, slots=True)
class NumberRef:
    """The numbering that a paragraph or a style names; None where it leaves a part to another."""

    num_id: str | None = None
    level: int | None = None


NO_NUMBER = NumberRef()


@dataclass(frozen=True, slots=True)
class ListMarker:
    """The marker of a paragraph in a list: `text` is "" for a bullet, and for a level that shows nothing."""

    text: str
    depth: int
    is_bullet: bool


@dataclass(frozen=True, slots=True)
class _Level:
    start: int = 1
    kind: str = "decimal"
    text: str = ""
    restart: int | None = None
    is_legal: bool = False
    style: str = ""


@dataclass(slots=True)
class _Definition:
    """An abstract numbering; its counters are shared by all lists that use it."""

    levels: dict[int, _Level] = field(default_factory=dict[int, _Level])
    counters: list[int | None] = field(default_factory=lambda: [None] * LEVELS)
    linked_style: str = ""


@dataclass(slots=True)
class _List:
    definition: _Definition
    starts: dict[int, int] = field(default_factory=dict[int, int])
    levels: dict[int, _Level] = field(default_factory=dict[int, _Level])


def number_ref_of(properties: Element | None) -> NumberRef:
    """Return the numbering in the properties of a paragraph or a style."""
    element = child_of(properties, "numPr")
    if element is None:
        return NO_NUMBER
    num_id, level = child_of(element, "numId"), child_of(element, "ilvl")
    return NumberRef(
        None if num_id is None else value_of(num_id),
        None if level is None else min(max(as_number(value_of(level)), 0), LEVELS - 1),
    )


class Numbering:
    """The counters of a document's lists; call `next_marker` for each numbered paragraph in order."""

    def __init__(self, root: Element | None, style_refs: dict[str, NumberRef]) -> None:
        self._lists: dict[str, _List] = {}
        if root is not None:
            self._read(root, style_refs)

    def next_marker(self, ref: NumberRef, style_id: str) -> ListMarker | None:
        """Count a paragraph and return its marker; None if it is not in a list."""
        found = self._lists.get(ref.num_id or "")
        if found is None:
            return None
        level = ref.level
        if level is None:
            levels = {**found.definition.levels, **found.levels}
            level = next((number for number, one in levels.items() if one.style and one.style == style_id), 0)
        self._count(found, level)
        shape = self._level(found, level)
        if shape.kind == "bullet":
            return ListMarker("", level + 1, is_bullet=True)
        return ListMarker(self._shown(found, shape), level + 1, is_bullet=False)

    def _count(self, found: _List, level: int) -> None:
        counters = found.definition.counters
        start = found.starts.pop(level, None)
        if start is not None:
            counters[level] = start
        else:
            count = counters[level]
            counters[level] = self._level(found, level).start if count is None else count + 1
        for deeper in range(level + 1, LEVELS):
            restart = self._level(found, deeper).restart
            if restart is None or (restart > 0 and level < restart):
                counters[deeper] = None

    def _shown(self, found: _List, shape: _Level) -> str:
        def number(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            level = self._level(found, index)
            count = found.definition.counters[index]
            if count is None:
                count = found.starts.get(index, level.start)
            if level.kind == "none":
                return ""
            is_plain = shape.is_legal or level.kind == "bullet"
            return str(count) if is_plain else formatted(count, level.kind)

        return " ".join(_PLACE.sub(number, shape.text).split())

    @staticmethod
    def _level(found: _List, level: int) -> _Level:
        return found.levels.get(level) or found.definition.levels.get(level) or _Level()

    def _read(self, root: Element, style_refs: dict[str, NumberRef]) -> None:
        definitions = {
            attribute(element, "abstractNumId") or "": _definition_of(element)
            for element in root.iterchildren("{*}abstractNum")
        }
        nums = {attribute(element, "numId") or "": element for element in root.iterchildren("{*}num")}

        def resolved(num_id: str) -> _Definition | None:
            """Follow links to a style of lists, which names another list."""
            for _ in range(_MOST_LINKS):
                found = definitions.get(value_of(child_of(nums.get(num_id), "abstractNumId")))
                if found is None or found.levels or not found.linked_style:
                    return found
                num_id = style_refs.get(found.linked_style, NO_NUMBER).num_id or ""
            return None

        for num_id, element in nums.items():
            definition = resolved(num_id)
            if definition is not None and num_id != "0":
                self._lists[num_id] = _with_overrides(_List(definition), element)


def _definition_of(element: Element) -> _Definition:
    definition = _Definition(linked_style=value_of(child_of(element, "numStyleLink")))
    for level in element.iterchildren("{*}lvl"):
        number = as_number(attribute(level, "ilvl"))
        if 0 <= number < LEVELS:
            definition.levels[number] = _level_of(level)
    return definition


def _with_overrides(found: _List, element: Element) -> _List:
    for override in element.iterchildren("{*}lvlOverride"):
        number = as_number(attribute(override, "ilvl"))
        if not 0 <= number < LEVELS:
            continue
        level, start = child_of(override, "lvl"), child_of(override, "startOverride")
        if level is not None:
            found.levels[number] = _level_of(level)
        if start is not None:
            found.starts[number] = as_number(value_of(start), 1)
            base = found.levels.get(number) or found.definition.levels.get(number) or _Level()
            found.levels[number] = replace(base, start=found.starts[number])
    return found


def _level_of(element: Element) -> _Level:
    start, restart = child_of(element, "start"), child_of(element, "lvlRestart")
    return _Level(
        start=as_number(value_of(start), 1) if start is not None else 0,
        kind=_kind_of(element),
        text=value_of(child_of(element, "lvlText"))[:_LONGEST_TEXT],
        restart=None if restart is None else as_number(value_of(restart)),
        is_legal=is_on(child_of(element, "isLgl")),
        style=value_of(child_of(element, "pStyle")),
    )


def _kind_of(level: Element) -> str:
    """Return the format; newer ones, such as 001, stand in an alternative."""
    form = next(level.iter("{*}numFmt"), None)
    if form is None:
        return "decimal"
    kind = value_of(form, "decimal")
    return (any_attribute(form, "format") or kind) if kind == "custom" else kind
