from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError, UnsupportedFormatError
from analytiq.ingestion.parsing import sheet_text
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.xlsx import XlsxParser
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.test_formats import write_compound

Fill = Callable[[Workbook], None]


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[Fill], ParsedDocument]:
    """Writes a workbook as the function fills it, and reads it."""

    def parsed(fill: Fill) -> ParsedDocument:
        book = Workbook()
        fill(book)
        book.save(tmp_path / "book.xlsx")
        return read(tmp_path / "book.xlsx")

    return parsed


def read(path: Path, **options: Any) -> ParsedDocument:
    return XlsxParser().parse(path, ParseOptions(**options), lambda done, total: None)


def rewrite(path: Path, part: str, change: Callable[[bytes], bytes]) -> None:
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = change(parts[part])
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_each_sheet_is_a_page_that_begins_with_its_name(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        book.worksheets[0].title = "Prices"
        book.worksheets[0].append(["Fruit", "Price"])
        book.worksheets[0].append(["Quince", 3.5])
        book.create_sheet("Stock").append(["nothing", "left"])

    document = parse(fill)
    assert [page.text for page in document.pages] == [
        "# Prices\n\nFruit | Price\nFruit: Quince; Price: 3.5",
        "# Stock\n\nnothing | left",
    ]
    assert [page.page_number for page in document.pages] == [1, 2]


def test_hidden_sheets_are_left_out_and_named(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        book.worksheets[0].append(["open"])
        for title, state in (("Salaries", "hidden"), ("Keys", "veryHidden")):
            sheet = book.create_sheet(title)
            sheet.append(["secret"])
            sheet.sheet_state = state

    document = parse(fill)
    assert len(document.pages) == 1
    assert "secret" not in document.pages[0].text
    assert "'Salaries', 'Keys'" in document.warnings[0]


def test_title_above_a_table_is_not_taken_for_the_name_of_its_column(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        for row in (["Report of the year"], [], ["City", "People"], ["Ulm", 126_000], [], ["Bonn", 336_000]):
            book.worksheets[0].append(row)

    lines = parse(fill).pages[0].text.splitlines()[2:]
    assert lines == [
        "Report of the year",
        "",
        "City | People",
        "City: Ulm; People: 126000",
        "City: Bonn; People: 336000",
    ]


def test_names_below_a_row_that_groups_them_are_the_names(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        for row in (
            ["In millions", None, "June", None, "May"],
            [None, "Sales", "Tax", "Sales", "Tax"],
            [],
            ["Ulm", 12, 3, 9, 2],
        ):
            book.worksheets[0].append(row)

    assert parse(fill).pages[0].text.splitlines()[-1] == "Ulm; Sales: 12; Tax: 3; Sales: 9; Tax: 2"


def test_first_row_with_a_remark_beside_the_names_does_not_replace_them(
    parse: Callable[[Fill], ParsedDocument],
) -> None:
    def fill(book: Workbook) -> None:
        for row in (["Name", "City"], ["Ann", "Ulm", "ill"], ["Bob", "Bonn"]):
            book.worksheets[0].append(row)

    assert parse(fill).pages[0].text.splitlines()[2:] == [
        "Name | City",
        "Name: Ann; City: Ulm; ill",
        "Name: Bob; City: Bonn",
    ]


def test_table_beside_which_names_end_starts_without_them(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        for row in (["City", "People"], ["Ulm", 1], [], [7, 8, 9]):
            book.worksheets[0].append(row)

    assert parse(fill).pages[0].text.splitlines()[-1] == "7 | 8 | 9"


def test_long_column_of_single_cells_is_kept_whole(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        for number in range(350):
            book.worksheets[0].append([f"line {number}"])

    assert parse(fill).pages[0].text.splitlines()[2:] == [f"line {number}" for number in range(350)]


@pytest.mark.slow
def test_cell_at_the_far_end_of_a_sheet_costs_nothing(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        book.worksheets[0]["A1"] = "near"
        book.worksheets[0]["XFD1048576"] = "far"

    assert parse(fill).pages[0].text == "# Sheet\n\nnear\n\nfar"


def test_rows_that_are_wide_and_many_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet_text.CellBudget.__init__, "__defaults__", (100_000,))
    book = Workbook()
    for row in range(1, 11):
        book.worksheets[0].cell(row, 16_384, "far")
    book.save(tmp_path / "wide.xlsx")
    with pytest.raises(LimitExceededError, match="spans more than 100000 cells: split it"):
        read(tmp_path / "wide.xlsx")


def test_formula_shows_its_computed_value(parse: Callable[[Fill], ParsedDocument], tmp_path: Path) -> None:
    def fill(book: Workbook) -> None:
        book.worksheets[0]["A1"] = "=6*7"

    document = parse(fill)
    assert document.pages[0].text == ""
    assert "no computed value" in document.warnings[0]
    path = tmp_path / "book.xlsx"
    rewrite(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: xml.replace(b"<v></v>", b"<v>42</v>").replace(b"<v />", b"<v>42</v>"),
    )
    document = read(path)
    assert document.pages[0].text == "# Sheet\n\n42"
    assert document.warnings == ()


def test_merged_cell_is_said_once(parse: Callable[[Fill], ParsedDocument]) -> None:
    def fill(book: Workbook) -> None:
        sheet = book.worksheets[0]
        sheet["A1"] = "Over three columns"
        sheet.merge_cells("A1:C2")
        sheet.append(["a", "b", "c"])

    assert parse(fill).pages[0].text.count("Over three columns") == 1


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (1234.5, "General", "1234.5"),
        (13.0, "General", "13"),
        (0.1 + 0.2, "General", "0.3"),
        (1234.5, "#,##0.00", "1234.50"),
        (-81, "#,##0\\ ;\\(#,##0\\)", "-81"),
        (-81, '_(* #,##0_);_(* \\(#,##0\\);_(* "—"_);_(@_)', "-81"),
        (0.256, "0.0%", "25.6%"),
        (0.5, "0%", "50%"),
        (12.5, '0.0" kg"', "12.5 kg"),
        (19.9, "[$€-407] #,##0.00", "€ 19.90"),
        (19.9, "#,##0.00 [$€-407]", "19.90 €"),
        (-19.9, '"$"#,##0.00', "-$19.90"),
        (2.5, "0.0##", "2.5"),
        (1067, "00000", "01067"),
        (1.5e20, "0.00E+00", "1.5e+20"),
        (0.5, "# ?/?", "0.5"),
        (1_200_000, "0.0,,", "1200000"),
        (-0.001, "0.0", "0.0"),
        (True, "General", "TRUE"),
        ("two\nlines ", "@", "two lines"),
        (None, "General", ""),
        (datetime(2021, 1, 2, tzinfo=UTC), "dd.mm.yyyy", "2021-01-02"),
        (datetime(2021, 1, 2, 13, 5, tzinfo=UTC), "General", "2021-01-02 13:05:00"),
        (datetime(2021, 1, 2, tzinfo=UTC).date(), None, "2021-01-02"),
        (time(8, 30), None, "08:30:00"),
        (timedelta(days=10, seconds=54_610), "[hh]:mm:ss", "255:10:10"),
        (timedelta(seconds=-60), None, "-0:01:00"),
    ],
)
def test_cell_is_read_as_it_shows(value: object, number_format: str | None, shown: str) -> None:
    assert shown_value(value, number_format) == shown


def test_workbook_with_a_password_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "locked.xlsx"
    write_compound(path, "EncryptedPackage")
    with pytest.raises(EncryptedFileError, match="remove its password"):
        read(path)


def test_binary_workbook_says_to_be_saved_in_another_format(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsb"
    with ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.bin", "x")
    with pytest.raises(UnsupportedFormatError, match=r"save the workbook as \.xlsx"):
        read(path)


def test_workbook_of_more_sheets_than_pages_may_be_is_refused(
    parse: Callable[[Fill], ParsedDocument], tmp_path: Path
) -> None:
    parse(lambda book: [book.create_sheet() for _ in range(4)])  # type: ignore[arg-type,return-value]
    with pytest.raises(LimitExceededError, match="5 sheets"):
        read(tmp_path / "book.xlsx", max_pages=4)


ENTITIES = b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>" + b"".join(
    b"<!ENTITY %c '%s'>" % (code, b"&%c;" % (code - 1) * 10) for code in range(ord("b"), ord("l"))
)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("xl/workbook.xml", lambda xml: xml[: len(xml) // 2]),
        ("xl/worksheets/sheet1.xml", lambda xml: xml[: len(xml) // 2]),
        ("xl/worksheets/sheet1.xml", lambda xml: b""),
        ("xl/worksheets/sheet1.xml", lambda xml: xml.replace(b't="n"', b't="s"').replace(b"<v>1", b"<v>99999")),
        ("xl/worksheets/sheet1.xml", lambda xml: ENTITIES + b"]>" + xml.replace(b"<v>1", b"<v>&k;")),
        ("[Content_Types].xml", lambda xml: b"<Types/>"),
    ],
)
def test_damaged_part_is_a_corrupt_file(
    parse: Callable[[Fill], ParsedDocument], tmp_path: Path, part: str, change: Callable[[bytes], bytes]
) -> None:
    parse(lambda book: book.worksheets[0].append([1, 2]))
    rewrite(tmp_path / "book.xlsx", part, change)
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        read(tmp_path / "book.xlsx")
