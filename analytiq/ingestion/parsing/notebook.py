"""Jupyter notebooks: texts unchanged, code and its printed output as code."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import orjson

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.html import first_heading, hidden_warnings, write_html
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.markdown import write_markdown
from analytiq.ingestion.parsing.office_words import append_lost
from analytiq.ingestion.parsing.plain_text import without_control_sequences
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

MAX_OUTPUT_CHARACTERS = 20_000
"""Most output characters of one cell: hours of a training run's output say nothing about the notebook."""

_PRINTED_FORMS = ("text/plain", "text/markdown", "text/latex", "application/json")


class NotebookParser:
    """One page, without pictures and cell numbers."""

    content_types = ("application/x-ipynb+json",)
    extensions = (".ipynb",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the cells in order, including the worksheets of the older format."""
        try:
            decoded = decode_text(path.read_bytes())
            notebook = cast("object", orjson.loads(decoded.text))
        except ValueError as error:
            raise CorruptFileError(f"The notebook is damaged ({error}): save it again.") from error
        if not any(isinstance(_member(notebook, name), list) for name in ("cells", "worksheets")):
            raise CorruptFileError(
                "The file is not a notebook, since it has no cells: upload it as .json or save it again."
            )
        sheets = [notebook, *_mappings(_member(notebook, "worksheets"))]
        cells = [cell for sheet in sheets for cell in _mappings(_member(sheet, "cells"))]
        language = _language(notebook)
        builder = TextBuilder()
        hidden = sum(_write_cell(builder, cell, language) for cell in cells)
        appended = append_lost(builder, _pieces(cells))
        page = builder.page(1)
        report_progress(1, 1)
        warnings = (*_appended_warnings(appended), *decoded.warnings, *hidden_warnings(hidden), *_cut_warnings(cells))
        return ParsedDocument((page,), warnings, first_heading(page))


def _pieces(cells: list[dict[str, object]]) -> Iterator[str]:
    """Yield the sources of cells and what they printed, without the readers of cells; texts are compared as HTML."""
    for cell in cells:
        if cell.get("cell_type") != "markdown":
            yield _text(cell.get("source", cell.get("input")))
        outputs = _mappings(cell.get("outputs"))
        printed = [_text(output.get("text")) for output in outputs]
        if sum(len(_html_of(output)) or len(_printed(output)) for output in outputs) <= MAX_OUTPUT_CHARACTERS:
            yield from map(without_control_sequences, printed)


def _appended_warnings(words: int) -> tuple[str, ...]:
    return (f"{words} words of cells stand in unusual places; they are at the end of the text",) if words else ()


def _cut_warnings(cells: list[dict[str, object]]) -> Iterator[str]:
    """Yield a warning about outputs that are longer than what is read of them."""
    lengths = (
        sum(len(_html_of(output)) or len(_printed(output)) for output in _mappings(cell.get("outputs")))
        for cell in cells
    )
    cut = [length - MAX_OUTPUT_CHARACTERS for length in lengths if length > MAX_OUTPUT_CHARACTERS]
    if cut:
        yield (
            f"{sum(cut)} characters of the outputs of {len(cut)} cells not read: at most {MAX_OUTPUT_CHARACTERS} "
            "are read of each cell"
        )


def _write_cell(builder: TextBuilder, cell: dict[str, object], language: str) -> int:
    """Write a cell; return the number of hidden words that were left out."""
    source = _text(cell.get("source", cell.get("input"))).strip()
    kind = cell.get("cell_type")
    if kind == "code":
        builder.code(source, language=language)
        return _write_outputs(builder, _mappings(cell.get("outputs")))
    if kind == "heading":  # of the older format
        level = cell.get("level")
        builder.heading(source, level if isinstance(level, int) else 1)
        return 0
    if kind == "raw":
        builder.paragraph(source)
        return 0
    return write_markdown(builder, source)


def _write_outputs(builder: TextBuilder, outputs: list[dict[str, object]]) -> int:
    """Write what a cell printed: tables by their cells, the rest as it stands."""
    hidden = 0
    printed: list[str] = []
    left = MAX_OUTPUT_CHARACTERS
    for output in outputs:
        html = _html_of(output)
        if html and len(html) <= left:
            builder.code("\n".join(printed))
            printed.clear()
            hidden += write_html(builder, html_tree(html))
            left -= len(html)
        elif words := _printed(output)[: max(left, 0)]:
            printed.append(words)
            left -= len(words)
    builder.code("\n".join(printed))
    return hidden


def _html_of(output: dict[str, object]) -> str:
    """Return an output's HTML, if it is a table or the only form of the output."""
    html = _text(_member(output.get("data"), "text/html"))
    return html if "<table" in html[:MAX_OUTPUT_CHARACTERS] or not _printed(output) else ""


def _printed(output: dict[str, object]) -> str:
    """Return the words of an output: its plain form, without pages, pictures or coloured stack traces."""
    if output.get("output_type") in {"error", "pyerr"}:
        return f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    data = output.get("data")
    forms = (_text(_member(data, form)) for form in _PRINTED_FORMS)
    return without_control_sequences(_text(output.get("text")) or next(filter(None, forms), ""))


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
