"""Zip files from strangers: opened with limits, before anything is unpacked, and with one answer to all damage.

The formats that are zip packages (Word, Excel, PowerPoint, OpenDocument, EPUB) are all read inside `open_package`.
"""

import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from lxml import etree

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.containers import is_encrypted_office_file

MAX_MEMBERS = 20_000
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
MAX_RATIO = 200
"""Office XML of repetitive tables packs 50 to 100 times; a bomb of zeros packs 1,000 times."""
RATIO_FLOOR_BYTES = 16 * 1024 * 1024
"""Below it a member may pack as well as it likes: it cannot hurt."""


_DAMAGED = (
    BadZipFile,
    zlib.error,
    NotImplementedError,  # a member that is packed by a method which no office program uses
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
"""What the standard library, lxml and the formats' own libraries raise when parts are damaged, missing or swapped."""

_ENCRYPTED = 0x1
"""The bit of a member's flags that says it is unpacked only with a password."""


@contextmanager
def open_package(path: Path, *, noun: str, also_damaged: tuple[type[Exception], ...] = ()) -> Generator[ZipFile]:
    """Open a zip package for as long as it is read, by whatever library.

    Args:
        path: The file.
        noun: What its author calls it, as in "The workbook is damaged".
        also_damaged: What the format's own library raises, beside the usual, when the file is damaged.

    Raises:
        EncryptedFileError: it opens only with a password.
        CorruptFileError: it is damaged, as opening or reading it shows.
        LimitExceededError: too many members, or they unpack to too much.
    """
    if is_encrypted_office_file(path):
        raise _needs_password(noun)
    try:
        with _opened(path) as archive:
            members = archive.infolist()
            check_members(members)
            if any(member.flag_bits & _ENCRYPTED for member in members):
                raise _needs_password(noun)
            yield archive
    except (*_DAMAGED, *also_damaged) as error:
        raise CorruptFileError(f"The {noun} is damaged ({error}): upload an undamaged copy.") from error


def _needs_password(noun: str) -> EncryptedFileError:
    return EncryptedFileError(f"The {noun} opens only with a password: remove its password, then upload it again.")


def _opened(path: Path) -> ZipFile:
    try:
        return ZipFile(path)
    except (BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise CorruptFileError(f"The file's zip container is damaged ({error}): upload an undamaged copy.") from error


def check_members(members: list[ZipInfo]) -> None:
    """Refuse what would unpack to too much, by the zip's directory alone.

    The declared sizes can be trusted for this: `zipfile` never reads more of a member than it declares.

    Raises:
        LimitExceededError: too many members, or they unpack to too much.
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
