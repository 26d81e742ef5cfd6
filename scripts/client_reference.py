"""`python -m scripts.client_reference`: writes `docs/reference/python-client.md` from the client."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args, get_origin

from analytiq.client.client import Operations
from analytiq.client.operations import listing, operation
from analytiq.client.problem_codes import BY_CODE
from analytiq.client.problems import STATUS_CLASSES
from analytiq.client.steps import Emit

Method = operation[..., object] | listing[..., object]

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python-client.md"
MARK = "<!-- Generated from here on: `python -m scripts.client_reference` -->\n"


def page_with_reference(page: str) -> str:
    """Return the page with its lists replaced; the text above the mark stays."""
    return page.partition(MARK)[0] + MARK + "".join([*_operations(), *_errors()])


def _operations() -> Iterator[str]:
    yield "\n## Operations\n"
    for group in Operations.__bases__:
        yield f"\n### {(group.__doc__ or '').partition('.')[0]}\n\n| Method | Does |\n|---|---|\n"
        for name, member in vars(group).items():
            if isinstance(member, operation | listing):
                method = cast("Method", member)
                does = _first_sentence(method.__doc__ or "")
                yield f"| `{name}({_arguments(method)})` → `{_result(method)}` | {does} |\n"


def _arguments(method: Method) -> str:
    parameters = list(inspect.signature(method.describe).parameters.values())[1:]
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        prefix = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
        names.append(prefix + parameter.name + ("" if parameter.default is inspect.Parameter.empty else "=…"))
    return ", ".join(names)


def _result(method: Method) -> str:
    returned = inspect.signature(method.describe).return_annotation
    if isinstance(returned, str):
        return returned.removeprefix("Flow[").removesuffix("]")
    yielded, _, result = get_args(returned)
    if isinstance(method, operation):
        return _name(result)
    emitted = next(kind for kind in get_args(yielded) if get_origin(kind) is Emit)
    return f"iterator of {_name(get_args(emitted)[0])}"


def _name(kind: object) -> str:
    text = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace("NoneType", "None").replace("|", "or")


def _first_sentence(text: str) -> str:
    return " ".join(re.split(r"(?<=[.;:])\s", text, maxsplit=1)[0].split()).rstrip(".;:").replace("|", "\\|")


def _errors() -> Iterator[str]:
    yield "\n## Errors\n\n`from analytiq.client.problems import …` has a class for each status.\n"
    yield "`from analytiq.client.problem_codes import …` has the classes of codes, each below that of its status.\n"
    yield "\n| Status | Code | Class | Meaning |\n|---|---|---|---|\n"
    for base in STATUS_CLASSES:
        own = vars(base).get("code")
        yield f"| {base.http_status} | {f'`{own}`' if own else ''} | `{base.__name__}` | {base.__doc__} |\n"
        below = sorted((code, kind) for code, kind in BY_CODE.items() if kind.__base__ is base)
        yield from (f"| {base.http_status} | `{code}` | `{kind.__name__}` | {kind.__doc__} |\n" for code, kind in below)


if __name__ == "__main__":
    PAGE.write_text(page_with_reference(PAGE.read_text()))
