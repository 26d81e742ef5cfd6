"""The properties of an Outlook message, of its recipients and of its attachments (MS-OXMSG)."""

import struct
from datetime import UTC, datetime, timedelta

from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.compound_file import CompoundFile, Storage

_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_UTF16_MARK = b"\xff\xfe"
_RTF_COMPRESSED = b"LZFu"
_RTF_DICTIONARY = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_DICTIONARY_BYTES = 4096


class Properties:
    """Reads the properties of one storage by their number."""

    def __init__(self, file: CompoundFile, storage: Storage, *, header_bytes: int, code_page: str | None) -> None:
        self._file = file
        self._storage = storage
        self._code_page = code_page
        self._fixed = _fixed_values(file.read(storage, "__properties_version1.0") or b"", header_bytes)

    def text(self, number: int) -> str:
        """Return a text; empty if the storage has none."""
        wide = self._file.read(self._storage, f"__substg1.0_{number:04x}001f")
        if wide is not None:
            return wide.removeprefix(_UTF16_MARK).decode("utf-16-le", errors="replace").rstrip("\x00")
        narrow = self._file.read(self._storage, f"__substg1.0_{number:04x}001e") or b""
        narrow = narrow.rstrip(b"\x00")
        return decode_text(narrow, hint=self._code_page).text if narrow else ""

    def data(self, number: int) -> bytes:
        """Return a value of bytes; empty if the storage has none."""
        return self._file.read(self._storage, f"__substg1.0_{number:04x}0102") or b""

    def number(self, number: int) -> int | None:
        """Return a number of 32 bits."""
        value = self._fixed.get(number)
        return None if value is None else value & 0xFFFFFFFF

    def moment(self, number: int) -> datetime | None:
        """Return a time; None if the storage has none, or none that a calendar knows."""
        value = self._fixed.get(number)
        if not value:
            return None
        try:
            return _EPOCH + timedelta(microseconds=value // 10)
        except OverflowError:
            return None


def code_page_name(number: int | None) -> str | None:
    """Return the charset of a Windows code page, under a name that e-mails use."""
    if not number:
        return None
    return {65001: "utf-8", 20127: "us-ascii", 28591: "iso-8859-1", 20866: "koi8-r", 50220: "iso-2022-jp"}.get(
        number, f"cp{number}" if number < 28591 else f"iso-8859-{number - 28590}" if number < 28606 else None
    )


def decompressed_rtf(data: bytes, most: int) -> bytes:
    """Return rich text from its compressed form (MS-OXRTFCP), at most `most` bytes of it."""
    if len(data) < 16:
        return b""
    if data[8:12] != _RTF_COMPRESSED:
        return data[16 : 16 + most]
    (size,) = struct.unpack_from("<L", data, 4)
    window = bytearray(_RTF_DICTIONARY.ljust(_DICTIONARY_BYTES, b"\x00"))
    write, output, at = len(_RTF_DICTIONARY), bytearray(), 16
    size = min(size, most)
    while at < len(data) and len(output) < size:
        control, at = data[at], at + 1
        for bit in range(8):
            if control >> bit & 1:
                reference, at = int.from_bytes(data[at : at + 2], "big"), at + 2
                read, length = reference >> 4, (reference & 15) + 2
                if at > len(data) or read == write:
                    return bytes(output)
            else:
                read, length = -1, 1
            for step in range(length):
                if read < 0:
                    if at >= len(data):
                        return bytes(output)
                    byte, at = data[at], at + 1
                else:
                    byte = window[(read + step) % _DICTIONARY_BYTES]
                output.append(byte)
                window[write] = byte
                write = (write + 1) % _DICTIONARY_BYTES
    return bytes(output[:size])


def _fixed_values(stream: bytes, header_bytes: int) -> dict[int, int]:
    """Return the 8 bytes of each property as a number."""
    values: dict[int, int] = {}
    for start in range(header_bytes, len(stream) - 15, 16):
        tag, _, value = struct.unpack_from("<LLQ", stream, start)
        values.setdefault(tag >> 16, value)
    return values
