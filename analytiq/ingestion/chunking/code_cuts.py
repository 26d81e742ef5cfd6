"""The places between definitions and statements of source code, by tree-sitter."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from tree_sitter import Language, Node, Parser

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.spans import sections

_GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "python": ("tree_sitter_python", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "sql": ("tree_sitter_sql", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
_ALIASES = {
    "c#": "csharp", "cs": "csharp", "c_sharp": "csharp", "c-sharp": "csharp", "c++": "cpp", "cc": "cpp",
    "cxx": "cpp", "hpp": "cpp", "hh": "cpp", "h": "cpp", "golang": "go", "js": "javascript", "jsx": "javascript",
    "mjs": "javascript", "cjs": "javascript", "py": "python", "python3": "python", "pyi": "python",
    "rs": "rust", "ts": "typescript", "mts": "typescript", "cts": "typescript", "typescriptreact": "tsx",
    "javascriptreact": "javascript", "postgresql": "sql", "mysql": "sql", "plsql": "sql", "tsql": "sql",
    "sqlite": "sql", "psql": "sql", "ddl": "sql",
}  # fmt: skip
_FUNCTIONS = ("function", "method", "constructor", "lambda", "closure", "accessor")
BEFORE_DEFINITION = ("comment", "attribute_item", "decorator")
"""Ends of the types of nodes that belong to the definition after them."""
_DEEPEST = 40
_LONGEST_PARSED = 1_000_000
"""Characters: longer code is parsed in parts, since a few grammars take more than linear time."""


def code_cuts(code: str, language: str, *, most_tokens: int) -> Iterator[tuple[int, bool]]:
    """Yield the offsets of lines at which code may be cut, in order, and whether a definition begins there.

    A definition begins with its comments, decorators and attributes. Only nodes of more than `most_tokens` are cut
    inside. Without a grammar for the language, a paragraph of lines counts as a definition.
    """
    grammar = grammar_of(language)
    for start, end in sections(code, _LONGEST_PARSED):
        section = code[start:end]
        lines = section.split("\n")
        marks = _marks(grammar, section, lines, most_tokens) if grammar else _paragraphs(lines)
        offsets = list(accumulate((len(line) + 1 for line in lines), initial=start))
        yield from ((offsets[line], marks[line]) for line in sorted(marks))


def _paragraphs(lines: list[str]) -> dict[int, bool]:
    return {
        number: not line[0].isspace()
        for number, line in enumerate(lines)
        if line.strip() and number and not lines[number - 1].strip()
    }


def _marks(language: Language, section: str, lines: list[str], most_tokens: int) -> dict[int, bool]:
    """Return the lines at which a node begins, and whether it is a definition."""
    tokens = list(accumulate((count_tokens(line) + 1 for line in lines), initial=0))
    marks: dict[int, bool] = {}
    root = Parser(language).parse(section.encode("utf-8", "replace")).root_node
    stack: list[tuple[Node, int, bool]] = [(root, 0, True)]
    while stack:
        node, depth, is_outside = stack.pop()
        occupied = node.start_point.row if depth else -1
        comment = _Comment()
        for child in node.children:
            first, last = child.start_point.row, _last_row(child)
            begins_line, occupied = first > occupied, max(occupied, last)
            if child.type.endswith(BEFORE_DEFINITION):
                if begins_line:
                    comment = comment.followed_by(first, last)
                    marks.setdefault(comment.first, False)
                continue
            is_definition = is_outside and last > first
            if begins_line and child.is_named:
                line = comment.first if comment.last == first - 1 else first
                marks[line] = marks.get(line, False) or is_definition
            if depth < _DEEPEST and last > first and tokens[last + 1] - tokens[first] > most_tokens:
                is_function = any(word in child.type for word in _FUNCTIONS)
                stack.append((child, depth + 1, is_outside and not is_function))
    return marks


@dataclass(frozen=True, slots=True)
class _Comment:
    """The lines of the comments, decorators and attributes that stand without an empty line before a node."""

    first: int = -1
    last: int = -2

    def followed_by(self, first: int, last: int) -> "_Comment":
        return _Comment(self.first if self.last == first - 1 else first, last)


def _last_row(node: Node) -> int:
    """Return the row of the node's last character; some grammars count the line end as part of it."""
    end = node.end_point
    return max(end.row - (end.column == 0), node.start_point.row)


@cache
def grammar_of(name: str) -> Language | None:
    """Return the grammar of a language by any of its names; None if it has none here."""
    name = name.strip().lower().removeprefix("language-").removeprefix(".")
    grammar = _GRAMMARS.get(_ALIASES.get(name, name))
    if grammar is None:
        return None
    module, function = grammar
    pointer: object = getattr(importlib.import_module(module), function)()
    return Language(pointer)
