"""The records of an old PowerPoint presentation: containers and atoms, one within the other (MS-PPT)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_HEAD = struct.Struct("<HHL")
_DEEPEST = 64

USER_EDIT, PERSIST_DIRECTORY, SLIDE_LIST, SLIDE_PLACE = 0x0FF5, 0x1772, 0x0FF0, 0x03F3
SLIDE_ATOM, TEXT_HEAD, TEXT_WIDE, TEXT_NARROW, OUTLINE_TEXT = 0x03EF, 0x0F9F, 0x0FA0, 0x0FA8, 0x0F9E
SHAPE_GROUP, SHAPE, SHAPE_TEXT, CHILD_ANCHOR = 0xF003, 0xF004, 0xF00D, 0xF00F


@dataclass(frozen=True, slots=True)
class Record:
    """A record by its kind and the range of its content."""

    kind: int
    instance: int
    is_container: bool
    start: int
    end: int


def record_at(data: bytes, start: int, end: int) -> Record | None:
    """Return the record that begins at `start`; None if it does not fit."""
    if start < 0 or start + _HEAD.size > end:
        return None
    head, kind, size = _HEAD.unpack_from(data, start)
    first = start + _HEAD.size
    return Record(kind, head >> 4, head & 15 == 15, first, min(first + size, end))


def records_in(data: bytes, start: int, end: int) -> Iterator[Record]:
    """Yield the records of a range, one after the other."""
    at = start
    while (record := record_at(data, at, end)) is not None:
        yield record
        at = record.end


def descendants(data: bytes, record: Record, depth: int = 0) -> Iterator[Record]:
    """Yield the records inside a record in their order, each before its own."""
    for child in records_in(data, record.start, record.end):
        yield child
        if child.is_container and depth < _DEEPEST:
            yield from descendants(data, child, depth + 1)


def directory_entries(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield the number and the place of each object in the directory at `start`."""
    record = record_at(data, start, len(data))
    if record is None or record.kind != PERSIST_DIRECTORY:
        return
    at = record.start
    while at + 4 <= record.end:
        (head,) = struct.unpack_from("<L", data, at)
        first, count = head & 0xFFFFF, min(head >> 20, (record.end - at - 4) // 4)
        for index, place in enumerate(struct.unpack_from(f"<{count}L", data, at + 4)):
            yield first + index, place
        at += 4 + 4 * count
