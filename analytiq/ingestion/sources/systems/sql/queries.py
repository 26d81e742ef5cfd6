"""Statements around the query of a source, which stays one subquery."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Select,
    TextClause,
    and_,
    column,
    literal,
    literal_column,
    or_,
    select,
    text,
    tuple_,
)
from sqlalchemy.sql.elements import quoted_name

from analytiq.errors import InvalidInputError
from analytiq.ingestion.sources.systems.sql.settings import SqlSettings
from analytiq.ingestion.sources.systems.sql.values import Key, external_id

Statement = Select[Any]


def described(settings: SqlSettings) -> Statement:
    """Return a statement for the names of the query's columns, without rows."""
    return _rows(settings).limit(0)


class SourceQuery:
    """The query of a source, with the names that its database gives the columns."""

    def __init__(self, settings: SqlSettings, columns: Sequence[str]) -> None:
        self._settings = settings
        self.columns = columns
        self.keys = tuple(self._named(name, "key_columns") for name in settings.key_columns)
        self.title = self._named(settings.title_column, "title_column") if settings.title_column else None
        self.updated = self._named(settings.updated_column, "updated_column") if settings.updated_column else None
        self.texts = tuple(self._named(name, "text_columns") for name in settings.text_columns)
        self.metadata = tuple(self._named(name, "metadata_columns") for name in settings.metadata_columns)

    def listing(self, *, after: Key | None, since: object) -> Statement:
        """Return a statement for the rows behind a key, in the order of keys.

        With `since`, only rows of documents of which a row was updated since then, or tells no time.
        """
        keys = [_column(name) for name in self.keys]
        wanted: list[ColumnElement[bool]] = [key.is_not(None) for key in keys]
        if after is not None:
            wanted.append(_compared(keys, after))
        if since is not None and self.updated is not None:
            updated = _column(self.updated)
            changed = or_(updated >= _value(since), updated.is_(None))
            wanted.append(_tuple(keys).in_(select(*keys).select_from(_subquery(self._settings)).where(changed)))
        rows = _rows(self._settings)
        return rows.where(and_(*wanted)).order_by(*keys)

    def one(self, key: Key) -> Statement:
        """Return a statement for the rows of a key."""
        wanted = [_column(name) == _value(part) for name, part in zip(self.keys, key, strict=True)]
        return _rows(self._settings).where(and_(*wanted))

    def key_of(self, values: Mapping[str, object]) -> Key:
        """Return the key of a row.

        Raises:
            InvalidInputError: a value is of a type that identifies nothing.
        """
        key = tuple(values[name] for name in self.keys)
        external_id(key)
        return key

    def _named(self, name: str, field: str) -> str:
        """Return a column's name in the database; databases write names without quotes in their own case."""
        if name in self.columns:
            return name
        alike = [each for each in self.columns if each.casefold() == name.casefold()]
        if len(alike) == 1:
            return alike[0]
        known = ", ".join(each[:60] for each in self.columns[:50])
        raise InvalidInputError.of_field(
            f"settings.{field}", f"The query has no column {name[:60]!r}. Its columns: {known}."
        )


def _subquery(settings: SqlSettings) -> TextClause:
    # SQLAlchemy would take a colon for the beginning of a parameter's name.
    return text("(\n" + settings.query.replace(":", "\\:") + "\n) AS source_rows")


def _rows(settings: SqlSettings) -> Statement:
    return select(cast("ColumnElement[Any]", literal_column("*"))).select_from(_subquery(settings))


def _column(name: str) -> ColumnElement[object]:
    return column(quoted_name(name, quote=True))


def _value(value: object) -> ColumnElement[object]:
    if isinstance(value, datetime):
        return literal(value, DateTime(timezone=value.tzinfo is not None))
    return literal(value)


def _tuple(keys: Sequence[ColumnElement[object]]) -> ColumnElement[Any]:
    return keys[0] if len(keys) == 1 else tuple_(*keys)


def _compared(keys: Sequence[ColumnElement[object]], after: Key) -> ColumnElement[bool]:
    values = [_value(part) for part in after]
    if len(keys) == 1:
        return keys[0] > values[0]
    return tuple_(*keys) > tuple_(*values)
