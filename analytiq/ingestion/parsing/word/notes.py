"""Footnotes and endnotes, in the order of their marks in the text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from analytiq.ingestion.parsing.word.names import attribute
from analytiq.ingestion.parsing.word.number_formats import roman
from analytiq.ingestion.parsing.xml_part import Element

NoteKind = Literal["footnote", "endnote"]
_LINES = frozenset({"separator", "continuationSeparator", "continuationNotice"})
"""Notes that are drawn between text and notes."""


@dataclass(slots=True)
class Notes:
    """The notes of a document; a mark is numbered when the reader meets it."""

    elements: dict[NoteKind, dict[str, Element]] = field(default_factory=dict[NoteKind, dict[str, Element]])
    _marks: dict[tuple[NoteKind, str], str] = field(default_factory=dict[tuple[NoteKind, str], str])
    _counts: dict[NoteKind, int] = field(default_factory=dict[NoteKind, int])
    _pending: dict[NoteKind, list[str]] = field(default_factory=dict[NoteKind, list[str]])

    def mark(self, kind: NoteKind, note_id: str, *, has_own_mark: bool) -> str:
        """Return the mark of a note in the text, such as `[1]`; "" if its author wrote one."""
        key = (kind, note_id)
        if note_id not in self.elements.get(kind, {}):
            return ""
        if key not in self._marks:
            if not has_own_mark:
                self._counts[kind] = self._counts.get(kind, 0) + 1
            count = self._counts.get(kind, 0)
            number = str(count) if kind == "footnote" else roman(count) or str(count)
            self._marks[key] = "" if has_own_mark else f"[{number}]"
            self._pending.setdefault(kind, []).append(note_id)
        return self._marks[key]

    def take(self, kind: NoteKind) -> Iterator[tuple[str, Element]]:
        """Yield the mark and the content of each note met since the last call."""
        for note_id in self._pending.pop(kind, ()):
            yield self._marks[kind, note_id], self.elements[kind][note_id]

    def take_unmarked(self) -> Iterator[Element]:
        """Yield the notes without a mark in the text."""
        for kind, elements in self.elements.items():
            for note_id, element in elements.items():
                if (kind, note_id) not in self._marks:
                    yield element


def notes_of(root: Element | None, kind: NoteKind) -> dict[str, Element]:
    """Return the notes of a part by their ids."""
    if root is None:
        return {}
    return {
        attribute(element, "id") or "": element
        for element in root.iterchildren(f"{{*}}{kind}")
        if attribute(element, "type") not in _LINES
    }
