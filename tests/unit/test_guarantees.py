"""References of docs/guarantees.md exist: a promise whose test was renamed or removed is only a claim."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = re.compile(r"`((?:analytiq|tests)/[\w/]+\.py)(?:::(\w+))?`")


@cache
def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_file_and_every_test_that_is_named_exists() -> None:
    named = NAMED.findall(GUARANTEES)
    missing = [path for path, _ in named if not (ROOT / path).is_file()]
    assert missing == []
    missing = [f"{path}::{name}" for path, name in named if name and name not in functions_of(ROOT / path)]
    assert missing == []


def test_every_promise_has_a_mechanism_and_a_proof() -> None:
    rows = [line.strip("|").split("|") for line in GUARANTEES.splitlines() if line.startswith("| ")]
    promises = [row for row in rows if len(row) == 3 and row[0].strip() != "Promise"]  # invariants have four columns
    assert len(promises) > 20
    for promise, mechanism, proof in promises:
        assert promise.strip().endswith("."), promise
        assert mechanism.strip(), promise
        tests = [name for _, name in NAMED.findall(proof) if name]
        assert tests, f"no test proves: {promise}"
        assert all(name.startswith("test_") for name in tests)
