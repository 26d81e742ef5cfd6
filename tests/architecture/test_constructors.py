"""Constructors take at most four arguments; what needs more takes an object that has them."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_ARGUMENTS = 4


def longer_constructors(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                count = len(method.args.args) - 1 + len(method.args.kwonlyargs)
                if count > MOST_ARGUMENTS:
                    found.add(node.name)
    return found


def test_constructors_take_at_most_four_arguments() -> None:
    paths = [path for room in ("analytiq", "api", "workers", "reconciler") for path in (ROOT / room).rglob("*.py")]
    assert len(paths) > 300
    assert not {name for path in paths for name in longer_constructors(path.read_text())}


def test_a_fifth_argument_is_seen() -> None:
    assert longer_constructors("class A:\n def __init__(self, a, b, c, *, d, e): ...") == {"A"}
    assert longer_constructors("class A:\n def __init__(self, a, b, c, *, d): ...") == set()
