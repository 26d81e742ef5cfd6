"""The properties that an old Office file states of itself, such as its title (MS-OLEPS)."""

import struct
from collections.abc import Mapping

from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.outlook_properties import code_page_name

_STREAM = "\x05SummaryInformation"
_CODE_PAGE, _TITLE = 1, 2
_NARROW, _WIDE = 0x1E, 0x1F
_UTF16 = 1200
_LONGEST = 4096


def stated_title(file: CompoundFile) -> str:
    """Return the title in a file's summary; empty without one."""
    data = file.read(file.root, _STREAM) or b""
    try:
        places = _properties(data)
        kind, length = struct.unpack_from("<LL", data, places[_TITLE])
    except (struct.error, KeyError):
        return ""
    start, page = places[_TITLE] + 8, _code_page(data, places)
    if kind == _WIDE or (kind == _NARROW and page == _UTF16):
        size = min(length * 2 if kind == _WIDE else length, _LONGEST)
        return data[start : start + size].decode("utf-16-le", errors="replace").split("\x00")[0]
    if kind != _NARROW:
        return ""
    narrow = data[start : start + min(length, _LONGEST)].split(b"\x00")[0]
    return decode_text(narrow, hint=code_page_name(page)).text if narrow else ""


def stated_charset(file: CompoundFile) -> str | None:
    """Return the charset of the texts in a file's summary."""
    data = file.read(file.root, _STREAM) or b""
    try:
        page = _code_page(data, _properties(data))
    except struct.error:
        return None
    return None if page == _UTF16 else code_page_name(page)


def _code_page(data: bytes, places: Mapping[int, int]) -> int | None:
    try:
        return int(struct.unpack_from("<H", data, places[_CODE_PAGE] + 4)[0])
    except (struct.error, KeyError):
        return None


def _properties(data: bytes) -> dict[int, int]:
    """Return where each property of the first set stands."""
    (section,) = struct.unpack_from("<L", data, 44)
    (count,) = struct.unpack_from("<L", data, section + 4)
    pairs = struct.iter_unpack("<LL", data[section + 8 : section + 8 + 8 * min(count, 1000)])
    return {number: section + offset for number, offset in pairs}
