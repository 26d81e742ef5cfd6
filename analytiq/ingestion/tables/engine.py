"""The query engine: DuckDB in memory, on the rows of one table, in a process that has given up its rights.

The connection is made first, since DuckDB reads the machine's limits; rows are loaded and the query is parsed after the
process has given up its rights. Before the query, DuckDB's configuration is locked without access to files.
"""

import json
import math
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import JsonValue

from analytiq.errors import InvalidInputError, MemoryLimitError, ParserUnavailableError
from analytiq.ingestion.tables.checking import TABLE, Node, checked_tree
from analytiq.ingestion.tables.deriving import LONGEST_ROW, PLACE_COLUMNS
from analytiq.ingestion.tables.resting import CITED, ROW, SOURCE, conditions_alone, reads_rows, row_queries
from analytiq.models.tables import DocumentTable, QueryAnswer, SourceRow, TableQuery

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LONGEST_SQL = 10_000
LONGEST_VALUE = 10_000
"""Characters of a value in a result; the rest is cut."""
MOST_RESULT_CHARACTERS = 1_000_000
MOST_RESULT_COLUMNS = 500
_SHARE_OF_MEMORY = 0.6
"""Share of the process's memory that DuckDB may use; Python and the result need the rest."""
_NAMED_COLUMNS = 60
_EXACT = 2**53
_BLOCK = 1024 * 1024
_KIND_OF_ERROR = re.compile(r"^[A-Z][A-Za-z ]{2,40} Error: ")


def connected(memory_bytes: int) -> "DuckDBPyConnection":
    """Return a connection to an empty database in memory; it starts no thread.

    Raises:
        ParserUnavailableError: DuckDB is not installed.
    """
    try:
        import duckdb  # an extra: 66 MB that only queries need
    except ImportError as error:
        raise ParserUnavailableError(
            "Tables cannot be queried: the package duckdb is not installed. Install analytiq[tables]."
        ) from error
    return duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "async_threads": 0,
            "memory_limit": f"{int(memory_bytes * _SHARE_OF_MEMORY)}B",
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
            "enable_external_file_cache": False,
            "max_expression_depth": 250,
        },
    )


def copied_rows(path: Path, table: DocumentTable, descriptor: int) -> None:
    """Copy the rows of a table from the file of all tables into a file in memory."""
    left = table.end - table.start
    with path.open("rb") as source, open(descriptor, "wb", closefd=False) as target:
        source.seek(table.start)
        while left > 0 and (block := source.read(min(_BLOCK, left))):
            target.write(block)
            left -= len(block)


def answer(connection: "DuckDBPyConnection", rows: Path, table: DocumentTable, query: TableQuery) -> QueryAnswer:
    """Load the rows, lock the database, and answer the query.

    Raises:
        InvalidInputError: the query is refused, or wrong; the error names the table's columns.
        MemoryLimitError: the query needs more memory than it may have.
    """
    import duckdb

    try:
        if len(query.sql) > LONGEST_SQL:
            raise InvalidInputError(f"The query is longer than {LONGEST_SQL:,} characters.", code="query_refused")
        _load(connection, rows, table)
        root = parsed(connection, query.sql)
        columns, found, is_truncated = _result(connection, query)
        numbers, count, is_exact = _resting(connection, root, table, query.max_source_rows)
        return QueryAnswer(
            columns, found, is_truncated, _source_rows(connection, table, numbers), count,
            "exact" if is_exact else "all",
        )  # fmt: skip
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        raise MemoryLimitError("The query needs more memory than it may have.") from error
    except (duckdb.Error, UnicodeError, RecursionError) as error:
        raise _wrong(str(error), table) from error
    except InvalidInputError as error:
        raise _wrong(error.detail, table, code=error.code) from error


def _load(connection: "DuckDBPyConnection", rows: Path, table: DocumentTable) -> None:
    types = [(name, "BIGINT") for name in PLACE_COLUMNS]
    types += [(column.name, column.stored_type) for column in table.columns]
    fields = ", ".join(f"{_text(name)}: {_text(kind)}" for name, kind in types)
    connection.execute(
        f"CREATE TABLE {SOURCE} AS SELECT * FROM read_csv({_text(str(rows))}, header=false, auto_detect=false,"  # noqa: S608
        f" columns={{{fields}}}, delim=',', quote='\"', escape='\"', nullstr='', allow_quoted_nulls=true,"
        f" parallel=false, max_line_size={8 * LONGEST_ROW}, strict_mode=true)"
    )
    own = ", ".join(_name(column.name) for column in table.columns)
    connection.execute(f"CREATE VIEW {TABLE} AS SELECT {own} FROM {SOURCE}")  # noqa: S608
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def parsed(connection: "DuckDBPyConnection", sql: str) -> Node:
    """Return the checked syntax tree of a query.

    Raises:
        InvalidInputError: it is no SELECT about the table alone.
    """
    row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    return checked_tree(json.loads(row[0]) if row is not None else {"error": True})


def _result(
    connection: "DuckDBPyConnection", query: TableQuery
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[JsonValue, ...], ...], bool]:
    cursor = connection.execute(query.sql)
    described = cast("Sequence[Sequence[Any]]", cursor.description or ())
    if len(described) > MOST_RESULT_COLUMNS:
        raise InvalidInputError(f"The result has more than {MOST_RESULT_COLUMNS} columns.", code="query_refused")
    columns = tuple((str(column[0]), str(column[1]).lower()) for column in described)
    found: list[tuple[JsonValue, ...]] = []
    is_truncated, left = False, MOST_RESULT_CHARACTERS
    while (row := cursor.fetchone()) is not None:
        if len(found) == query.max_rows or left <= 0:
            is_truncated = True
            break
        values = tuple(_shown(value) for value in cast("Sequence[object]", row))
        for value in values:
            is_truncated |= isinstance(value, str) and len(value) > LONGEST_VALUE
            left -= min(len(value), LONGEST_VALUE) if isinstance(value, str) else 20
        found.append(tuple(_cut(value) for value in values))
    return columns, tuple(found), is_truncated


def _resting(
    connection: "DuckDBPyConnection", root: Node, table: DocumentTable, most: int
) -> tuple[list[int], int, bool]:
    """Return the first rows that the result rests on, their number, and True unless those are simply all rows."""
    import duckdb

    if not reads_rows(root):
        return [], 0, True
    for statements in (row_queries(root), conditions_alone(root) if root.get("type") == "SELECT_NODE" else []):
        if not statements:
            break
        # A condition that needs more than its own SELECT, such as a row of the query around it, cannot run alone.
        with suppress(duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException):
            parts = [f"SELECT {CITED} FROM ({_sql_of(connection, one)})" for one in statements]  # noqa: S608
            union = f"SELECT DISTINCT {CITED} FROM ({' UNION ALL '.join(parts)})"  # noqa: S608
            count = cast("tuple[int]", connection.execute(f"SELECT count(*) FROM ({union})").fetchone())[0]  # noqa: S608
            rows = connection.execute(f"{union} ORDER BY 1 LIMIT {most}").fetchall()
            return [int(row[0]) for row in rows], count, True
    return list(range(1, min(most, table.row_count) + 1)), table.row_count, False


def _sql_of(connection: "DuckDBPyConnection", statement: str) -> str:
    row = connection.execute("SELECT json_deserialize_sql(?::JSON)", [statement]).fetchone()
    return "" if row is None else str(row[0])


def _source_rows(
    connection: "DuckDBPyConnection", table: DocumentTable, numbers: Sequence[int]
) -> tuple[SourceRow, ...]:
    if not numbers:
        return ()
    listed = ", ".join(map(str, numbers))
    own = ", ".join(_name(column.name) for column in table.columns)
    rows = connection.execute(
        f"SELECT {', '.join(PLACE_COLUMNS)}, {own} FROM {SOURCE} WHERE {ROW} IN ({listed}) ORDER BY {ROW}"  # noqa: S608
    ).fetchall()
    found: list[SourceRow] = []
    left = MOST_RESULT_CHARACTERS
    for number, page, start, end, *values in rows:
        shown = tuple(_cut(_shown(value)) for value in values)
        left -= sum(len(value) if isinstance(value, str) else 20 for value in shown)
        if left < 0:
            break
        found.append(SourceRow(number, shown, page, start, end))
    return tuple(found)


def _wrong(message: str, table: DocumentTable, *, code: str = "query_invalid") -> InvalidInputError:
    """Return the error of a wrong query, with the columns that it may name."""
    reason = _KIND_OF_ERROR.sub("", " ".join(message.partition("\n\nLINE ")[0].split()))[:1000]
    named = [f"{_name(column.name)} ({column.type.value})" for column in table.columns[:_NAMED_COLUMNS]]
    more = "" if len(table.columns) <= _NAMED_COLUMNS else f" and {len(table.columns) - _NAMED_COLUMNS} more"
    stop = "" if reason.endswith((".", "!", "?")) else "."
    return InvalidInputError(f"{reason}{stop} Columns of {TABLE}: {', '.join(named)}{more}.", code=code)


def _shown(value: object) -> JsonValue:
    """Return a value in JSON: numbers that JSON readers would round are text."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            if value == value.to_integral_value() and abs(value) <= _EXACT:
                return int(value)
            return float(value) if len(value.as_tuple().digits) <= 15 else f"{value:f}"
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case list():
            return [_cut(_shown(one)) for one in cast("list[object]", value)[:100]]
        case dict():
            return {str(key): _cut(_shown(one)) for key, one in list(cast("dict[object, object]", value).items())[:100]}
        case _:
            return str(value)


def _cut(value: JsonValue) -> JsonValue:
    return value[:LONGEST_VALUE] if isinstance(value, str) and len(value) > LONGEST_VALUE else value


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def room_for_rows() -> int:
    """Return the descriptor of an empty file in memory."""
    return os.memfd_create("rows")
