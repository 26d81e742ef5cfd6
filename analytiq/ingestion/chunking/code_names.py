"""The names of the definitions in source code, by tree-sitter: they are to code what headings are to prose."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from tree_sitter import Node, Parser

from analytiq.ingestion.chunking.code_cuts import BEFORE_DEFINITION, grammar_of

LONGEST_PARSED = 1_000_000
"""Characters: longer code has no names."""
MOST_DEFINITIONS = 20_000
SHARE = 2 / 3
"""A definition that has at least this share of a chunk is what the chunk is about; imports may stand before it."""
_DEEPEST = 40
_DEFINITION = re.compile(
    r"(?:abstract_)?(?:class|interface|enum|struct|union|trait|record|object|namespace|module|internal_module|mod|impl"
    r"|function|generator_function|method|constructor|destructor|local_function|type|macro)"
    r"_(?:definition|declaration|item|specifier|spec|alias_declaration)"
    r"|internal_module|variable_declarator|public_field_definition|field_definition|property_declaration"
    r"|create_(?:table|view|materialized_view|function|procedure|type|trigger)"
)
_FUNCTION = re.compile(r"function|method|constructor|destructor|macro|declarator|field|property|create")
"""Nodes that are not searched for definitions."""
_NAME = re.compile(r"[^\s()<>{}\[\]]{1,100}")
_JOINT = re.compile(r"::|\.")


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function or the like with its comments: a range of the text, and the names from the outermost."""

    start: int
    end: int
    path: tuple[str, ...]
    parent: int = -1


class CodeNames:
    """The definitions of one block of code, which begins at `start` of the text."""

    def __init__(self, code: str, language: str, *, start: int = 0) -> None:
        self._definitions = _definitions(code, language, start)
        self._starts = [one.start for one in self._definitions]

    def above(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names of the definitions that most of a range is in, outermost first."""
        shares: Counter[tuple[str, ...]] = Counter()
        for one in self._in(start, end):
            size = min(end, one.end) - max(start, one.start)
            inherited = self._definitions[one.parent].path if one.parent >= 0 else ()
            for depth in range(len(inherited) + 1, len(one.path) + 1):
                shares[one.path[:depth]] += size
        enough = [path for path, size in shares.items() if size >= SHARE * (end - start)]
        return max(enough, key=len, default=())

    def _in(self, start: int, end: int) -> list[Definition]:
        """Return the definitions that overlap a range."""
        first, stop = bisect_left(self._starts, start), bisect_left(self._starts, end)
        found = list(self._definitions[first:stop])
        outer = first - 1
        while outer >= 0:
            if self._definitions[outer].end > start:
                found.append(self._definitions[outer])
            outer = self._definitions[outer].parent
        return found


def _definitions(code: str, language: str, offset: int) -> list[Definition]:
    """Return the definitions of more than one line, in order of their starts; none inside functions."""
    grammar = grammar_of(language)
    if grammar is None or len(code) > LONGEST_PARSED:
        return []
    lines = code.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=offset))
    found: list[Definition] = []
    root = Parser(grammar).parse(code.encode("utf-8", "replace")).root_node
    stack = [(child, first, -1, 0) for child, first in _tall_children(root)]
    while stack and len(found) < MOST_DEFINITIONS:
        node, first, parent, depth = stack.pop()
        names = _names_of(node) if _DEFINITION.fullmatch(node.type) else ()
        if names:
            above = found[parent].path if parent >= 0 else ()
            end = min(starts[node.end_point.row + 1], offset + len(code))
            found.append(Definition(starts[first], end, (*above, *names), parent))
            parent = len(found) - 1
        if depth < _DEEPEST and not (names and _FUNCTION.search(node.type)):
            # A wrapper, such as `export` or a decorated definition, has the comments of what it wraps.
            below = _tall_children(node)
            if below and not names and first < node.start_point.row:
                below[0] = below[0][0], first
            stack += ((child, row, parent, depth + 1) for child, row in below)
    return _in_order(found)


def _in_order(found: Sequence[Definition]) -> list[Definition]:
    """Return the definitions in order, with their parents' new numbers."""
    order = sorted(range(len(found)), key=lambda number: (found[number].start, -found[number].end))
    place = {number: index for index, number in enumerate(order)}
    return [
        Definition(one.start, one.end, one.path, place.get(one.parent, -1)) for one in (found[each] for each in order)
    ]


def _tall_children(node: Node) -> list[tuple[Node, int]]:
    """Return the children of more than one line, each with the row where its comments and decorators begin."""
    found: list[tuple[Node, int]] = []
    lead, expected = -1, -2
    for child in node.children:
        row, last = child.start_point.row, child.end_point.row - (child.end_point.column == 0)
        is_before = child.type.endswith(BEFORE_DEFINITION)
        first = lead if expected == row - 1 else row
        if is_before:
            lead, expected = first, last
            continue
        if last > row:
            found.append((child, first))
    return found


def _names_of(node: Node) -> tuple[str, ...]:
    """Return a definition's name, after the type that it belongs to if that is written with it."""
    if node.type == "impl_item":
        named = [node.child_by_field_name("type")]
    elif receiver := node.child_by_field_name("receiver"):
        types = [child.child_by_field_name("type") for child in receiver.named_children]
        named = [*types[:1], node.child_by_field_name("name")]
    else:
        named = [node.child_by_field_name("name") or _declared(node)]
    names = [name for one in named if one is not None for name in _JOINT.split(_text(one)) if name]
    return tuple(names)


def _declared(node: Node) -> Node | None:
    """Return the name inside of C's declarators, or SQL's object."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and (deeper := inner.child_by_field_name("declarator")) is not None:
        inner = deeper
    return inner or next((child for child in node.named_children if child.type == "object_reference"), None)


def _text(node: Node) -> str:
    found = _NAME.search((node.text or b"")[:200].decode("utf-8", "replace").lstrip("*&"))
    return found.group() if found else ""
