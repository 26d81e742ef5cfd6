from pathlib import Path

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.csv import CsvParser


def read(tmp_path: Path, data: bytes) -> list[str]:
    path = tmp_path / "table.csv"
    path.write_bytes(data)
    return CsvParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0].text.split("\n")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_every_row_is_a_line_that_names_its_columns(tmp_path: Path, delimiter: str) -> None:
    rows = [["Team", "City", "Cups"], ["Blues", "St. Louis", "1"], ["Maple Leafs", "Toronto", "13"]]
    data = "\n".join(delimiter.join(row) for row in rows).encode()
    assert read(tmp_path, data) == [
        "Team | City | Cups",
        "Team: Blues; City: St. Louis; Cups: 1",
        "Team: Maple Leafs; City: Toronto; Cups: 13",
    ]


def test_delimiter_inside_quotes_does_not_mislead(tmp_path: Path) -> None:
    lines = read(tmp_path, b'name;note\n"A";"1,2,3"\n"B";"4,5,6"\n')
    assert lines[1:] == ["name: A; note: 1,2,3", "name: B; note: 4,5,6"]


def test_table_without_a_header_joins_its_values(tmp_path: Path) -> None:
    assert read(tmp_path, b"1,2.5,x\n2,3.5,y\n") == ["1 | 2.5 | x", "2 | 3.5 | y"]


def test_years_that_follow_one_another_are_names_of_columns(tmp_path: Path) -> None:
    assert read(tmp_path, b"Region,2022,2023\nNorth,5,6\nSouth,7,8\n")[1:] == [
        "Region: North; 2022: 5; 2023: 6",
        "Region: South; 2022: 7; 2023: 8",
    ]


@pytest.mark.parametrize("first", ["Bolt,2022,1999", "Bolt,2022,12", "2021,2022,2023", "Bolt,2022,2022"])
def test_years_among_data_are_no_names(tmp_path: Path, first: str) -> None:
    assert read(tmp_path, f"{first}\nNut,2020,2001\nCog,2018,2003\n".encode())[1] == "Nut | 2020 | 2001"


def test_first_row_that_comes_back_below_is_no_header(tmp_path: Path) -> None:
    assert read(tmp_path, b"red,yes\nblue,no\nred,no\n")[0] == "red | yes"
    assert read(tmp_path, b"red,yes\nblue,no\nred,no\n")[1] == "blue | no"


def test_line_break_inside_a_cell_keeps_the_row_on_one_line(tmp_path: Path) -> None:
    assert read(tmp_path, b'name,note\nA,"first\nsecond"\n')[1] == "name: A; note: first second"


def test_rows_longer_than_the_header_keep_their_values(tmp_path: Path) -> None:
    assert read(tmp_path, b"name,city\nA,B,extra\n")[1] == "name: A; city: B; extra"


def test_empty_cells_and_rows_leave_nothing_behind(tmp_path: Path) -> None:
    assert read(tmp_path, b"name,city,note\n,,\nA,,x\n\n") == ["name | city | note", "name: A; note: x"]


def test_note_of_excel_names_the_delimiter_and_is_not_text(tmp_path: Path) -> None:
    assert read(tmp_path, b"sep=;\nname;city\nA;B\n") == ["name | city", "name: A; city: B"]


def test_utf16_table_as_excel_writes_it_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "Name\tOrt\nJürgen\tKöln\n".encode("utf-16"))[1] == "Name: Jürgen; Ort: Köln"


def test_single_column_is_a_list(tmp_path: Path) -> None:
    assert read(tmp_path, b"apples\npears\n") == ["apples", "pears"]


def test_quote_that_never_closes_still_gives_its_text(tmp_path: Path) -> None:
    assert "x y z" in " ".join(read(tmp_path, b'a,b\n"x\ny\nz\n'))


def test_title_above_the_header_is_a_caption(tmp_path: Path) -> None:
    lines = read(tmp_path, b"Quarterly report,,\nRegion,Item,Fee\nNorth,Boat,11\nSouth,Barge,12\n")
    assert lines == [
        "Quarterly report",
        "",
        "Region | Item | Fee",
        "Region: North; Item: Boat; Fee: 11",
        "Region: South; Item: Barge; Fee: 12",
    ]


def test_name_that_occurs_twice_above_numbers_is_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, b"name,value,value\nx,1,2\n")[1] == "name: x; value: 1; value: 2"


def test_comma_in_a_list_of_names_divides_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, b"Name\nAnn\nBob, Jr\nCy\n") == ["Name", "Ann", "Bob, Jr", "Cy"]


def test_tabs_divide_rows_whose_cells_have_commas(tmp_path: Path) -> None:
    assert read(tmp_path, b"name\tnote\nA\t1,2,3\nB\t4,5,6\n")[1] == "name: A; note: 1,2,3"


def test_quote_before_more_than_a_cell_may_hold_is_a_character(tmp_path: Path) -> None:
    lines = read(tmp_path, b'name,note\nA,"5\n' + (b"B," + b"x" * 100_000 + b"\n") * 110)
    assert lines[1] == 'name: A; note: "5'
    assert len(lines) == 112


def test_rows_are_ranges_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"name,city\nA,Ulm\nB,Bonn\n")
    page = CsvParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0]
    table = page.blocks[0].table
    assert table is not None
    assert table.header == ("name", "city")
    assert [page.text[start:end] for start, end in table.rows] == ["name: A; city: Ulm", "name: B; city: Bonn"]
