"""Jupyter notebooks: texts unchanged, code and its printed output as code."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import orjson

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.models.text import ParsedDocument, ParsedPage

MAX_OUTPUT_CHARACTERS = 20_000
"""Most output characters of one cell: hours of a training run's output say nothing about the notebook."""


class NotebookParser:
    """One page of Markdown, without pictures and cell numbers."""

    content_types = ("application/x-ipynb+json",)
    extensions = (".ipynb",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the cells in order, including the worksheets of the older format."""
        try:
            notebook = cast("object", orjson.loads(decode_text(path.read_bytes()).text))
        except ValueError as error:
            raise CorruptFileError(f"The notebook is damaged ({error}): save it again.") from error
        if not any(isinstance(_member(notebook, name), list) for name in ("cells", "worksheets")):
            raise CorruptFileError(
                "The file is not a notebook, since it has no cells: upload it as .json or save it again."
            )
        sheets = [notebook, *_mappings(_member(notebook, "worksheets"))]
        cells = [cell for sheet in sheets for cell in _mappings(_member(sheet, "cells"))]
        language = _language(notebook)
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, "\n\n".join(part for cell in cells for part in _parts(cell, language))),))


def _parts(cell: dict[str, object], language: str) -> Iterator[str]:
    source = _text(cell.get("source", cell.get("input"))).strip()
    if cell.get("cell_type") != "code":
        yield from filter(None, [source])
        return
    if source:
        yield f"```{language}\n{source}\n```"
    printed = "\n".join(filter(None, map(_printed, _mappings(cell.get("outputs"))))).strip()
    if printed:
        yield f"```\n{printed[:MAX_OUTPUT_CHARACTERS]}\n```"


def _printed(output: dict[str, object]) -> str:
    """Return the words of an output: its plain form, without pages, pictures or coloured stack traces."""
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    return _text(output.get("text")) or _text(_member(output.get("data"), "text/plain"))


def _language(notebook: object) -> str:
    metadata = _member(notebook, "metadata")
    name = _text(_member(_member(metadata, "language_info"), "name"))
    return name if name.isalnum() else ""


def _text(value: object) -> str:
    """Return a text that may be stored as a list of its lines."""
    if isinstance(value, list):
        return "".join(line for line in cast("list[object]", value) if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _member(value: object, name: str) -> object:
    return cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None


def _mappings(value: object) -> list[dict[str, object]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
