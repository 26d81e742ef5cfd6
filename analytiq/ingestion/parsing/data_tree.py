"""Records and settings as text: each value stands with the names that lead to it.

JSON, YAML and XML are read into one tree. A group of values that belong together is a paragraph of lines
`path.to.name: value`; each record of a list is a paragraph, so that a chunk holds whole records with their names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

MOST_VALUES_TOGETHER = 30
"""Most values of one paragraph; larger objects are written part by part."""
SHOWN_NAMES = 6
"""Most names of a path: those next to the value. Deep trees would repeat their outer names in every line."""
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Record:
    """Named values in order; a name may recur."""

    pairs: "tuple[tuple[str, Tree], ...]"


class TooLongError(Exception):
    """The text would be many times as long as the file."""


Tree = str | Record | list["Tree"]
Path = tuple[str, ...]


def paragraphs_of(tree: Tree, path: Path = ()) -> Iterator[str]:
    """Yield the paragraphs of a tree, each of whole values with their paths."""
    is_short = len(list(islice(leaves_of(tree, path), MOST_VALUES_TOGETHER + 1))) <= MOST_VALUES_TOGETHER
    if isinstance(tree, str) or (is_short and not _has_records(tree)):
        yield _lines(leaves_of(tree, path))
        return
    together: list[tuple[str, Tree]] = []
    for name, value in _parts(tree):
        if isinstance(value, str):
            together.append((name, value))
            continue
        if together:
            yield from _in_groups(together, path)
            together.clear()
        yield from paragraphs_of(value, _below(path, name))
    yield from _in_groups(together, path)


def leaves_of(tree: Tree, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the values of a tree with their paths; a list of plain values is one value."""
    if isinstance(tree, str):
        yield path, tree
    elif isinstance(tree, list) and tree and all(isinstance(item, str) and "\n" not in item for item in tree):
        yield path, ", ".join(item for item in tree if isinstance(item, str))
    else:
        for name, value in _parts(tree):
            yield from leaves_of(value, _below(path, name))


def words_of(tree: Tree) -> Iterator[str]:
    """Yield each name and each value of a tree once, in no order."""
    waiting: list[Tree] = [tree]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, Record):
            for name, value in current.pairs:
                yield name
                waiting.append(value)
        else:
            waiting += current


def line_of(path: Path, value: str) -> str:
    """Return a value behind its path."""
    return f"{'.'.join(path)}: {value}" if path else value


def _has_records(tree: Tree) -> bool:
    """Return True if several records of a kind stand in the tree: items of a list, or elements of one name."""
    if isinstance(tree, str):
        return False
    names = [name for name, value in _parts(tree) if isinstance(value, Record)]
    return len(set(names)) < len(names) or any(_has_records(value) for _, value in _parts(tree))


def _parts(tree: Record | list[Tree]) -> Iterator[tuple[str, Tree]]:
    if isinstance(tree, Record):
        yield from tree.pairs
    else:
        # Items are told apart by their paragraphs; numbers in their names would count as words of the text.
        yield from (("", item) for item in tree)


def _below(path: Path, name: str) -> Path:
    return (*path, name[:LONGEST_NAME])[-SHOWN_NAMES:] if name else path


def _in_groups(pairs: list[tuple[str, Tree]], path: Path) -> Iterator[str]:
    for start in range(0, len(pairs), MOST_VALUES_TOGETHER):
        group = pairs[start : start + MOST_VALUES_TOGETHER]
        yield _lines((_below(path, name), value) for name, value in group if isinstance(value, str))


def _lines(leaves: "Iterator[tuple[Path, str]]") -> str:
    return "\n".join(line_of(path, value) for path, value in leaves if value.strip())
