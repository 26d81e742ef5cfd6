import json
from pathlib import Path

import pytest

from analytiq.models.blocks import Block, BlockKind, TableShape
from benchmarks.extraction import SAMPLES, as_json, cells_of, extract_all, table_of
from benchmarks.extraction_cases import cases_in
from benchmarks.table_measures import adjacent_pairs, exact_cells, f1

PRICES = [["Article", "", "Price"], ["P-1", "blue", "3.50"], ["P-2", "", ""]]


def test_a_table_is_as_good_as_itself_and_worse_with_a_shifted_cell() -> None:
    assert f1(exact_cells([PRICES]), exact_cells([PRICES])) == 1.0
    assert f1(adjacent_pairs([PRICES]), adjacent_pairs([PRICES])) == 1.0
    shifted = [PRICES[0], ["P-1", "3.50", "blue"], PRICES[2]]
    assert f1(exact_cells([PRICES]), exact_cells([shifted])) < 1.0
    assert f1(exact_cells([PRICES]), exact_cells([])) == 0.0


def test_empty_rows_and_columns_blanks_and_hyphens_do_not_count() -> None:
    loose = [["Arti\xadcle", "", "", "Price "], ["P1", "blue", "", "3.50"], ["", "", "", ""], ["P-2", "", "", ""]]
    assert f1(exact_cells([PRICES]), exact_cells([loose])) == 1.0


@pytest.mark.parametrize(
    ("line", "header", "cells"),
    [
        ("a: 1; b: 2", ("a", "b"), ["1", "2"]),
        ("b: 2", ("a", "b"), ["", "2"]),
        ("a: one; two; b: x: y", ("a", "b"), ["one; two", "x: y"]),
        ("blue; a: 1", ("", "a"), ["blue", "1"]),
        ("1 | 2", (), ["1", "2"]),
    ],
)
def test_cells_are_read_from_the_line_of_a_row(line: str, header: tuple[str, ...], cells: list[str]) -> None:
    assert cells_of(line, header) == cells


def test_a_table_block_gives_its_header_and_rows() -> None:
    text = "a | b\na: 1; b: 2"
    block = Block(BlockKind.TABLE, 0, len(text), table=TableShape(("a", "b"), ((6, len(text)),)))
    assert table_of(block, text) == [["a", "b"], ["1", "2"]]


def test_every_layout_is_read_and_a_directory_without_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "01-a.txt").write_text("yes")
    (tmp_path / "index.jsonl").write_text(json.dumps({"file": "01-a.txt", "must": ["yes"], "must_not": ["no"]}))
    (tmp_path / "index.tsv").write_text("file\texpected\ntext/b.txt\t@EMPTY\n")
    (tmp_path / "truth.json").write_text(json.dumps({"01-a.txt": {"tables": [], "headings": [["H", 1]]}}))
    by_name = {case.name: case for case in cases_in([tmp_path])}
    assert by_name["a.txt"].must_not == ("no",)
    assert by_name["a.txt"].headings == (("H", 1),)
    assert by_name["b.txt"].is_empty
    with pytest.raises(SystemExit, match=r"index\.tsv"):
        cases_in([tmp_path / "files"])


@pytest.mark.slow
async def test_samples_of_the_repository_are_measured() -> None:
    cases = [case for case in cases_in([SAMPLES]) if case.kind in {"csv", "json", "xls", "xlsx"}]
    figures = as_json(await extract_all(cases, slots=2))
    assert [file["problems"] for file in figures["files"]] == [[]] * len(cases)
    assert figures["summary"]["table_files"] == 2
    assert {file["error"] for file in figures["files"] if file["kind"] == "csv"} == {None}


async def test_an_unmet_expectation_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("something else")
    (tmp_path / "index.tsv").write_text("file\texpected\na.txt\tneedle\n")
    (outcome,) = await extract_all(cases_in([tmp_path]), slots=1)
    assert outcome.problems == ["lacks 'needle'"]
