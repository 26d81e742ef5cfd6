"""`python -m api.reference`: the list of operations in `docs/reference/rest-api.md`, from the schema."""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api.application import PREFIX
from api.openapi import schema_text

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "rest-api.md"
MARK = "<!-- Generated from here on: `python -m api.reference` -->\n"

ACRONYMS = {"llm", "kb", "mcp", "ocr", "spu"}

Schema = dict[str, Any]


def page_with_operations(page: str) -> str:
    """Return the page with its list of operations replaced; the text above the mark stays."""
    return page.partition(MARK)[0] + MARK + operations_text(json.loads(schema_text()))


def operations_text(schema: Schema) -> str:
    """Return one table for each tag, with one line for each operation."""
    by_tag: dict[str, list[str]] = defaultdict(list)
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_row(schema, method.upper(), path, operation))
    lines = ["\n## Operations\n"]
    for tag, rows in sorted(by_tag.items()):
        lines += [f"\n### {_heading(tag)}\n", "\n| Call | Does | Takes |\n|---|---|---|\n", *rows]
    return "".join(lines)


def _heading(tag: str) -> str:
    """Return the tag as a heading: sentence case, acronyms in capitals."""
    words = [word.upper() if word in ACRONYMS else word for word in tag.split("-")]
    return " ".join([words[0][0].upper() + words[0][1:], *words[1:]])


def _row(schema: Schema, method: str, path: str, operation: Schema) -> str:
    summary = re.split(r"(?<=[.;:])\s", operation["description"], maxsplit=1)[0].rstrip(".;:")
    taken = ", ".join(f"`{name}`" for name in _taken(schema, operation))
    return f"| `{method} {path.removeprefix(PREFIX) or '/'}` | {summary.replace('|', chr(92) + '|')} | {taken} |\n"


def _taken(schema: Schema, operation: Schema) -> Iterator[str]:
    """Name the query parameters, headers, and fields of the body."""
    yield from (item["name"] for item in operation.get("parameters", ()) if item["in"] in ("query", "header"))
    content = operation.get("requestBody", {}).get("content", {})
    for media_type in ("multipart/form-data", "application/json"):
        if media_type in content:
            body = content[media_type]["schema"]
            name = body.get("$ref", "").rpartition("/")[2]
            yield from (schema["components"]["schemas"][name] if name else body)["properties"]
            return


def main() -> int:
    """Write the list into the page."""
    PAGE.write_text(page_with_operations(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
