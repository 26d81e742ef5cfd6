"""Errors are sentences: they begin with a capital or a quoted name, and end with a full stop."""

import ast
from collections.abc import Iterator
from pathlib import Path

from analytiq import errors

ROOT = Path(__file__).parents[2]
PACKAGES = ("analytiq", "api", "workers", "reconciler")
ERRORS = {
    name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, errors.AnalytiqError)
}
OPENINGS = ("'", '"', "`", "-")  # a quoted name, or a command's option
HOLE = "\N{REPLACEMENT CHARACTER}"  # an interpolated value


def called(call: ast.Call) -> ast.expr | None:
    """Return the argument with the text: the detail of an error, or the reason of a field's error."""
    match call.func:
        case ast.Attribute(attr="of_field") if len(call.args) > 1:
            return call.args[1]
        case ast.Name(id="FieldError") if len(call.args) > 1:
            return call.args[1]
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in ERRORS and call.args:
            return call.args[0]
        case _:
            return None


def text_of(node: ast.expr | None) -> str | None:
    """Return a literal's text with HOLE for each interpolated value; None for any other expression."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(str(part.value) if isinstance(part, ast.Constant) else opening(part) for part in values)
        case _:
            return None


def opening(part: ast.expr) -> str:
    """Return a quotation mark with a value interpolated by its `repr`, else the bare value."""
    return f"'{HOLE}'" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else HOLE


def is_sentence(text: str) -> bool:
    """Return True for a capital, a value or a quoted name at the start, a full stop or an error at the end."""
    start = text[0].isupper() or text.startswith((*OPENINGS, HOLE))
    return start and text.endswith((".", "?", f". {HOLE}", f": {HOLE}"))


def raised_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each error written as a literal or an f-string."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and (text := text_of(called(node))):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def test_every_error_is_a_sentence() -> None:
    assert [f"{place}: {text}" for place, text in raised_texts() if not is_sentence(text)] == []
