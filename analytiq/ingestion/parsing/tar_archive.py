"""TAR archives and compressed files (gzip, bzip2, xz): their files become documents of their own."""

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePath
from typing import IO, BinaryIO, cast

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import MAX_MEMBERS, MAX_RATIO, RATIO_FLOOR_BYTES
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.outcome_file import MAX_UNPACKED_BYTES
from analytiq.ingestion.parsing.part_list import list_of_parts
from analytiq.ingestion.parsing.parts import UNNAMED, NamingParser
from analytiq.models.text import ParsedDocument

BLOCK_BYTES = 256 * 1024
LINK = "a link"
_PACKED_NAMES = (".gz", ".bz2", ".xz", ".gzip", ".z")
_TAR_MARK, _TAR_MARK_AT = b"ustar", 257
_DAMAGES = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError, OverflowError)


class TarArchiveParser(NamingParser):
    """Reads the archive once, from front to end, and hands over its files one by one."""

    content_types = ("application/x-tar", "application/gzip", "application/x-bzip2", "application/x-xz")
    extensions = (".tar", ".tgz", ".gz", ".tbz2", ".bz2", ".txz", ".xz")

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Hand over the archive's files, or the one file that was compressed; links and devices are refused."""
        with path.open("rb") as packed:
            source = io.BufferedReader(_Bounded(packed), BLOCK_BYTES)
            warnings: tuple[str, ...] = ()
            try:
                head = source.peek(tarfile.BLOCKSIZE)
                if _is_tar(head):
                    _add_members(source, parts)
                else:
                    parts.add(_unpacked_name(options.file_name), _blocks(source))
            except _DAMAGES as error:
                if not parts.paths:
                    raise CorruptFileError(f"The archive is damaged ({error}): upload an undamaged copy.") from error
                warnings = (f"the archive is damaged ({error}): what follows its last listed part was not read",)
        report_progress(1, 1)
        return list_of_parts(parts, "archive", warnings=warnings)


class _Bounded(io.RawIOBase):
    """The unpacked content of a file, which ends with an error where it grows as a bomb does."""

    def __init__(self, packed: BinaryIO) -> None:
        super().__init__()
        self._packed_bytes = packed.seek(0, io.SEEK_END)
        packed.seek(0)
        head = packed.read(6)
        packed.seek(0)
        self._content = _opened(packed, head)
        self._unpacked_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] -- a part of the buffer protocol is enough
        data = self._content.read(len(buffer))
        self._unpacked_bytes += len(data)
        most = MAX_UNPACKED_BYTES * 2  # files that are not taken in are unpacked too
        if self._unpacked_bytes > most:
            raise LimitExceededError(f"The archive unpacks to more than {most // 1024**2} MiB. Split it.")
        if self._unpacked_bytes > max(RATIO_FLOOR_BYTES, MAX_RATIO * self._packed_bytes):
            raise LimitExceededError(
                f"The archive grows more than {MAX_RATIO} times on unpacking, as a bomb does. Upload its files instead."
            )
        buffer[: len(data)] = data
        return len(data)


def _opened(packed: BinaryIO, head: bytes) -> IO[bytes]:
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=packed))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(packed)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(packed)
    return packed


def _is_tar(head: bytes) -> bool:
    """Return True if this is the first block of a tar archive, also of one that is empty or of the oldest format."""
    if head[_TAR_MARK_AT : _TAR_MARK_AT + len(_TAR_MARK)] == _TAR_MARK:
        return True
    if len(head) < tarfile.BLOCKSIZE:
        return False
    block = head[: tarfile.BLOCKSIZE]
    if not any(block):
        return True
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


def _add_members(source: io.BufferedIOBase, parts: PartSink) -> None:
    count = 0
    with closing(tarfile.open(fileobj=source, mode="r|", bufsize=BLOCK_BYTES)) as archive:
        for member in archive:
            count += 1
            if count > MAX_MEMBERS:
                raise LimitExceededError(f"The archive has more than {MAX_MEMBERS:,} entries, the most. Split it.")
            if member.isdir():
                continue
            content = archive.extractfile(member) if member.isfile() else None
            if content is None:
                parts.refuse(_name(member), LINK if member.issym() or member.islnk() else "a device")
            else:
                parts.add(_name(member), _blocks(content))


def _name(member: tarfile.TarInfo) -> str:
    """Return the name; one that is not UTF-8 is read as Latin."""
    raw = member.name.encode("utf-8", "surrogateescape")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _blocks(content: IO[bytes]) -> Iterator[bytes]:
    while block := content.read(BLOCK_BYTES):
        yield block


def _unpacked_name(file_name: str) -> str:
    """Return the name of the one file in a compressed file: `report.csv` of `report.csv.gz`."""
    name = PurePath(file_name)
    if name.suffix.lower() in _PACKED_NAMES:
        return name.stem
    return file_name or UNNAMED
