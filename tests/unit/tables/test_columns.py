"""The type of a column is that of all of its values, or text with the reason."""

import pytest

from analytiq.ingestion.tables.collecting import RowCollector, collecting_rows, valued
from analytiq.ingestion.tables.columns import style_of, typed_column
from analytiq.ingestion.tables.deriving import unique_names
from analytiq.ingestion.tables.numbers import Style
from analytiq.models.tables import ColumnType


@pytest.mark.parametrize(
    ("cells", "stored_type", "unit", "texts"),
    [
        (["1", "-20", ""], "BIGINT", "", ["1", "-20", None]),
        (["1.234,56 €", "−3,00 €", "n/a"], "DECIMAL(18,2)", "EUR", ["1234.56", "-3.00", None]),
        (["$1,234.5", "(7)"], "DECIMAL(18,1)", "USD", ["1234.5", "-7"]),
        (["CHF 1'000.50", "20.00"], "DECIMAL(18,2)", "CHF", ["1000.50", "20.00"]),
        (["1 234,5", "2,25"], "DECIMAL(18,2)", "", ["1234.5", "2.25"]),
        (["1.234.567", "1.000"], "BIGINT", "", ["1234567", "1000"]),
        (["12 %", "3,5 %"], "DECIMAL(18,1)", "%", ["12", "3.5"]),
        (["1.5e-20", "2"], "DOUBLE", "", ["1.5e-20", "2.0"]),
        (["ja", "Nein", "-"], "BOOLEAN", "", ["true", "false", None]),
        (["12.03.2024", "1.4.25"], "DATE", "", ["2024-03-12", "2025-04-01"]),
        (["3/14/2024", "5/6/2024"], "DATE", "", ["2024-03-14", "2024-05-06"]),
        (["14/3/2024", "5/6/2024"], "DATE", "", ["2024-03-14", "2024-06-05"]),
        (["March 3, 2024", "12. März 2024"], "DATE", "", ["2024-03-03", "2024-03-12"]),
        (["2024-01-01T10:00:30+02:00", "2024-01-02"], "TIMESTAMP", "", ["2024-01-01 08:00:30", "2024-01-02 00:00:00"]),
        (["1.2.2024 3:05 pm"], "TIMESTAMP", "", ["2024-02-01 15:05:00"]),
    ],
)
def test_values_that_all_fit_type_their_column(
    cells: list[str], stored_type: str, unit: str, texts: list[str | None]
) -> None:
    found = typed_column("x", cells)
    assert (found.column.stored_type, found.column.unit, list(found.texts)) == (stored_type, unit, texts)


@pytest.mark.parametrize(
    ("cells", "unfit_count", "reason"),
    [
        (["1", "2", "about 3"], 1, "2 of 3 values are numbers; 'about 3' in row 3 is not."),
        (["2024-01-01", "2024-02-30"], 1, "1 of 2 values are dates; '2024-02-30' in row 2 is not."),
        (["00123", "4"], 1, "Values such as '00123' begin with a zero, as codes do."),
        (
            ["1234567890123456789012"],
            0,
            "Values such as '1234567890123456789012' have more than 18 digits, as codes do.",
        ),
        (["5 EUR", "5 USD"], 0, "Amounts are in EUR, USD."),
        (["1.234,5", "1,234.5"], 1, "Numbers are written with German and with English marks."),
        (["03/04/2024", "05/06/2024"], 0, "Day and month of dates such as '03/04/2024' cannot be told apart."),
        (["13/04/2024", "04/13/2024"], 1, "Some dates have the day first, others the month."),
        (["1E5", "2E7"], 0, ""),
        (["1..2", "3,,4"], 0, ""),
        (["anna", "bo"], 0, ""),
    ],
)
def test_column_that_is_not_sure_stays_text_with_the_reason(cells: list[str], unfit_count: int, reason: str) -> None:
    found = typed_column("x", cells)
    assert found.column.type is ColumnType.TEXT
    assert (found.column.unfit_count, found.column.note) == (unfit_count, reason)
    assert list(found.texts) == cells


def test_ambiguous_numbers_are_read_as_the_other_columns_are() -> None:
    assert style_of([["1.234,5", "2"], ["1.234"]]) is Style.GERMAN
    assert list(typed_column("x", ["1.234"], style=Style.GERMAN).texts) == ["1234"]
    told = typed_column("x", ["1.234"])
    assert list(told.texts) == ["1.234"]
    assert "read with english marks" in told.column.note


def test_spreadsheet_values_are_calculated_with_as_stated_not_as_shown() -> None:
    with collecting_rows(RowCollector()):
        cells = [valued("12%", 0.1234), valued("3%", 0.03)]
        codes = [valued("00042", 42)]
    assert list(typed_column("x", cells).texts) == ["12.34", "3"]
    assert list(typed_column("x", codes).texts) == ["00042"]


def test_names_of_columns_are_unique_and_none_is_empty() -> None:
    assert unique_names(["Total", "total", "", "Total_2", "__row"], 6) == [
        "Total", "total_3", "column_3", "Total_2", "__row_2", "column_6",
    ]  # fmt: skip
