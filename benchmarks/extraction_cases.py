"""Files with expectations, in three layouts.

    {directory}/index.tsv, expectations.tsv   `file`, …, and in the last column a phrase that the text holds, `@EMPTY`,
                                              `@ERROR`, `@PASSWORD …` (refused) or `@GARBAGE` (any text)
    {directory}/index.jsonl                   {"file": …, "must": […], "must_not": […]} a line, optionally "error",
                                              "pages" and "warning"; the files are in `files/`
    {directory}/truth*.json                   {name: {"tables": [[[cell, …], …], …], "headings": [[text, level], …]}};
                                              a name without an ending is a PDF, anywhere below the directory

A file in several layouts is one case with all expectations.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ANY_ERROR = "any"
_PHRASES = ("index.tsv", "expectations.tsv")
_NUMBER = re.compile(r"^\d+-")


@dataclass(frozen=True, slots=True)
class Case:
    """A file and its expectations; None for what is not stated.

    Attributes:
        name: the name of the upload, by which formats without a signature are told.
        kind: the kind of file in the tables: its directory, or the ending of its name.
        is_loose: phrases are compared without any white space and emphasis.
        error: the code of the expected error, or `ANY_ERROR`.
    """

    path: Path
    name: str
    kind: str
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    is_loose: bool = False
    is_empty: bool = False
    error: str | None = None
    pages: int | None = None
    warning: str | None = None
    tables: tuple[Sequence[Sequence[str]], ...] | None = None
    headings: tuple[tuple[str, int], ...] | None = None


def cases_in(directories: Sequence[Path]) -> list[Case]:
    """Read the cases of all directories, in order; of a directory without a layout, those of its subdirectories.

    Raises:
        SystemExit: a directory has none of the layouts.
    """
    cases: list[Case] = []
    for directory in map(Path.resolve, directories):
        inside = sorted(path for path in directory.iterdir() if path.is_dir()) if directory.is_dir() else []
        found = _cases_of(directory) or [case for path in inside for case in _cases_of(path)]
        if not found:
            raise SystemExit(f"{directory} has no index.tsv, expectations.tsv, index.jsonl or truth*.json.")
        cases += found
    return cases


def _cases_of(directory: Path) -> list[Case]:
    cases = {case.path: case for case in (*_with_phrases(directory), *_with_conditions(directory))}
    for case in _with_truth(directory):
        known = cases.get(case.path, case)
        cases[case.path] = replace(known, tables=case.tables, headings=case.headings)
    return list(cases.values())


def _with_phrases(directory: Path) -> Iterator[Case]:
    for name in _PHRASES:
        path = directory / name
        if not path.is_file():
            continue
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
            next(rows)
            for row in rows:
                yield _with_phrase(directory / row[0], row[-1])


def _with_phrase(path: Path, expected: str) -> Case:
    case = Case(path, path.name, path.parent.name, is_loose=True)
    if expected.startswith(("@ERROR", "@PASSWORD")):
        return replace(case, error=ANY_ERROR)
    if expected == "@EMPTY":
        return replace(case, is_empty=True)
    return case if expected == "@GARBAGE" else replace(case, must=(expected,))


def _with_conditions(directory: Path) -> Iterator[Case]:
    path = directory / "index.jsonl"
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip():
            continue
        row: dict[str, Any] = json.loads(line)
        name = str(row["file"])
        yield Case(
            directory / "files" / name,
            _NUMBER.sub("", name),
            _ending(name),
            must=tuple(row.get("must") or ()),
            must_not=tuple(row.get("must_not") or ()),
            error=row.get("error"),
            pages=row.get("pages"),
            warning=row.get("warning"),
        )


def _with_truth(directory: Path) -> Iterator[Case]:
    for truth in sorted(directory.glob("truth*.json")):
        rows: dict[str, dict[str, Any]] = json.loads(truth.read_text(encoding="utf-8"))
        for name, row in rows.items():
            wanted = name if Path(name).suffix else f"{name}.pdf"
            path = directory / wanted
            if not path.is_file():
                path = next(iter(sorted(directory.rglob(wanted))), path)
            headings = row.get("headings")
            yield Case(
                path,
                path.name,
                _ending(path.name),
                tables=tuple(row["tables"]),
                headings=None if headings is None else tuple((str(text), int(level)) for text, level in headings),
            )


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else "none"
