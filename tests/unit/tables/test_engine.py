"""Queries are answered with the rows that they rest on; all but computing SELECTs about the one table are refused."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from analytiq.errors import InvalidInputError, MemoryLimitError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.csv import CsvParser
from analytiq.ingestion.parsing.html import HtmlParser
from analytiq.ingestion.tables import engine
from analytiq.ingestion.tables.collecting import RowCollector, collecting_rows
from analytiq.ingestion.tables.deriving import write_tables
from analytiq.models.tables import DocumentTable, QueryAnswer, TableQuery, TablesRead
from analytiq.models.text import DocumentText, join_pages

SALES = (
    "Region;Amount;Day;Code\nNorth;1.234,50 €;01.02.2024;01234\nSouth;99,90 €;02.02.2024;80331\nNorth;-1,00 €;;10115\n"
)
Ask = Callable[..., QueryAnswer]


def tables_of(
    path: Path, content: str, parser: CsvParser | HtmlParser, *, needs_header: bool = False
) -> tuple[TablesRead, DocumentText]:
    path.write_text(content, encoding="utf-8")
    collector = RowCollector()
    with collecting_rows(collector):
        document = parser.parse(path, ParseOptions(), lambda _done, _total: None)
    text = join_pages(document.pages)
    rows = io.BytesIO()
    read = write_tables(collector.tables(), text, rows, needs_header=needs_header)
    path.with_suffix(".rows").write_bytes(rows.getvalue())
    return read, text


def asked(rows: Path, table: DocumentTable, sql: str, **options: int) -> QueryAnswer:
    one = rows.with_suffix(".one")
    one.write_bytes(rows.read_bytes()[table.start : table.end])
    connection = engine.connected(256 * 1024 * 1024)
    try:
        return engine.answer(connection, one, table, TableQuery(sql, **options))
    finally:
        connection.close()


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    read, _ = tables_of(tmp_path / "sales.csv", SALES, CsvParser())
    return lambda sql, **options: asked(tmp_path / "sales.rows", read.tables[0], sql, **options)


@pytest.fixture(scope="module")
def connection() -> Iterator[DuckDBPyConnection]:
    made = engine.connected(256 * 1024 * 1024)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("sql", "rows", "cited"),
    [
        ("SELECT Region, sum(Amount) FROM rows GROUP BY 1 ORDER BY 1", (("North", 1233.5), ("South", 99.9)), [1, 2, 3]),
        ("SELECT count(*) FROM rows WHERE Region = 'North'", ((2,),), [1, 3]),
        ("SELECT Region FROM rows ORDER BY Amount DESC LIMIT 1", (("North",),), [1]),
        ("SELECT max(Day) FROM rows r WHERE r.Amount < 100", (("2024-02-02",),), [2, 3]),
        ("SELECT Code FROM rows WHERE Amount = (SELECT min(Amount) FROM rows)", (("10115",),), [3]),
        ("WITH n AS (SELECT * FROM rows WHERE Region = 'North') SELECT count(*) FROM n", ((2,),), [1, 3]),
        ("SELECT Region FROM rows UNION SELECT Code FROM rows WHERE Amount > 1000 ORDER BY 1", None, [1, 2, 3]),
        ('SELECT Amount * 2, "Amount" / 3 IS NULL FROM rows WHERE Day IS NULL', ((-2, False),), [3]),
        (
            "SELECT strftime(Day, '%Y-%m') AS month, count(*) FROM rows GROUP BY month HAVING count(*) > 1",
            None,
            [1, 2, 3],
        ),
        ("SELECT 1 + 1", ((2,),), []),
    ],
)
def test_answer_has_the_rows_that_it_rests_on(
    ask: Ask, sql: str, rows: tuple[tuple[object, ...], ...] | None, cited: list[int]
) -> None:
    answer = ask(sql)
    assert rows is None or answer.rows == rows
    assert ([row.number for row in answer.source_rows], answer.source_row_count) == (cited, len(cited))
    assert answer.rests_on == "exact"


def test_join_rests_on_all_rows(ask: Ask) -> None:
    answer = ask("SELECT count(*) FROM rows a JOIN rows b USING (Region)", max_source_rows=2)
    assert answer.rows == ((5,),)
    assert (answer.rests_on, answer.source_row_count, len(answer.source_rows)) == ("all", 3, 2)


def test_rows_have_their_places_in_the_text(tmp_path: Path) -> None:
    read, text = tables_of(tmp_path / "sales.csv", SALES, CsvParser())
    answer = asked(tmp_path / "sales.rows", read.tables[0], "SELECT * FROM rows")
    assert [text.text[row.start : row.end] for row in answer.source_rows] == [
        "Region: North; Amount: 1.234,50 €; Day: 01.02.2024; Code: 01234",
        "Region: South; Amount: 99,90 €; Day: 02.02.2024; Code: 80331",
        "Region: North; Amount: -1,00 €; Code: 10115",
    ]
    assert answer.source_rows[0].values == ("North", 1234.5, "2024-02-01", "01234")


def test_tables_of_a_page_need_names_of_columns(tmp_path: Path) -> None:
    page = (
        "<table><caption>Prices</caption><tr><th>Item<th>Price<tr><td>Tea<td>$1.50<tr><td>Ink<td>$2.25</table>"
        "<table><tr><td>menu<td>home</table>"
    )
    read, _ = tables_of(tmp_path / "page.html", page, HtmlParser(), needs_header=True)
    (table,) = read.tables
    assert (table.title, [column.name for column in table.columns], table.row_count) == ("Prices", ["Item", "Price"], 2)
    assert asked(tmp_path / "page.rows", table, "SELECT sum(Price) FROM rows").rows == ((3.75,),)


def test_result_is_bounded_and_says_so(ask: Ask) -> None:
    answer = ask("SELECT * FROM rows", max_rows=2, max_source_rows=1)
    assert (len(answer.rows), answer.is_truncated, len(answer.source_rows), answer.source_row_count) == (2, True, 1, 3)
    assert not ask("SELECT * FROM rows", max_rows=3).is_truncated


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM source",
        "SELECT * FROM main.source",
        "SELECT * FROM memory.main.rows",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM generate_series(1, 1000000000)",
        "SELECT (SELECT content FROM read_text('/etc/passwd')) FROM rows",
        "SELECT * FROM rows WHERE Region IN (SELECT path FROM glob('/*'))",
        "SELECT sum(x) OVER (ORDER BY getenv('PATH')) FROM (SELECT 1 AS x)",
        "WITH t AS (SELECT * FROM read_blob('/etc/passwd')) SELECT * FROM t",
        "WITH rows AS (SELECT 1) SELECT * FROM rows",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        "SELECT getenv('PATH')",
        "SELECT current_setting('memory_limit')",
        "SELECT version()",
        "SELECT repeat('x', 1000000000)",
        "SELECT range(1000000000)",
        "SELECT main.sum(1)",
        "SELECT #1 FROM rows",
        "SELECT $1",
        "SELECT list_transform([1], lambda x: x + 1)",
        "SELECT count(*) FROM rows, rows b, rows c, rows d, rows e, rows f",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE source",
        "INSERT INTO rows VALUES (1)",
        "CREATE TABLE x AS SELECT 1",
        "COPY rows TO '/tmp/x'",
        "ATTACH '/tmp/x.db' AS x",
        "SET memory_limit = '10GB'",
        "PRAGMA version",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "EXPLAIN SELECT 1",
        "DESCRIBE rows",
        "SHOW TABLES",
        "PIVOT rows ON Region USING sum(Amount)",
        "PREPARE x AS SELECT 1",
        "SELECT " + "(" * 4000 + "1" + ")" * 4000,
        "SELECT " + "1 + " * 2000 + "1",
        "SELEC 1",
        "",
        ";",
    ],
)
def test_everything_but_computing_about_the_table_is_refused(connection: DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(InvalidInputError):
        engine.parsed(connection, sql)


def test_error_names_the_columns(ask: Ask) -> None:
    for sql in ("SELECT Amounts FROM rows", "SELEC 1", "\ud800", "SELECT '" + "x" * engine.LONGEST_SQL + "'"):
        with pytest.raises(InvalidInputError) as refusal:
            ask(sql)
        columns = 'Columns of rows: "Region" (text), "Amount" (decimal), "Day" (date), "Code" (text).'
        assert columns in refusal.value.detail


def test_configuration_is_locked_without_files_behind_the_check(tmp_path: Path) -> None:
    read, _ = tables_of(tmp_path / "sales.csv", SALES, CsvParser())
    connection = engine.connected(256 * 1024 * 1024)
    engine.answer(connection, tmp_path / "sales.rows", read.tables[0], TableQuery("SELECT 1"))
    for statement in ("SELECT * FROM read_text('/etc/hostname')", "SET enable_external_access = true", "LOAD httpfs"):
        with pytest.raises(Exception, match=r"disabled|locked|[Cc]annot"):
            connection.execute(statement)
    connection.close()


def test_query_that_needs_more_memory_is_ended(tmp_path: Path) -> None:
    content = "number,note\n" + "".join(f"{number},{'note ' * 20}{number}\n" for number in range(3000))
    read, _ = tables_of(tmp_path / "notes.csv", content, CsvParser())
    with pytest.raises(MemoryLimitError):
        asked(tmp_path / "notes.rows", read.tables[0], "SELECT DISTINCT a.note || b.note FROM rows a, rows b")


def test_hostile_names_and_cells_are_data(tmp_path: Path) -> None:
    content = 'a"b,"x\'); DROP TABLE source; --","line\nbreak",select\n"1","a,""b""",",\n\'",\x01\n2,,,\n'
    read, _ = tables_of(tmp_path / "odd.csv", content, CsvParser())
    (table,) = read.tables
    answer = asked(tmp_path / "odd.rows", table, 'SELECT "a""b", "x\'); DROP TABLE source; --", "select" FROM rows')
    assert answer.rows == ((1, 'a,"b"', "\x01"), (2, None, None))
