"""Files with a password, decrypted into memory before their parser reads them.

So no parser knows of passwords. The copy is a file without a name, which ends with the process.
"""

import os
import struct
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

from analytiq.errors import AnalytiqError, LimitExceededError
from analytiq.ingestion.parsing.compound_file import SIGNATURE
from analytiq.ingestion.parsing.containers import ZIP, zip_content_type
from analytiq.ingestion.parsing.odf_decryption import odf_writer
from analytiq.ingestion.parsing.passwords import wrong_password
from analytiq.ingestion.parsing.ppt_decryption import ppt_writer
from analytiq.ingestion.parsing.zip_decryption import zip_writer

_HEAD_BYTES = 64 * 1024
_PDF_WITHIN = 1024
_ZIP_SIGNATURE = b"PK\x03\x04"
_PASSWORD_OF_EXCEL = "VelvetSweatshop"  # noqa: S105 -- Excel's own, of workbooks that it opens without asking


def room_for_copy(path: Path, password: str | None) -> int | None:
    """Return the descriptor of an empty file in memory, if the file may need decryption.

    It compares bytes without interpreting any, so a process with rights may call it on any file.
    """
    with path.open("rb") as file:
        head = file.read(_PDF_WITHIN)
    has_password = password is not None and (b"%PDF-" in head or head.startswith(_ZIP_SIGNATURE))
    may_be_encrypted = has_password or head.startswith(SIGNATURE)
    return os.memfd_create("decrypted") if may_be_encrypted else None


def is_package(path: Path) -> bool:
    """Return True if the file begins like a ZIP package."""
    with path.open("rb") as file:
        return file.read(len(_ZIP_SIGNATURE)) == _ZIP_SIGNATURE


def decrypted(path: Path, password: str | None, room: int | None) -> Path:
    """Return the path of the decrypted file; that of the file itself if it is not encrypted, or no password is known.

    Raises:
        WrongPasswordError: the password does not open the file.
        LimitExceededError: the copy is too large.
    """
    if room is None:
        return path
    with path.open("rb") as file:
        write = _writer(path, file, password)
        if write is None:
            return path
        try:
            with open(room, "wb", closefd=False) as copy:
                write(copy)
        except OSError as error:
            raise LimitExceededError("The decrypted file is larger than a file may be: split it.") from error
    return Path(f"/proc/self/fd/{room}")


def content_type_of_copy(path: Path) -> str | None:
    """Return the kind of a decrypted office file, whose name alone told it before; None for another file."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        content_type = zip_content_type(file, head) if head.startswith(b"PK") else ZIP
    return None if content_type == ZIP else content_type


def _writer(path: Path, file: BinaryIO, password: str | None) -> Callable[[BinaryIO], object] | None:
    head = file.read(len(SIGNATURE))
    file.seek(0)
    if head == SIGNATURE:
        return _office_writer(file, password)
    if head.startswith(_ZIP_SIGNATURE):
        return odf_writer(file, password) or zip_writer(file, password)
    return _pdf_writer(path, password)


def _office_writer(file: BinaryIO, password: str | None) -> Callable[[BinaryIO], object] | None:
    import msoffcrypto  # 0.2 s, and few files are of its kinds
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError
    from msoffcrypto.format import doc97, ppt97, xls97

    for module in (doc97, ppt97, xls97):
        # It would create temporary files, which a parser must not.
        cast("Any", module).tempfile = SimpleNamespace(TemporaryFile=BytesIO)
    try:
        office = cast("Any", msoffcrypto).OfficeFile(file)
        if password is not None and office.format == "ppt97":
            return ppt_writer(office.ole, password)
        if not office.is_encrypted():
            return None
    except (FileFormatError, ParseError, *_DAMAGES):
        return None  # another compound file, or a damaged one: its parser says which
    for tried in (password, _PASSWORD_OF_EXCEL):
        if tried is None:
            continue
        with suppress(InvalidKeyError, DecryptionError):
            _load_key(office, tried)
            return cast("Callable[[BinaryIO], object]", office.decrypt)
    if password is None:
        return None
    raise wrong_password("file")


_DAMAGES = (
    struct.error,
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
)
"""Errors of msoffcrypto and olefile on files that are no sound office files."""


def _load_key(office: Any, password: str) -> None:
    if getattr(office, "format", "") == "ooxml":
        office.load_key(password=password, verify_password=True)
    else:
        office.load_key(password=password)


def _pdf_writer(path: Path, password: str | None) -> Callable[[BinaryIO], object] | None:
    import pikepdf

    try:
        pikepdf.open(path, suppress_warnings=True).close()
    except pikepdf.PasswordError:
        pass
    except (pikepdf.PdfError, AnalytiqError):
        return None  # damaged: its parser says how
    else:
        return None
    try:
        source = pikepdf.open(path, password=password or "", suppress_warnings=True)
    except pikepdf.PasswordError as error:
        raise wrong_password("PDF") from error
    except pikepdf.PdfError:
        return None
    return source.save
