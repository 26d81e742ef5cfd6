"""Merged cells: the value of a span over all the cells that it covers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analytiq.ingestion.parsing.sheet_text import CellBudget

_NO_COLUMN = 1 << 30


@dataclass(frozen=True, slots=True)
class Span:
    """A merged cell that begins in a row at `column` (from 0)."""

    column: int
    columns: int = 1
    rows: int = 1


@dataclass(frozen=True, slots=True)
class SpannedRow:
    """The cells of a row, "" where a span covers them, and the spans that begin in the row."""

    cells: Sequence[str]
    spans: Sequence[Span] = ()


@dataclass(slots=True)
class _OpenSpan:
    span: Span
    value: str
    rows_left: int


def filled_rows(rows: Iterable[SpannedRow], budget: CellBudget) -> Iterator[list[str]]:
    """Yield the rows with the values of merged cells in every cell of their span.

    A span alone in its row, as wide as the table below begins, is a title: its value stays single. Rows that consist
    of nothing but the cells of spans from above are left out.
    """
    open_spans: list[_OpenSpan] = []
    held: tuple[list[str], Span] | None = None
    for row in rows:
        cells = list(row.cells)
        if held is not None:
            yield held[0] if _first_filled(cells) >= held[1].column else _fill(held[0], held[1], budget)
            held = None
        budget.spend(len(open_spans))
        has_own = any(cells)
        is_covered = bool(open_spans) and not has_own
        for carried in open_spans:
            carried.rows_left -= 1
            if has_own:
                _put(cells, carried.span, carried.value, budget)
        own = [span for span in row.spans if span.column < len(cells) and cells[span.column]]
        title = own[0] if len(own) == 1 and not open_spans and _filled(cells) == 1 and own[0].columns > 1 else None
        open_spans = [carried for carried in open_spans if carried.rows_left > 0]
        open_spans += (_OpenSpan(span, cells[span.column], span.rows - 1) for span in own if span.rows > 1)
        if is_covered:
            continue
        if title is not None:
            held = (cells, title)
            continue
        for span in own:
            _put(cells, span, cells[span.column], budget)
        yield cells
    if held is not None:
        yield held[0]


def _fill(cells: list[str], span: Span, budget: CellBudget) -> list[str]:
    _put(cells, span, cells[span.column], budget)
    return cells


def _put(cells: list[str], span: Span, value: str, budget: CellBudget) -> None:
    budget.spend(span.columns)
    end = span.column + span.columns
    cells.extend([""] * (end - len(cells)))
    for column in range(span.column, end):
        cells[column] = cells[column] or value


def _first_filled(cells: Sequence[str]) -> int:
    return next((column for column, cell in enumerate(cells) if cell), _NO_COLUMN)


def _filled(cells: Sequence[str]) -> int:
    return sum(1 for cell in cells if cell)
