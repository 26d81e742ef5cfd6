"""Entries of a folder, as SMB lists them ([MS-FSCC], FileIdFullDirectoryInformation)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_ENTRY = struct.Struct("<LL4QQQLLL4xQ")
_HIDDEN, _DIRECTORY, _DEVICE, _REPARSE_POINT = 0x2, 0x10, 0x40, 0x400
_STORED_OTHERWISE = frozenset({0x80000007, 0x80000013, 0x80000017})
"""Tags of files that the server stores in another way and opens as usual: single instance, deduplicated, compressed."""
_SINCE = datetime(1601, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SmbEntry:
    """An entry of a folder.

    Attributes:
        written: time of the last write, in units of 100 ns since 1601.
        changed: time of the last change of content, name or attributes, likewise.
        file_id: the server's number of the file; 0 if it has none.
    """

    name: str
    attributes: int
    reparse_tag: int
    byte_size: int
    written: int
    changed: int
    file_id: int

    @property
    def is_folder(self) -> bool:
        """A folder, or a link to one."""
        return bool(self.attributes & _DIRECTORY)

    @property
    def is_hidden(self) -> bool:
        """The server hides it from people."""
        return bool(self.attributes & _HIDDEN)

    @property
    def is_device(self) -> bool:
        """No regular file."""
        return bool(self.attributes & _DEVICE)

    @property
    def is_link(self) -> bool:
        """A symbolic link, junction, DFS link, or something else whose content is elsewhere."""
        return bool(self.attributes & _REPARSE_POINT) and self.reparse_tag not in _STORED_OTHERWISE

    @property
    def written_at(self) -> datetime | None:
        """The time of the last write; None if it is none of a calendar."""
        try:
            return _SINCE + timedelta(microseconds=self.written // 10)
        except OverflowError:
            return None


def entries_of(page: bytes) -> Iterator[SmbEntry]:
    """Yield the entries of a page.

    Raises:
        ValueError: the page is damaged.
    """
    at = 0
    while True:
        if at + _ENTRY.size > len(page):
            raise ValueError("An entry is cut off.")
        following, _, _, _, written, changed, byte_size, _, attributes, name_bytes, extra, file_id = _ENTRY.unpack_from(
            page, at
        )
        end = at + _ENTRY.size + name_bytes
        if end > len(page) or name_bytes % 2 or (following and following < _ENTRY.size + name_bytes):
            raise ValueError("A name is cut off.")
        name = page[at + _ENTRY.size : end].decode("utf-16-le", "surrogatepass")
        tag = extra if attributes & _REPARSE_POINT else 0
        yield SmbEntry(name, attributes, tag, byte_size, written, changed, file_id)
        if not following:
            return
        at += following
