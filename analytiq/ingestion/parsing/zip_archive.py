"""ZIP archives: their files become documents of their own."""

import stat
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import MAX_MEMBERS, MAX_RATIO, RATIO_FLOOR_BYTES
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.part_list import list_of_parts
from analytiq.ingestion.parsing.parts import NamingParser, UnreadablePartError
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.models.parts import LOCKED
from analytiq.models.text import ParsedDocument

BLOCK_BYTES = 256 * 1024
DAMAGED = "damaged"
LINK = "a link"

_ENCRYPTED, _UTF8_NAME = 0x1, 0x800
_UNIX = 3
_DAMAGES = (BadZipFile, zlib.error, EOFError, OSError, ValueError, IndexError)


class ZipArchiveParser(NamingParser):
    """Lists the archive's files, and hands them over one by one."""

    content_types = ("application/zip",)
    extensions = (".zip",)

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Hand over the archive's files; encrypted and damaged ones and links are refused one by one.

        Raises:
            EncryptedFileError: all files are encrypted.
            CorruptFileError, LimitExceededError: the archive is damaged, or unpacks to too much.
        """
        try:
            archive = ZipFile(path)
        except (*_DAMAGES, NotImplementedError) as error:
            raise CorruptFileError(f"The archive is damaged ({error}): upload an undamaged copy.") from error
        with archive:
            members = archive.infolist()
            _check(members, path.stat().st_size)
            names = member_names(members)
            files = [(member, name) for member, name in zip(members, names, strict=True) if not _is_folder(member)]
            if files and all(member.flag_bits & _ENCRYPTED for member, _ in files):
                raise needs_password("archive")
            for done, (member, name) in enumerate(files, start=1):
                _add(archive, member, name, parts)
                report_progress(done, len(files))
        report_progress(1, 1)
        return list_of_parts(parts, "archive")


def _check(members: Sequence[ZipInfo], byte_size: int) -> None:
    """Refuse a zip bomb by its directory alone; `zipfile` never reads more of a member than it declares."""
    if len(members) > MAX_MEMBERS:
        raise LimitExceededError(
            f"The archive has {len(members):,} entries; at most {MAX_MEMBERS:,} are read. Split it."
        )
    total = sum(member.file_size for member in members)
    ratio = total / max(byte_size, 1)
    if total > RATIO_FLOOR_BYTES and ratio > MAX_RATIO:
        raise LimitExceededError(
            f"The archive would grow {ratio:,.0f} times on unpacking, as a zip bomb does; at most {MAX_RATIO} times is"
            " allowed."
        )


def _is_folder(member: ZipInfo) -> bool:
    return member.filename.endswith(("/", "\\"))


def _add(archive: ZipFile, member: ZipInfo, name: str, parts: PartSink) -> None:
    if member.create_system == _UNIX and stat.S_ISLNK(member.external_attr >> 16):
        parts.refuse(name, LINK)
    elif member.flag_bits & _ENCRYPTED:
        parts.refuse(name, LOCKED)
    else:
        parts.add(name, _content(archive, member))


def _content(archive: ZipFile, member: ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(member) as file:
            while block := file.read(BLOCK_BYTES):
                yield block
    except NotImplementedError as error:
        raise UnreadablePartError("compressed by a method that is not read") from error
    except _DAMAGES as error:
        raise UnreadablePartError(DAMAGED) from error


def member_names(members: Sequence[ZipInfo]) -> list[str]:
    """Return the members' names; those without a mark for UTF-8 are read in one charset, guessed from all of them."""
    unmarked: dict[int, bytes] = {}
    for index, member in enumerate(members):
        if not member.flag_bits & _UTF8_NAME and not member.orig_filename.isascii():
            unmarked[index] = member.orig_filename.encode("cp437")
    names = [member.orig_filename.partition("\0")[0] for member in members]
    if unmarked:
        decoded = _decoded(list(unmarked.values()))
        names = [decoded.pop(0) if index in unmarked else name for index, name in enumerate(names)]
    return names


def _decoded(raw: list[bytes]) -> list[str]:
    guessed = decode_text(b"\n".join(raw)).text.split("\n")
    if len(guessed) != len(raw) or "\ufffd" in "".join(guessed):
        return [name.decode("cp437") for name in raw]
    return guessed
