"""Encrypted OpenDocument packages, written into a copy without encryption.

Sources: OpenDocument 1.2 part 3 and 1.3 part 2, sections on encryption (each member by itself, deflated and then
encrypted with AES-CBC or Blowfish), and LibreOffice 24.2 and later (the whole package as one member, with AES-GCM and
Argon2id).
"""

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from analytiq.errors import AnalytiqError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import MAX_MEMBERS, MAX_UNPACKED_BYTES, check_members
from analytiq.ingestion.parsing.passwords import wrong_password
from analytiq.ingestion.parsing.xml_part import Element, attributes_of, parsed_xml

MANIFEST = "META-INF/manifest.xml"
WHOLE = "encrypted-package"
MOST_ITERATIONS = 60_000_000
"""Of all members, each with a salt of its own; LibreOffice uses 100,000 for each, and this number takes 30 s."""
MOST_ARGON2_KIBIBYTES, MOST_ARGON2_PASSES, MOST_ARGON2_LANES = 256 * 1024, 16, 16
"""LibreOffice uses 64 MiB, three passes and four lanes."""
_UNREAD = ("Thumbnails/", "Configurations2/", "Basic/", "settings.xml", "layout-cache")
"""Members that no parser reads; opening each would cost a tenth of a second."""
_CHECKED_BYTES = 1024
_IV_BYTES, _AES_BLOCK_BYTES = 12, 16
_DAMAGES = (
    BadZipFile,
    NotImplementedError,
    ValueError,
    EOFError,
    OSError,
    KeyError,
    SyntaxError,
    zlib.error,
    AnalytiqError,
)


@dataclass(frozen=True, slots=True)
class _Locked:
    """The manifest's entry of an encrypted member."""

    path: str
    size: int
    cipher: str
    iv: bytes
    start_key: str
    derivation: Mapping[str, str]
    salt: bytes
    checksum_type: str
    checksum: bytes


def odf_writer(file: BinaryIO, password: str | None) -> Callable[[BinaryIO], object] | None:
    """Return a function that writes the package without encryption; None if it is not encrypted or damaged.

    The function raises WrongPasswordError if the password does not open the package, and EncryptedFileError for a
    method that is not read.
    """
    if password is None:
        return None
    try:
        archive = ZipFile(file)
        if len(archive.infolist()) > MAX_MEMBERS or MANIFEST not in archive.NameToInfo:
            return None
        check_members([archive.getinfo(MANIFEST)])
        locked = _locked_members(parsed_xml(archive.read(MANIFEST)))
    except _DAMAGES:
        return None  # its parser says what is wrong with it
    if not locked:
        return None
    return lambda copy: _write(archive, locked, password, copy)


def _locked_members(manifest: Element) -> dict[str, _Locked]:
    found: dict[str, _Locked] = {}
    for entry in manifest.iterfind("{*}file-entry"):
        data = entry.find("{*}encryption-data")
        if data is None:
            continue
        own, encryption = _attributes(entry), _attributes(data)
        cipher, start, derivation = (
            _attributes(data.find(f"{{*}}{name}")) for name in ("algorithm", "start-key-generation", "key-derivation")
        )
        path = own.get("full-path", "")
        found[path] = _Locked(
            path=path,
            size=int(own.get("size", "0")),
            cipher=cipher.get("algorithm-name", "").lower(),
            iv=_decoded(cipher.get("initialisation-vector", "")),
            start_key=start.get("start-key-generation-name", "sha1").lower(),
            derivation=derivation,
            salt=_decoded(derivation.get("salt", "")),
            checksum_type=encryption.get("checksum-type", "").lower(),
            checksum=_decoded(encryption.get("checksum", "")),
        )
    return found


def _attributes(element: Element | None) -> dict[str, str]:
    """Return the attributes by local name: later versions put some into namespaces of their own."""
    if element is None:
        return {}
    return {name.rpartition("}")[2]: value for name, value in attributes_of(element)}


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except binascii.Error as error:
        raise ValueError("no base64") from error


def _write(archive: ZipFile, locked: Mapping[str, _Locked], password: str, copy: BinaryIO) -> None:
    keys = _Keys(password)
    if WHOLE in locked:
        copy.write(_opened(archive.read(WHOLE), locked[WHOLE], keys, MAX_UNPACKED_BYTES))
        return
    left = MAX_UNPACKED_BYTES
    check_members(archive.infolist())
    with ZipFile(copy, "w", ZIP_DEFLATED, compresslevel=1) as plain:
        for info in archive.infolist():
            if info.filename == MANIFEST or info.filename.startswith(_UNREAD):
                continue  # the manifest would say that the members are encrypted, and no parser reads more of it
            content = archive.read(info)
            if info.filename in locked:
                content = _opened(content, locked[info.filename], keys, left)
            left -= len(content)
            plain.writestr(info.filename, content, ZIP_STORED if info.filename == "mimetype" else None)


def _opened(data: bytes, locked: _Locked, keys: "_Keys", most_bytes: int) -> bytes:
    """Return the content of a member.

    Raises:
        WrongPasswordError: the password does not open it.
        EncryptedFileError: it is encrypted by a method that is not read, or damaged.
        LimitExceededError: it unpacks to too much.
    """
    deflated = _decrypted(data, locked, keys.of(locked))
    if locked.checksum and not _is_right(deflated, locked):
        raise wrong_password("document")
    inflating = zlib.decompressobj(-15)
    try:
        content = inflating.decompress(deflated, most_bytes + 1)
    except zlib.error as error:
        raise wrong_password("document") from error
    if len(content) > most_bytes or inflating.unconsumed_tail:
        raise LimitExceededError("The decrypted document is larger than a document may be: split it.")
    return content


def _decrypted(data: bytes, locked: _Locked, key: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if locked.cipher.endswith("gcm"):
        # The vector stands in front of the data too, as XML encryption has it.
        body = data[_IV_BYTES:] if data.startswith(locked.iv) else data
        try:
            return AESGCM(key).decrypt(locked.iv, body, None)
        except (InvalidTag, ValueError) as error:
            raise wrong_password("document") from error
    try:
        if locked.cipher.endswith("cbc") and "aes" in locked.cipher:
            unlocking = Cipher(algorithms.AES(key), modes.CBC(locked.iv)).decryptor()
            padded = unlocking.update(data) + unlocking.finalize()
            return padded[: -padded[-1]] if padded and 0 < padded[-1] <= _AES_BLOCK_BYTES else padded
        if "blowfish" in locked.cipher:
            return _blowfish(data, key, locked.iv)
    except ValueError as error:
        raise EncryptedFileError("The encrypted document is damaged: upload an undamaged copy.") from error
    raise _not_read(locked.cipher)


def _blowfish(data: bytes, key: bytes, iv: bytes) -> bytes:
    from cryptography.hazmat.decrepit.ciphers.algorithms import Blowfish
    from cryptography.hazmat.decrepit.ciphers.modes import CFB
    from cryptography.hazmat.primitives.ciphers import Cipher

    unlocking = Cipher(Blowfish(key), CFB(iv)).decryptor()
    return unlocking.update(data) + unlocking.finalize()


def _is_right(deflated: bytes, locked: _Locked) -> bool:
    checked = deflated[:_CHECKED_BYTES] if locked.checksum_type.endswith("1k") else deflated
    algorithm = "sha256" if "sha256" in locked.checksum_type else "sha1"
    return hashlib.new(algorithm, checked).digest() == locked.checksum


def _not_read(method: str) -> EncryptedFileError:
    return EncryptedFileError(
        f"The document is encrypted by a method that is not read ({method[-60:]}): remove its password, then upload it"
        " again."
    )


class _Keys:
    """Keys by their derivation, since each costs a tenth of a second and members may share one."""

    def __init__(self, password: str) -> None:
        self._password = password.encode("utf-8", "surrogatepass")
        self._known: dict[tuple[object, ...], bytes] = {}
        self._iterations_left = MOST_ITERATIONS

    def of(self, locked: _Locked) -> bytes:
        """Return the key of a member.

        Raises:
            EncryptedFileError: its derivation is not read, or would take too long.
        """
        parameters = (locked.start_key, locked.salt, *sorted(locked.derivation.items()))
        if parameters not in self._known:
            algorithm = "sha256" if locked.start_key.endswith("sha256") else "sha1"
            start = hashlib.new(algorithm, self._password).digest()
            self._known[parameters] = self._derived(start, locked)
        return self._known[parameters]

    def _derived(self, start: bytes, locked: _Locked) -> bytes:
        stated = locked.derivation
        name = stated.get("key-derivation-name", "").lower()
        try:
            key_bytes = int(stated.get("key-size", "16"))
            if key_bytes not in (16, 24, 32):
                raise _not_read(f"a key of {key_bytes} bytes")
            if name.endswith("pbkdf2"):
                iterations = int(stated.get("iteration-count", "1024"))
                self._iterations_left -= max(iterations, 0)
                if iterations < 1 or self._iterations_left < 0:
                    raise _not_read(f"more than {MOST_ITERATIONS:,} iterations")
                return hashlib.pbkdf2_hmac("sha1", start, locked.salt, iterations, key_bytes)
            if name.endswith("argon2id"):
                return _argon2(start, locked.salt, key_bytes, stated)
        except ValueError as error:
            raise EncryptedFileError("The encrypted document is damaged: upload an undamaged copy.") from error
        raise _not_read(name)


def _argon2(start: bytes, salt: bytes, key_bytes: int, stated: Mapping[str, str]) -> bytes:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    passes, kibibytes, lanes = (int(stated.get(f"argon2-{name}", "0")) for name in ("iterations", "memory", "lanes"))
    if not (
        0 < passes <= MOST_ARGON2_PASSES and 0 < kibibytes <= MOST_ARGON2_KIBIBYTES and 0 < lanes <= MOST_ARGON2_LANES
    ):
        raise _not_read(f"argon2 of {passes} passes, {kibibytes} KiB, {lanes} lanes")
    try:
        return Argon2id(salt=salt, length=key_bytes, iterations=passes, lanes=lanes, memory_cost=kibibytes).derive(
            start
        )
    except UnsupportedAlgorithm as error:
        raise _not_read("argon2id") from error
