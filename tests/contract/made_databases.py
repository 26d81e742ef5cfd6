"""Databases of the contract's tests: the engine of a source is one on SQLite, which runs in this process."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.pool import NullPool

from analytiq.ingestion.sources.base import ListedItem
from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening

SETTINGS: dict[str, JsonValue] = {
    "host": "127.0.0.1",
    "database": "shop",
    "user": "reader",
    "tls": "none",
    "query": "SELECT path, body FROM notes",
    "key_columns": ["path"],
    "title_column": "path",
    "text_columns": ["body"],
}


class _NoLine:
    """The stand-in for a connection, which SQLite has none of."""

    def __init__(self, *_: object, **__: object) -> None:
        self.meter = self

    def begin(self) -> None:
        """Count nothing."""

    def cut(self) -> None:
        """Cut nothing."""

    def close(self) -> None:
        """Close nothing."""


@dataclass(frozen=True, slots=True)
class MadeRows(Made):
    """Rows whose keys are the names."""

    def name_of(self, item: ListedItem) -> str:
        """Return the key of the row."""
        return item.external_id

    def text_of(self, content: bytes) -> bytes:
        """Return the text below the title."""
        return content.partition(b"\n\n")[2].rstrip()


def sqlite_source(stack: ExitStack, path: Path) -> Engine:
    """Let sources of databases read a file of SQLite; return its engine."""
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    # Otherwise each transaction is flushed to the disk.
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr("analytiq.ingestion.sources.systems.sql.connection.CheckedLine", _NoLine)
    patch.setattr("analytiq.ingestion.sources.systems.sql.drivers.opened_engine", lambda *_: engine)
    return engine


def made_sql(stack: ExitStack, folder: Path) -> Made:
    """Return a table with a row for each item; a row is written by its path."""
    engine = sqlite_source(stack, folder / "notes.db")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE notes (path TEXT PRIMARY KEY, body TEXT)"))

    def write(name: str, content: str) -> None:
        with engine.begin() as connection:
            connection.execute(text("REPLACE INTO notes VALUES (:name, :body)"), {"name": name, "body": content})

    operator = SourceSettings(private_hosts=("127.0.0.1",))
    return MadeRows("sql", opening("sql", SETTINGS, operator, "", {"password": "p"}), write)


DATABASES = {"sql": made_sql}
