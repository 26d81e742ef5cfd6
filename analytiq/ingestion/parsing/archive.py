"""Zip files from strangers: opened with limits, before anything is unpacked, and with one error for all damage.

The formats that are zip packages (Word, Excel, PowerPoint, OpenDocument, EPUB) are all read inside `open_package`.
"""

import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from lxml import etree

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.containers import is_encrypted_office_file
from analytiq.ingestion.parsing.passwords import needs_password

MAX_MEMBERS = 20_000
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
MAX_RATIO = 200
"""Office XML of repetitive tables compresses 50 to 100 times; a bomb of zeros compresses 1,000 times."""
RATIO_FLOOR_BYTES = 16 * 1024 * 1024
"""Size below which any ratio is allowed, since a small member is harmless."""


_DAMAGED = (
    BadZipFile,
    zlib.error,
    NotImplementedError,  # a member compressed by a method that no office program uses
    etree.XMLSyntaxError,
    SyntaxError,  # an ElementTree.ParseError is one
    AttributeError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
)
"""Errors of the standard library, lxml and the formats' own libraries for damaged, missing or swapped parts."""

_LIBRARY_LIMIT = "XML_PARSE_HUGE"
"""The option that libxml2 names in each error about a limit of its own."""
_ENCRYPTED = 0x1
"""The bit of a member's flags for encryption with a password."""


@contextmanager
def open_package(path: Path, *, noun: str, also_damaged: tuple[type[Exception], ...] = ()) -> Generator[ZipFile]:
    """Open a zip package for as long as any library reads it.

    Args:
        path: The file.
        noun: The author's word for it, as in "The workbook is damaged".
        also_damaged: Further errors of the format's own library for a damaged file.

    Raises:
        EncryptedFileError: it opens only with a password.
        CorruptFileError: it is damaged, as opening or reading it shows.
        LimitExceededError: it has too many members, they unpack to too much, or their XML is nested too deeply.
    """
    if is_encrypted_office_file(path):
        raise needs_password(noun)
    try:
        with _opened(path) as archive:
            members = archive.infolist()
            check_members(members)
            if any(member.flag_bits & _ENCRYPTED for member in members):
                raise needs_password(noun)
            yield archive
    except (*_DAMAGED, *also_damaged) as error:
        if _LIBRARY_LIMIT in str(error):
            raise LimitExceededError(
                f"The {noun} is beyond what is read: its parts are nested more than 256 deep, or one text has more than"
                " 10 MB. Simplify it or split it."
            ) from error
        raise CorruptFileError(f"The {noun} is damaged ({error}): upload an undamaged copy.") from error


def _opened(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except (BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise CorruptFileError(f"The file's zip container is damaged ({error}): upload an undamaged copy.") from error


def check_members(members: list[ZipInfo]) -> None:
    """Refuse a package that would unpack to too much, by the zip's directory alone.

    The declared sizes are reliable for this: `zipfile` never reads more of a member than it declares.

    Raises:
        LimitExceededError: it has too many members, or they unpack to too much.
    """
    if len(members) > MAX_MEMBERS:
        raise LimitExceededError(
            f"The file's zip container has {len(members)} members; at most {MAX_MEMBERS} are read."
        )
    total = sum(member.file_size for member in members)
    if total > MAX_UNPACKED_BYTES:
        raise LimitExceededError(
            f"The file unpacks to {total} bytes; at most {MAX_UNPACKED_BYTES} are unpacked. Split it."
        )
    for member in members:
        ratio = member.file_size / max(member.compress_size, 1)
        if member.file_size > RATIO_FLOOR_BYTES and ratio > MAX_RATIO:
            raise LimitExceededError(
                f"The member {member.filename!r} would grow {ratio:.0f} times on unpacking, as a zip bomb "
                f"does; at most {MAX_RATIO} times is allowed."
            )
