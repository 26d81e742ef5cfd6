"""Documents of rows: Markdown with the columns as a list or as sections."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq.ingestion.sources.systems.sql.queries import SourceQuery
from analytiq.ingestion.sources.systems.sql.settings import SqlSettings
from analytiq.ingestion.sources.systems.sql.values import Key, as_field, as_text, external_id
from analytiq.ingestion.sources.texts.item_names import path_name
from analytiq.ingestion.sources.texts.wording import LONGEST_TEXT, one_line, plain

LONGEST_LINE = 200
"""Most characters of a value in a list; longer ones get a section."""
_PLACE = re.compile(r"\{([^{}\n]{1,200})\}")

RowValues = Mapping[str, object]


@dataclass(slots=True)
class RowGroup:
    """The rows of a key, in the order of the database."""

    key: Key
    rows: list[RowValues] = field(default_factory=list[RowValues])
    byte_size: int = 0
    is_too_large: bool = False

    def add(self, row: RowValues, *, most_bytes: int) -> None:
        """Add a row; those of a group that is too large are not kept."""
        if self.is_too_large:
            return
        self.byte_size += sum(len(value) if isinstance(value, str | bytes) else 16 for value in row.values())
        if self.byte_size > most_bytes:
            self.is_too_large = True
            self.rows = self.rows[:1]
        else:
            self.rows.append(row)


@dataclass(frozen=True, slots=True)
class RowDocument:
    """A document of rows."""

    external_id: str
    name: str
    content: bytes
    version: str
    fields: Mapping[str, JsonValue]


class RowDocuments:
    """Makes documents of rows."""

    def __init__(self, settings: SqlSettings, query: SourceQuery) -> None:
        self._settings = settings
        self._query = query

    def of(self, group: RowGroup) -> RowDocument:
        """Return the document of a group."""
        # The database may give the rows of a key in another order each time.
        rows = sorted(group.rows, key=_fingerprint)
        identity = external_id(group.key)
        first: RowValues = rows[0] if rows else {}
        named = as_text(first.get(self._query.title)) if self._query.title else ""
        title = one_line(named) or one_line(" / ".join(as_text(part) for part in group.key)) or "Row"
        fields = {name: as_field(first.get(name)) for name in (*self._query.keys, *self._query.metadata)}
        content = self._written(title, rows).encode("utf-8", "replace")
        version = hashlib.sha256(content)
        version.update(repr(sorted(fields.items())).encode("utf-8", "replace"))
        return RowDocument(
            external_id=identity,
            name=path_name([], title, ending=".md"),
            content=content,
            version=version.hexdigest(),
            fields={key: value for key, value in fields.items() if value is not None},
        )

    def _written(self, title: str, rows: Sequence[RowValues]) -> str:
        parts = [f"# {plain(title)}"]
        for number, row in enumerate(rows, start=1):
            is_one = len(rows) == 1
            if not is_one:
                named = one_line(as_text(row.get(self._query.title))) if self._query.title else ""
                heading = f"{number}. {named}" if named and named != title else f"Row {number}"
                parts.append(f"## {plain(heading)}")
            parts += self._sections(row, level="##" if is_one else "###")
        return "\n\n".join(parts) + "\n"

    def _sections(self, row: RowValues, *, level: str) -> list[str]:
        if self._settings.template:
            return [self._filled(row)]
        if self._query.texts:
            texts = [(name, self._shown(row.get(name))) for name in self._query.texts]
            if len(texts) == 1:
                return [text for _, text in texts if text.strip()]
            return [f"{level} {plain(one_line(name))}\n\n{text}" for name, text in texts if text.strip()]
        listed: list[str] = []
        sections: list[str] = []
        for name, value in row.items():
            text = as_text(value)
            if name == self._query.title or not text.strip():
                continue
            label = plain(one_line(name))
            if len(text) <= LONGEST_LINE and "\n" not in text:
                listed.append(f"- **{label}:** {plain(one_line(text))}")
            else:
                sections.append(f"{level} {label}\n\n{self._shown(value)}")
        return (["\n".join(listed)] if listed else []) + sections

    def _shown(self, value: object) -> str:
        text = as_text(value)[:LONGEST_TEXT].replace("\r\n", "\n").replace("\0", "")
        return text if self._settings.text_format == "markdown" else plain(text)

    def _filled(self, row: RowValues) -> str:
        names = {name.casefold(): name for name in row}

        def value(found: re.Match[str]) -> str:
            name = names.get(found[1].casefold())
            return found[0] if name is None else self._shown(row[name])

        return _PLACE.sub(value, self._settings.template)


def _fingerprint(row: RowValues) -> str:
    return "\x1f".join(as_text(value) for value in row.values())
