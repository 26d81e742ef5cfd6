"""First words of docstrings and descriptions: nouns and imperative verbs, no questions."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytiq", "api", "workers", "reconciler", "benchmarks", "scripts", "tests")
QUESTION = re.compile(r"(What|Whether|How|Who|Whom|Whose|Which|Where|When|Why)\b")
SHOWN_TO_PEOPLE = ("description", "help", "summary", "title")


def texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the lines and texts of docstrings, those of fields too, and of descriptions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg in SHOWN_TO_PEOPLE):
            text = node.value
        else:
            continue
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.lineno, text.value


def questions_in(source: str) -> list[int]:
    """Return the lines of texts that begin like a question."""
    return [line for line, text in texts_of(ast.parse(source)) if QUESTION.match(text.strip())]


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_a_verb_or_a_noun(package: str) -> None:
    files = [file for file in (ROOT / package).rglob("*.py") if ROOT / "tests" / "data" not in file.parents]
    found = [f"{file.relative_to(ROOT)}:{line}" for file in files for line in questions_in(file.read_text())]
    assert files
    assert not found, "begin with an imperative verb or a noun: see CONTRIBUTING.md"


def test_rule_finds_questions_in_modules_functions_fields_and_descriptions() -> None:
    source = '''"""What it is."""

def ask():
    """Whether it is."""

class Settings:
    """The settings."""

    limit: int = 3
    """How many."""
    name: str = Field(description="Who may read it")
    whatever: str = Field(description="Whatever is given")
'''
    assert questions_in(source) == [1, 4, 10, 11]
