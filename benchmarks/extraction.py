"""Extraction quality: phrases, pages, blocks, tables by cell, errors and seconds, by kind of file.

    make eval-extraction [DIRECTORIES="DIRECTORY …"] [EVALUATION_ARGUMENTS="--json FILE --kind pdf"]
    python -m benchmarks.extraction [DIRECTORY …] [--kind KIND …] [--json FILE] [--slots N]

Each file goes through the product's type detection and its parser in the sandbox, in this process's children; no server
and no database run. `benchmarks.extraction_cases` describes the layouts of a directory; the default is the repository's
own samples.
"""

import argparse
import asyncio
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import hints_of
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.sandbox import detect_in_child, parse_in_child
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import DocumentText, join_pages
from benchmarks import report
from benchmarks.extraction_cases import ANY_ERROR, Case, cases_in
from benchmarks.table_measures import Table, adjacent_pairs, exact_cells, f1, normalized

SAMPLES = Path(__file__).parents[1] / "tests" / "data"
_LOOSE = re.compile(r"[\s*]+")
_BLANKS = re.compile(r"\s+")


@dataclass(slots=True)
class Outcome:
    """A file's extraction. `problems`: unmet expectations; the measures are None where nothing is known."""

    case: Case
    seconds: float = 0.0
    error: str | None = None
    page_count: int = 0
    blocks: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    found_phrases: int = 0
    found_unwanted: int = 0
    table_count: int = 0
    exact: float | None = None
    adjacency: float | None = None
    headings: tuple[int, int, int] | None = None
    """Right, found and true headings."""


async def extract(case: Case) -> Outcome:
    """Extract one file and compare it with its expectations."""
    outcome = Outcome(case)
    text, warnings = DocumentText("", ()), ()
    begin = perf_counter()
    try:
        content_type = await detect_in_child(case.path, hints_of(case.name))
        parsed = await parse_in_child(
            case.path, content_type=content_type, options=ParseOptions(), limits=ParseLimits()
        )
        text, warnings = join_pages(parsed.pages, title=parsed.title), parsed.warnings
    except AnalytiqError as error:
        outcome.error = error.code
    outcome.seconds = perf_counter() - begin
    outcome.page_count = len(text.pages)
    outcome.blocks.update(block.kind.value for block in text.blocks)
    _compare_text(outcome, text.text, warnings)
    _compare_structure(outcome, text)
    return outcome


def _compare_text(outcome: Outcome, text: str, warnings: Sequence[str]) -> None:
    case, problems = outcome.case, outcome.problems
    whole = _comparable(text, is_loose=case.is_loose)
    if case.error is not None:
        if outcome.error is None or case.error not in (ANY_ERROR, outcome.error):
            problems.append(f"error {outcome.error} instead of {case.error}")
        return
    if outcome.error is not None:
        problems.append(f"error {outcome.error}")
        return
    missing = [one for one in case.must if _comparable(one, is_loose=case.is_loose) not in whole]
    unwanted = [one for one in case.must_not if _comparable(one, is_loose=case.is_loose) in whole]
    outcome.found_phrases = len(case.must) - len(missing)
    outcome.found_unwanted = len(unwanted)
    problems += [f"lacks {one!r}" for one in missing] + [f"holds {one!r}" for one in unwanted]
    if case.is_empty and whole.strip():
        problems.append("has a text")
    if case.pages is not None and outcome.page_count != case.pages:
        problems.append(f"{outcome.page_count} pages instead of {case.pages}")
    if case.warning is not None and not any(case.warning in warning for warning in warnings):
        problems.append(f"no warning about {case.warning!r}")


def _comparable(text: str, *, is_loose: bool) -> str:
    if is_loose:
        return _LOOSE.sub("", unicodedata.normalize("NFKC", text))
    return _BLANKS.sub(" ", text)


def _compare_structure(outcome: Outcome, text: DocumentText) -> None:
    case = outcome.case
    tables = [table_of(block, text.text) for block in text.blocks if block.table is not None]
    outcome.table_count = len(tables)
    if case.tables is not None:
        outcome.exact = f1(exact_cells(case.tables), exact_cells(tables))
        outcome.adjacency = f1(adjacent_pairs(case.tables), adjacent_pairs(tables))
    if case.headings is not None:
        found = {
            normalized(text.text[block.start : block.end]) for block in text.blocks if block.kind is BlockKind.HEADING
        }
        wanted = {normalized(heading) for heading, _ in case.headings}
        outcome.headings = (len(found & wanted), len(found), len(wanted))


def table_of(block: Block, text: str) -> Table:
    """Return the cells of a table's block: its header, and each row by the names of the columns."""
    shape = block.table
    if shape is None:
        return []
    rows = [cells_of(text[start:end], shape.header) for start, end in shape.rows]
    return [list(shape.header), *rows] if shape.header else rows


def cells_of(line: str, header: Sequence[str]) -> list[str]:
    """Return the cells of a row's line, `name: value; name: value`, or `value | value` without a header.

    A value ends where the next `; ` is followed by the name of a later column; one without a name belongs to the next
    column without a name.
    """
    if not header:
        return line.split(" | ")
    cells = [""] * len(header)
    column, last = 0, -1
    for part in line.split("; "):
        found = next(
            (at for at in range(column, len(header)) if header[at] and part.startswith(f"{header[at]}: ")), None
        )
        if found is not None:
            cells[found] = part[len(header[found]) + 2 :]
        elif (nameless := next((at for at in range(column, len(header)) if not header[at]), None)) is not None:
            cells[nameless], found = part, nameless
        elif last >= 0:
            cells[last] += f"; {part}"
            continue
        else:
            continue
        column, last = found + 1, found
    return cells


async def extract_all(cases: Sequence[Case], *, slots: int) -> list[Outcome]:
    """Extract all files, a few at a time, with progress on standard error."""
    gate, done = asyncio.Semaphore(slots), 0

    async def one(case: Case) -> Outcome:
        nonlocal done
        async with gate:
            outcome = await extract(case)
        done += 1
        if done % 25 == 0:
            print(f"  {done} of {len(cases)} files", file=sys.stderr, flush=True)
        return outcome

    return list(await asyncio.gather(*(one(case) for case in cases)))


def print_report(outcomes: Sequence[Outcome]) -> None:
    """Print what is wrong, and the tables by kind of file."""
    for outcome in outcomes:
        if outcome.problems:
            print(f"{outcome.case.kind}/{outcome.case.path.name}: {'; '.join(outcome.problems)}"[:240])
    kinds = {kind: [one for one in outcomes if one.case.kind == kind] for kind in _kinds(outcomes)}
    rows = [_row(kind, those) for kind, those in kinds.items()]
    print()
    report.print_table(
        ("kind", "files", "right", "phrases", "unwanted", "refused", "pages", "seconds", "slowest"),
        [*rows, _row("all", outcomes)],
    )
    print()
    names = [kind.value for kind in BlockKind]
    report.print_table(
        ("blocks of", *names),
        [[kind, *(str(sum(one.blocks[name] for one in those)) for name in names)] for kind, those in kinds.items()],
    )
    _print_tables([one for one in outcomes if one.exact is not None])


def _kinds(outcomes: Sequence[Outcome]) -> list[str]:
    return sorted({one.case.kind for one in outcomes})


def _row(kind: str, outcomes: Sequence[Outcome]) -> list[str]:
    return [
        kind,
        str(len(outcomes)),
        str(sum(not one.problems for one in outcomes)),
        f"{sum(one.found_phrases for one in outcomes)} of {sum(len(one.case.must) for one in outcomes)}",
        str(sum(one.found_unwanted for one in outcomes)),
        str(sum(one.error is not None for one in outcomes)),
        str(sum(one.page_count for one in outcomes)),
        f"{sum(one.seconds for one in outcomes):.1f}",
        f"{max(one.seconds for one in outcomes):.2f}",
    ]


def _print_tables(outcomes: Sequence[Outcome]) -> None:
    """Print the measures of files with known tables; a file of prose counts its false tables."""
    if not outcomes:
        return
    print()
    report.print_table(
        ("tables of", "true", "found", "exact cells F1", "adjacency F1", "headings right, found, true"),
        [
            [
                one.case.path.name,
                str(len(one.case.tables or ())),
                str(one.table_count),
                f"{one.exact:.3f}" if one.case.tables else "",
                f"{one.adjacency:.3f}" if one.case.tables else "",
                ", ".join(map(str, one.headings)) if one.headings else "",
            ]
            for one in outcomes
        ],
    )
    summary = summary_of(outcomes)
    print(
        f"\nMean of {summary['table_files']} files with tables: exact cells F1 {summary['exact_f1']}, adjacency F1"
        f" {summary['adjacency_f1']}; {summary['false_tables']} false tables in files without one; headings: precision"
        f" {summary['heading_precision']}, recall {summary['heading_recall']}"
    )


def summary_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the totals of all files."""
    tables = [one for one in outcomes if one.case.tables]
    right, found, true = (sum(one.headings[at] for one in outcomes if one.headings) for at in range(3))
    return {
        "files": len(outcomes),
        "right": sum(not one.problems for one in outcomes),
        "seconds": round(sum(one.seconds for one in outcomes), 2),
        "table_files": len(tables),
        "exact_f1": _mean([one.exact or 0.0 for one in tables]),
        "adjacency_f1": _mean([one.adjacency or 0.0 for one in tables]),
        "false_tables": sum(one.table_count for one in outcomes if one.case.tables == ()),
        "heading_precision": round(right / found, 3) if found else None,
        "heading_recall": round(right / true, 3) if true else None,
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return everything measured, for comparison between releases."""
    files = [
        {
            "file": str(one.case.path),
            "kind": one.case.kind,
            "seconds": round(one.seconds, 3),
            "error": one.error,
            "pages": one.page_count,
            "blocks": dict(one.blocks),
            "tables": one.table_count,
            "exact_f1": one.exact,
            "adjacency_f1": one.adjacency,
            "headings": one.headings,
            "problems": one.problems,
        }
        for one in outcomes
    ]
    return {"summary": summary_of(outcomes), "files": files}


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description="Extraction quality of files with expectations.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("directories", nargs="*", type=Path, default=[SAMPLES], help="directories with expectations")
    parser.add_argument("--kind", nargs="+", help="only these kinds of files")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--slots", type=int, default=2, help="files that are read at once")
    options = parser.parse_args(argv)
    cases = [case for case in cases_in(options.directories) if not options.kind or case.kind in options.kind]
    if not cases:
        raise SystemExit(f"No file has a kind of {', '.join(options.kind)}.")
    outcomes = asyncio.run(extract_all(cases, slots=options.slots))
    report.print_heading("Extraction quality by kind of file")
    print_report(outcomes)
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(outcomes), ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
