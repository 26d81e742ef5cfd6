"""Database sources: settings, ids of items, and rows of an engine on SQLite."""

import asyncio
import datetime
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from analytiq.errors import AnalytiqError, InvalidInputError, PermanentError, TransientError
from analytiq.ingestion.sources.base import Connector
from analytiq.ingestion.sources.systems.sql import values
from analytiq.ingestion.sources.systems.sql.settings import require_select
from analytiq.settings import SourceSettings
from tests.contract.made_databases import SETTINGS, sqlite_source
from tests.contract.made_sources import opening

LOCAL = SourceSettings(private_hosts=("127.0.0.1",))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with ExitStack() as stack:
        yield sqlite_source(stack, tmp_path / "rows.db")


def opened(**changed: Any) -> Connector:
    return opening("sql", {**SETTINGS, **changed}, LOCAL, "", {"password": "p"})()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ';' AS a, ')' AS b, \"x;\" AS c FROM t -- it's ; )",
        "with a as (select 1) select * from a",
        "(SELECT 1) UNION (SELECT 2)",
        "/* ; */ SELECT $a$ ; ) $a$",
    ],
)
def test_one_select_is_accepted(query: str) -> None:
    require_select(query)


@pytest.mark.parametrize(
    "query",
    ["DELETE FROM t", "SELECT 1; DROP TABLE t", "SELECT 1) AS a, (SELECT 2", "SELECT (1", "selectx", "SELECT '\0'"],
)
def test_other_statements_are_refused_with_the_reason(query: str) -> None:
    with pytest.raises(ValueError, match="Must"):
        require_select(query)


def test_settings_name_what_is_wrong() -> None:
    wrong: list[dict[str, Any]] = [
        {"query": "UPDATE t SET a = 1"},
        {"template": "{a}", "text_columns": ["a"]},
        {"ca_certificate": "none"},
        {"database_kind": "sqlite"},
        {"host": "a/b"},
    ]
    for changed in wrong:
        with pytest.raises(InvalidInputError):
            opened(**changed)


def test_ids_of_items_tell_types_apart() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    keys: list[values.Key] = [
        (42,), ("42",), ("ada",), ("null",), ('["a"]',), ('"',), (True,), ("true",), ("[" * 100_000,),
        (1, "a"), ("a", "1"),
        (Decimal("1.50"),), (datetime.date(2026, 1, 1),), (datetime.datetime(2026, 1, 1, tzinfo=zone),),
        (UUID(int=1),), (b"\x00\xff",), (0.5, "é/\n"),
    ]  # fmt: skip
    written = [values.external_id(key) for key in keys]
    assert len(set(written)) == len(keys)
    assert written[:3] == ["42", '"42"', "ada"]
    for key, each in zip(keys, written, strict=True):
        assert values.key_of(each, count=len(key)) == key


@pytest.mark.parametrize(
    "unknown", ["", "a\0b", '"a\\u0000b"', "[1]", "[1, 2, 3]", '{"uuid": "x"}', "1.5", "[" * 100_000]
)
def test_texts_that_are_no_ids_of_two_columns(unknown: str) -> None:
    assert values.key_of(unknown, count=2) is None


def test_times_of_the_future_hide_no_later_changes() -> None:
    now = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
    future = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC)
    assert values.before(future, now, seconds=60) == now - datetime.timedelta(seconds=60)
    assert values.before(7, now, seconds=60) == 7


async def test_deletions_and_changes_of_grouped_rows(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE lines (o INTEGER, article TEXT)"))
        connection.execute(text("INSERT INTO lines VALUES (1, 'Chair'), (2, 'Lamp'), (1, 'Table'), (NULL, 'None')"))
    settings = {"query": "SELECT * FROM lines", "key_columns": ["O"], "title_column": None, "text_columns": []}

    async def versions() -> dict[str, str | None]:
        connector = opened(**settings)
        found = [item async for batch in connector.list_changes(None) for item in batch.items]
        await connector.close()
        return {item.external_id: item.version for item in found}

    before = await versions()
    assert before.keys() == {"1", "2"}
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM lines WHERE article = 'Chair'"))
    after = await versions()
    assert after["1"] != before["1"]
    assert after["2"] == before["2"]


async def test_markdown_of_rows_shows_texts_as_they_are(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE notes (path TEXT, body TEXT)"))
        connection.execute(text("INSERT INTO notes VALUES ('# a\n<b>', '# No heading\n\n<script>')"))
    shown: list[bytes] = []
    for text_format in ("plain", "markdown"):
        connector = opened(text_format=text_format)
        [item, *_] = [item async for batch in connector.list_changes(None) for item in batch.items]
        shown += [block async for block in (await connector.fetch(item)).content]
        await connector.close()
    assert shown == [
        b"# \\# a &lt;b>\n\n\\# No heading\n\n&lt;script>\n",
        b"# \\# a &lt;b>\n\n# No heading\n\n<script>\n",
    ]


async def test_rows_larger_than_an_item_are_skipped(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE notes (path TEXT, body TEXT)"))
        connection.execute(text("INSERT INTO notes VALUES ('a', :body)"), {"body": "x" * 2000})
    connector = opened()
    [item, *_] = [item async for batch in connector.list_changes(None) for item in batch.items]
    await connector.close()
    assert item.skip_reason is not None


class Talker:
    """A server that says something to each client, and then nothing, or the same without end."""

    def __init__(self, said: bytes, *, is_endless: bool) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._said, self._is_endless = said, is_endless
        self.port = self._listening.getsockname()[1]
        self.has_client = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "Talker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.join()

    def join(self) -> None:
        """Wait until the client is gone."""
        self._thread.join()

    def _serve(self) -> None:
        with self._listening:
            client, _ = self._listening.accept()
            self.has_client.set()
        with client:
            try:
                client.sendall(self._said)
                while self._is_endless:
                    client.sendall(self._said)
                while client.recv(4096):
                    pass
            except OSError:
                pass


POSTGRES_LOGGED_IN = b"R\0\0\0\x08\0\0\0\0"
HOSTILE: list[tuple[str, bytes, bool, type[AnalytiqError]]] = [
    ("mysql", b"\xff\xff\xff\0" + b"x" * 65536, True, PermanentError),
    ("mysql", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100, False, AnalytiqError),
    ("mysql", b"", False, TransientError),
    ("postgresql", POSTGRES_LOGGED_IN + b"S\x7f\xff\xff\xff" + b"x" * 65536, True, PermanentError),
    ("postgresql", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100, False, AnalytiqError),
    ("postgresql", b"", False, TransientError),
]


@pytest.mark.parametrize(("kind", "said", "is_endless", "error"), HOSTILE)
async def test_hostile_servers_end_in_an_error(
    monkeypatch: pytest.MonkeyPatch, kind: str, said: bytes, is_endless: bool, error: type[AnalytiqError]
) -> None:
    monkeypatch.setattr("analytiq.ingestion.sources.systems.sql.connection.SPARE_SECONDS", -0.5)
    monkeypatch.setattr("analytiq.ingestion.sources.systems.sql.sockets.MOST_ANSWER_BYTES", 1024 * 1024)
    with Talker(said, is_endless=is_endless) as server:
        limit = 30 if is_endless else 1
        connector = opened(database_kind=kind, port=server.port, timeout_seconds=limit)
        with pytest.raises(error):
            await connector.check()
        await connector.close()


async def test_server_without_tls_gets_no_password() -> None:
    with Talker(b"N", is_endless=False) as server:
        connector = opened(port=server.port, tls="verify")
        with pytest.raises(InvalidInputError, match="offers no TLS"):
            await connector.check()
        await connector.close()


async def test_wait_that_is_cancelled_cuts_the_connection() -> None:
    with Talker(b"", is_endless=False) as server:
        connector = opened(port=server.port)
        checking = asyncio.create_task(connector.check())
        await asyncio.to_thread(server.has_client.wait)
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        # The server ends when its client is gone, before the connector is closed.
        await asyncio.to_thread(server.join)
        await connector.close()
