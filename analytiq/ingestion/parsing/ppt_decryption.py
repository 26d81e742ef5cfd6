"""Encrypted presentations of the old PowerPoint format, decrypted in place (MS-PPT 2.3.7, MS-OFFCRYPTO 2.3.5).

msoffcrypto-tool takes the next entry of the directory for the end of each object, and finds none for most files that
PowerPoint writes. Here each object says itself how long it is.
"""

import hashlib
import hmac
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, BinaryIO, cast

from analytiq.ingestion.parsing import ppt_records as kinds
from analytiq.ingestion.parsing.passwords import wrong_password
from analytiq.ingestion.parsing.ppt_records import directory_entries, record_at

DOCUMENT, USER = "PowerPoint Document", "Current User"
_TOKEN_AT, _EDIT_AT = 12, 16
_ENCRYPTED, _PLAIN = 0xF3D1C4DF, 0xE391C05F
_SESSION = 0x2F14
_CRYPTO_API, _RC4 = 2, 0x6801
_SESSION_NUMBER_AT = 28
_HEAD_BYTES = 8


@dataclass(frozen=True, slots=True)
class _Session:
    """The encryption of the objects; each has a key of its own, made of its number."""

    salt: bytes
    key_bits: int
    verifier: bytes
    verifier_hash: bytes


def ppt_writer(ole: object, password: str) -> Callable[[BinaryIO], object] | None:
    """Return a function that writes the presentation without encryption.

    Returns:
        None if the file is no such presentation, is not encrypted, or is damaged.

    Raises:
        WrongPasswordError: the password does not open it.
    """
    file = cast("Any", ole)
    if not (file.exists(USER) and file.exists(DOCUMENT)):
        return None
    user, data = bytearray(file.openstream(USER).read()), bytearray(file.openstream(DOCUMENT).read())
    if len(user) < _EDIT_AT + 4 or struct.unpack_from("<L", user, _TOKEN_AT)[0] != _ENCRYPTED:
        return None
    places, session_number = _directory(bytes(data), struct.unpack_from("<L", user, _EDIT_AT)[0])
    session = _session(bytes(data), places.pop(session_number, -1))
    if session is None:
        return None
    if not _is_right(session, password):
        raise wrong_password("presentation")
    _decrypt_objects(data, places, session, password)
    struct.pack_into("<L", user, _TOKEN_AT, _PLAIN)
    return lambda copy: _write(file, copy, {USER: bytes(user), DOCUMENT: bytes(data)})


def _directory(data: bytes, edit_at: int) -> tuple[dict[int, int], int]:
    """Return where each numbered object stands, and the number of the object that says how they are encrypted."""
    edit = record_at(data, edit_at, len(data))
    if edit is None or edit.kind != kinds.USER_EDIT or edit.end - edit.start < _SESSION_NUMBER_AT + 4:
        return {}, 0
    # An encrypted presentation has one edit: PowerPoint saves it as a whole.
    directory_at = struct.unpack_from("<L", data, edit.start + 12)[0]
    session_number = struct.unpack_from("<L", data, edit.start + _SESSION_NUMBER_AT)[0]
    return dict(directory_entries(data, directory_at)), session_number


def _session(data: bytes, start: int) -> _Session | None:
    record = record_at(data, start, len(data))
    if record is None or record.kind != _SESSION or record.end - record.start < 12:
        return None
    _, minor, _, header_bytes = struct.unpack_from("<HHLL", data, record.start)
    header = record.start + 12
    verifier = header + header_bytes
    if minor != _CRYPTO_API or header_bytes < 20 or verifier + 60 > record.end:
        return None
    algorithm, _, key_bits = struct.unpack_from("<3L", data, header + 8)
    if algorithm != _RC4:
        return None
    return _Session(
        salt=data[verifier + 4 : verifier + 20],
        key_bits=key_bits or 40,
        verifier=data[verifier + 20 : verifier + 36],
        verifier_hash=data[verifier + 40 : verifier + 60],
    )


def _key(session: _Session, password: str, number: int) -> bytes:
    first = hashlib.sha1(session.salt + password.encode("utf-16-le", "surrogatepass")).digest()  # noqa: S324 -- the format's
    key = hashlib.sha1(first + struct.pack("<L", number)).digest()[: session.key_bits // 8]  # noqa: S324
    return key.ljust(16, b"\0") if session.key_bits == 40 else key


def _cipher(session: _Session, password: str, number: int) -> Any:
    from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
    from cryptography.hazmat.primitives.ciphers import Cipher

    return Cipher(ARC4(_key(session, password, number)), mode=None).decryptor()


def _is_right(session: _Session, password: str) -> bool:
    cipher = _cipher(session, password, 0)
    verifier = cipher.update(session.verifier)
    return hmac.compare_digest(hashlib.sha1(verifier).digest(), cipher.update(session.verifier_hash))  # noqa: S324


def _decrypt_objects(data: bytearray, places: Mapping[int, int], session: _Session, password: str) -> None:
    """Decrypt the objects in the order of their places; leave one that overlaps another: the work is linear."""
    free_from = 0
    for number, start in sorted(places.items(), key=lambda item: item[1]):
        if start < free_from or start + _HEAD_BYTES > len(data):
            continue
        cipher = _cipher(session, password, number)
        head = cipher.update(bytes(data[start : start + _HEAD_BYTES]))
        end = min(start + _HEAD_BYTES + struct.unpack_from("<L", head, 4)[0], len(data))
        data[start:end] = head + cipher.update(bytes(data[start + _HEAD_BYTES : end]))
        free_from = end


def _write(file: Any, copy: BinaryIO, streams: Mapping[str, bytes]) -> None:
    import olefile

    source = file.fp
    source.seek(0)
    whole = BytesIO(source.read())
    changed = cast("Any", olefile).OleFileIO(whole, write_mode=True)
    for name, content in streams.items():
        changed.write_stream(name, content)
    copy.write(whole.getbuffer())
