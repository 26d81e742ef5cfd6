"""The files of an uploaded ZIP, each of which becomes a document of its own; the ZIP itself is not kept.

A ZIP is hostile until proven otherwise: its directory is read with a bound on its bytes, sizes and ratios are checked
before anything is unpacked, and `zipfile` never unpacks more of a member than the directory declares. Each refusal is
of its member alone.
"""

import io
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from analytiq.errors import (
    AnalytiqError,
    CorruptFileError,
    EncryptedFileError,
    InvalidInputError,
    LimitExceededError,
    UnsupportedFormatError,
)
from analytiq.ingestion.documents.naming import validated_path
from analytiq.ingestion.parsing.archive import MAX_RATIO, MAX_UNPACKED_BYTES, RATIO_FLOOR_BYTES
from analytiq.ingestion.parsing.zip_archive import member_names

BYTES_A_MEMBER = 2048
"""Most bytes that the directory may have for each allowed member: its 46, a name of 1,024, and extra fields."""
BLOCK_BYTES = 256 * 1024
_ENCRYPTED, _UNIX = 0x1, 3
_DAMAGES = (BadZipFile, zlib.error, EOFError, OSError, ValueError, IndexError)


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A file in a ZIP, or the reason for its refusal."""

    path: str
    """With its folders, as the ZIP has it."""
    byte_size: int
    info: ZipInfo
    error: AnalytiqError | None = None


class _BoundedReads(io.RawIOBase):
    """A file of which no single read may exceed a bound: `zipfile` reads the whole directory at once."""

    def __init__(self, file: BinaryIO, most_bytes: int) -> None:
        self._file = file
        self._most_bytes = most_bytes

    def read(self, size: int = -1, /) -> bytes:
        if size > self._most_bytes:
            raise LimitExceededError("The ZIP's directory has too many entries. Send several ZIPs.")
        # Without a size only the last 64 KiB are read, where the directory is looked for.
        return self._file.read(self._most_bytes if size < 0 else size)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


class UploadedZip:
    """An uploaded ZIP. Its methods block: call them in a thread."""

    def __init__(self, file: BinaryIO, *, max_members: int, max_member_bytes: int) -> None:
        """Read the directory.

        Raises:
            CorruptFileError: it is no ZIP, or damaged.
            LimitExceededError: it has too many members.
        """
        self._max_member_bytes = max_member_bytes
        # The end of the file is searched for the directory in one read of 64 KiB, a member is read in blocks.
        bounded = _BoundedReads(file, max(max_members * BYTES_A_MEMBER, 4 * BLOCK_BYTES))
        try:
            self._zip = ZipFile(bounded)
        except (*_DAMAGES, NotImplementedError) as error:
            raise CorruptFileError(f"The ZIP is damaged ({error}). Send an undamaged copy.") from error
        self._files = [info for info in self._zip.infolist() if not info.filename.endswith(("/", "\\"))]
        if len(self._files) > max_members:
            raise LimitExceededError(
                f"The ZIP has {len(self._files):,} files; at most {max_members:,} are allowed. Send several ZIPs."
            )

    def members(self) -> list[ZipMember]:
        """Return the files in their order; those with an error are not to be read."""
        members: list[ZipMember] = []
        unpacked_bytes = 0
        for info, path in zip(self._files, member_names(self._files), strict=True):
            error = self._refusal(info, path)
            if error is None:
                unpacked_bytes += info.file_size
                if unpacked_bytes > MAX_UNPACKED_BYTES:
                    error = LimitExceededError(
                        f"The ZIP unpacks to more than {MAX_UNPACKED_BYTES:,} bytes with this file. Send several ZIPs."
                    )
            members.append(ZipMember(path, info.file_size, info, error))
        return members

    def _refusal(self, info: ZipInfo, path: str) -> AnalytiqError | None:
        if info.flag_bits & _ENCRYPTED:
            return EncryptedFileError("The file is encrypted in the ZIP. Pack it without a password.")
        if info.create_system == _UNIX and stat.S_ISLNK(info.external_attr >> 16):
            return UnsupportedFormatError("A link, not a file. Pack the file itself.")
        if info.file_size > self._max_member_bytes:
            return LimitExceededError(f"The file has more than {self._max_member_bytes} bytes, the limit.")
        ratio = info.file_size / max(info.compress_size, 1)
        if info.file_size > RATIO_FLOOR_BYTES and ratio > MAX_RATIO:
            return LimitExceededError(
                f"The file would grow {ratio:.0f} times on unpacking, as a zip bomb does; at most {MAX_RATIO} times is"
                " allowed."
            )
        try:
            validated_path(path)
        except InvalidInputError as error:
            return error
        return None

    def blocks(self, member: ZipMember) -> Iterator[bytes]:
        """Unpack a member.

        Raises:
            CorruptFileError: its bytes are damaged.
            UnsupportedFormatError: its compression is unknown.
        """
        try:
            with self._zip.open(member.info) as file:
                while block := file.read(BLOCK_BYTES):
                    yield block
        except NotImplementedError as error:
            raise UnsupportedFormatError(
                "The file is compressed by an unknown method. Pack it with deflate, bzip2 or LZMA."
            ) from error
        except _DAMAGES as error:
            raise CorruptFileError(f"The file is damaged in the ZIP ({error}). Pack it again.") from error

    def close(self) -> None:
        """Close the ZIP."""
        self._zip.close()
