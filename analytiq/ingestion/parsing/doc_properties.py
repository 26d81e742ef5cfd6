"""The properties of paragraphs and characters of an old Word document: pages of formatted runs (MS-DOC, FKP)."""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE = 512
_PARAGRAPH_PLACE_BYTES, _CHARACTER_PLACE_BYTES = 13, 1
_OPERAND_BYTES = (1, 1, 2, 4, 2, 2, 0, 3)
"""By the upper three bits of a property's number; 0: the operand states its length."""
_TABLE_DEFINITION = 0xD608

_IN_TABLE, _ROW_END, _INNER_CELL, _INNER_ROW_END, _HEADER_ROW = 0x2416, 0x2417, 0x244B, 0x244C, 0x3404
_LEVEL, _LIST, _OUTLINE_LEVEL = 0x260A, 0x460B, 0x2640
_HIDDEN, _DELETED = 0x083C, 0x0800
_HEADING_STYLES = range(1, 10)


@dataclass(frozen=True, slots=True)
class ParagraphProperties:
    """The part of a paragraph's properties that is structure."""

    heading_level: int = 0
    list_depth: int = 0
    is_in_table: bool = False
    ends_row: bool = False
    ends_inner_cell: bool = False
    is_header_row: bool = False


class Runs:
    """Runs of the file with their properties, by the place of a character in the file."""

    def __init__(self, main: bytes, table: bytes, place_bytes: int) -> None:
        self._main = main
        runs = sorted(_runs(main, table, place_bytes))
        self._starts = [start for start, _, _ in runs]
        self._runs = runs

    def at(self, place: int) -> int:
        """Return where the properties of the character stand; 0 for one without."""
        index = bisect_right(self._starts, place) - 1
        return self._runs[index][2] if index >= 0 and place < self._runs[index][1] else 0

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the runs that overlap a part of the file."""
        index = max(bisect_right(self._starts, start) - 1, 0)
        while index < len(self._runs) and self._runs[index][0] < end:
            if self._runs[index][1] > start:
                yield self._runs[index]
            index += 1


def paragraph_runs(main: bytes, table: bytes) -> Runs:
    """Return the runs of paragraphs."""
    return Runs(main, table, _PARAGRAPH_PLACE_BYTES)


def character_runs(main: bytes, table: bytes) -> Runs:
    """Return the runs of characters."""
    return Runs(main, table, _CHARACTER_PLACE_BYTES)


def paragraph_properties(main: bytes, place: int) -> ParagraphProperties:
    """Read the properties of a paragraph."""
    if not place:
        return ParagraphProperties()
    words, start = main[place], place + 1
    size = 2 * words - 1 if words else 2 * main[start]
    start += not words
    values = dict(_properties(main[start + 2 : start + size]))
    style = int.from_bytes(main[start : start + 2], "little")
    outline = values.get(_OUTLINE_LEVEL, 9) + 1
    return ParagraphProperties(
        heading_level=style if style in _HEADING_STYLES else outline if outline <= 9 else 0,
        list_depth=values.get(_LEVEL, 0) + 1 if values.get(_LIST, 0) else 0,
        is_in_table=bool(values.get(_IN_TABLE)),
        ends_row=bool(values.get(_ROW_END)),
        ends_inner_cell=bool(values.get(_INNER_CELL) or values.get(_INNER_ROW_END)),
        is_header_row=bool(values.get(_HEADER_ROW)),
    )


def character_flags(main: bytes, place: int) -> tuple[bool, bool]:
    """Return whether characters are hidden, and whether a tracked change deletes them."""
    if not place:
        return False, False
    values = dict(_properties(main[place + 1 : place + 1 + main[place]]))
    return bool(values.get(_HIDDEN, 0) & 1), bool(values.get(_DELETED, 0) & 1)


def _runs(main: bytes, table: bytes, place_bytes: int) -> Iterator[tuple[int, int, int]]:
    pages = (len(table) - 4) // 8
    if pages <= 0:
        return
    # A page of runs named twice would be read twice.
    numbers = dict.fromkeys(struct.unpack_from(f"<{pages}L", table, 4 * (pages + 1)))
    for number in numbers:
        start = (number & 0x3FFFFF) * _PAGE
        page = main[start : start + _PAGE]
        if len(page) < _PAGE:
            continue
        count = page[-1]
        places = 4 * (count + 1)
        if places + count * place_bytes > _PAGE:
            continue
        limits = struct.unpack_from(f"<{count + 1}L", page)
        for index in range(count):
            offset = 2 * page[places + index * place_bytes]
            if limits[index] < limits[index + 1]:
                yield limits[index], limits[index + 1], start + offset if offset else 0


def _properties(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 3 <= len(data):
        number, at = int.from_bytes(data[at : at + 2], "little"), at + 2
        size = _OPERAND_BYTES[number >> 13]
        if number == _TABLE_DEFINITION:
            size = int.from_bytes(data[at : at + 2], "little") + 1
        elif not size:
            size = data[at] + 1
        yield number, int.from_bytes(data[at : at + min(size, 4)], "little")
        at += size
