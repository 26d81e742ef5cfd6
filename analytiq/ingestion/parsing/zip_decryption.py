"""Encrypted members of ZIP archives, written into a copy of the archive without encryption.

Sources: PKWARE's APPNOTE.TXT, sections 4.3 to 6.1 (headers and traditional encryption), and WinZip's "AES Encryption
Information" (AE-1 and AE-2). Members stay compressed in the copy. A member that the password does not open is copied
as it is, so that its parser says that it is locked.
"""

import bz2
import hashlib
import hmac
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from analytiq.ingestion.parsing.archive import MAX_MEMBERS, MAX_UNPACKED_BYTES
from analytiq.ingestion.parsing.passwords import wrong_password

BLOCK_BYTES = 1024 * 1024
"""Whole AES blocks."""
ENCRYPTED, STRONGLY_ENCRYPTED = 0x1, 0x40
_DESCRIPTOR = 0x8
_AES_METHOD, _AES_EXTRA = 99, 0x9901
_AES_ITERATIONS = 1000
_CHECK_BYTES, _MAC_BYTES = 2, 10
_TRADITIONAL_HEADER_BYTES = 12
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_AES_FIELD = struct.Struct("<H2sBH")


class _WrongKeyError(Exception):
    """The password does not open this member."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of the copy: where it begins, and what its headers say."""

    info: ZipInfo
    offset: int
    flags: int
    method: int
    crc: int
    stored_bytes: int
    extra: bytes


def zip_writer(file: BinaryIO, password: str | None) -> Callable[[BinaryIO], object] | None:
    """Return a function that writes the archive without encryption; None if there is nothing to decrypt.

    The function raises WrongPasswordError if the password opens no encrypted member.
    """
    if password is None:
        return None
    try:
        archive = ZipFile(file)
    except (BadZipFile, NotImplementedError, ValueError, EOFError, OSError):
        return None  # damaged: its parser says how
    members = archive.infolist()
    is_encrypted = any(member.flag_bits & ENCRYPTED for member in members)
    if not is_encrypted or len(members) > MAX_MEMBERS or _is_too_large(archive.start_dir, members):
        return None  # too large: its parser says so
    return lambda copy: _write(file, members, _passwords(password), copy)


def _is_too_large(packed_bytes: int, members: Sequence[ZipInfo]) -> bool:
    """Return True if the members unpack to too much, or overlap: then the copy could be of any size."""
    packed = sum(member.compress_size + _LOCAL.size + len(member.orig_filename) for member in members)
    return packed > packed_bytes or sum(member.file_size for member in members) > MAX_UNPACKED_BYTES


def _passwords(password: str) -> list[bytes]:
    """Return the password in the charsets of ZIP programs; they agree on ASCII."""
    encoded = [password.encode("utf-8", "surrogatepass")]
    for charset in ("cp1252", "cp437"):
        try:
            encoded.append(password.encode(charset))
        except UnicodeEncodeError:
            continue
    return list(dict.fromkeys(encoded))


def _write(file: BinaryIO, members: Sequence[ZipInfo], passwords: Sequence[bytes], copy: BinaryIO) -> None:
    written: list[_Member] = []
    tried = opened = 0
    for info in members:
        raw = _raw(file, info)
        if raw is None:
            continue  # damaged, and missing in the copy
        member = None
        if info.flag_bits & ENCRYPTED and not info.flag_bits & STRONGLY_ENCRYPTED:
            tried += 1
            member = _decrypted(raw, info, passwords, copy)
            opened += member is not None
        written.append(member or _copied(raw, info, copy))
    if tried and not opened:
        raise wrong_password("archive")
    _write_directory(written, copy)


@dataclass(frozen=True, slots=True)
class _Raw:
    """The stored bytes of a member."""

    file: BinaryIO
    start: int
    size: int

    def read(self, start: int, size: int) -> bytes:
        self.file.seek(self.start + start)
        return self.file.read(min(size, self.size - start))

    def blocks(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            block = self.read(start, min(BLOCK_BYTES, end - start))
            if not block:
                raise _WrongKeyError
            start += len(block)
            yield block


def _raw(file: BinaryIO, info: ZipInfo) -> _Raw | None:
    file.seek(info.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        return None
    name_bytes, extra_bytes = _LOCAL.unpack(header)[-2:]
    return _Raw(file, info.header_offset + _LOCAL.size + name_bytes + extra_bytes, info.compress_size)


def _copied(raw: _Raw, info: ZipInfo, copy: BinaryIO) -> _Member:
    offset = copy.tell()
    member = _Member(
        info, offset, info.flag_bits & ~_DESCRIPTOR, info.compress_type, info.CRC, info.compress_size, info.extra
    )
    copy.write(_local_header(member))
    copy.writelines(raw.read(start, BLOCK_BYTES) for start in range(0, raw.size, BLOCK_BYTES))
    return member


def _decrypted(raw: _Raw, info: ZipInfo, passwords: Sequence[bytes], copy: BinaryIO) -> _Member | None:
    """Write a member decrypted; return None, with nothing written, if no password opens it."""
    offset = copy.tell()
    for password in passwords:
        try:
            return _decrypted_with(raw, info, password, copy)
        except (_WrongKeyError, zlib.error, OSError, EOFError, ValueError):
            copy.seek(offset)
            copy.truncate()
    return None


def _decrypted_with(raw: _Raw, info: ZipInfo, password: bytes, copy: BinaryIO) -> _Member:
    method, blocks = info.compress_type, _traditional(raw, info, password)
    is_crc_known = True
    if method == _AES_METHOD:
        version, strength, method = _aes_field(info.extra)
        is_crc_known = version == 1
        blocks = _aes(raw, password, strength)
    offset = copy.tell()
    header_bytes = len(_local_header(_Member(info, offset, 0, method, 0, 0, b"")))
    copy.seek(offset + header_bytes)
    measure = _Measure(method, info.file_size)
    stored_bytes = 0
    for block in blocks:
        measure.add(block)
        stored_bytes += copy.write(block)
    if measure.size != info.file_size or (is_crc_known and measure.crc != info.CRC):
        raise _WrongKeyError
    member = _Member(info, offset, info.flag_bits & ~(ENCRYPTED | _DESCRIPTOR), method, measure.crc, stored_bytes, b"")
    end = copy.tell()
    copy.seek(offset)
    copy.write(_local_header(member))
    copy.seek(end)
    return member


class _Measure:
    """Size and checksum of what a compressed member unpacks to, to tell a wrong password."""

    def __init__(self, method: int, most_bytes: int) -> None:
        self._left = most_bytes
        self.size = self.crc = 0
        match method:
            case 0:
                self.add = self._count
            case 8:
                self.add = self._deflated_counter()
            case 12:
                self.add = self._bzip2_counter()
            case _:
                raise _WrongKeyError  # a method whose checksum is not known: the member stays locked

    def _deflated_counter(self) -> Callable[[bytes], None]:
        inflating = zlib.decompressobj(-15)

        def add(block: bytes) -> None:
            while block and not inflating.eof:
                self._count(inflating.decompress(block, BLOCK_BYTES))
                block = inflating.unconsumed_tail

        return add

    def _bzip2_counter(self) -> Callable[[bytes], None]:
        unpacking = bz2.BZ2Decompressor()

        def add(block: bytes) -> None:
            while not unpacking.eof:
                self._count(unpacking.decompress(block, BLOCK_BYTES))
                if unpacking.needs_input:
                    return
                block = b""

        return add

    def _count(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > self._left:
            raise _WrongKeyError
        self.crc = zlib.crc32(data, self.crc)


def _traditional(raw: _Raw, info: ZipInfo, password: bytes) -> Iterator[bytes]:
    keys = _Keys(password)
    header = keys.decrypt(raw.read(0, _TRADITIONAL_HEADER_BYTES))
    expected = _time_of(info) >> 8 if info.flag_bits & _DESCRIPTOR else info.CRC >> 24
    # Programs disagree about which of the two it is, if the sizes follow the data.
    if len(header) < _TRADITIONAL_HEADER_BYTES or header[-1] not in {expected, info.CRC >> 24}:
        raise _WrongKeyError
    for block in raw.blocks(_TRADITIONAL_HEADER_BYTES, raw.size):
        yield keys.decrypt(block)


_CRC_TABLE = tuple(zlib.crc32(bytes([value]), 0xFFFFFFFF) ^ 0xFFFFFFFF for value in range(256))


@cache
def _stream_bytes() -> bytes:
    """Return the byte that the lower half of the third key adds to the data, for each of its values."""
    return bytes(((value | 2) * ((value | 2) ^ 1) >> 8) & 0xFF for value in range(1 << 16))


class _Keys:
    """The three keys of the traditional encryption."""

    def __init__(self, password: bytes) -> None:
        self._keys = (0x12345678, 0x23456789, 0x34567890)
        for byte in password:
            self._advance(byte)

    def _advance(self, byte: int) -> None:
        first, second, third = self._keys
        first = (first >> 8) ^ _CRC_TABLE[(first ^ byte) & 0xFF]
        second = ((second + (first & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
        third = (third >> 8) ^ _CRC_TABLE[(third ^ (second >> 24)) & 0xFF]
        self._keys = first, second, third

    def decrypt(self, data: bytes) -> bytes:
        """Decrypt the next bytes; one loop with local names, since this is the cost of such an archive."""
        table, stream = _CRC_TABLE, _stream_bytes()
        first, second, third = self._keys
        plain = bytearray(data)
        for index, encrypted in enumerate(data):
            byte = encrypted ^ stream[third & 0xFFFF]
            plain[index] = byte
            first = (first >> 8) ^ table[(first ^ byte) & 0xFF]
            second = ((second + (first & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
            third = (third >> 8) ^ table[(third ^ (second >> 24)) & 0xFF]
        self._keys = first, second, third
        return bytes(plain)


def _aes_field(extra: bytes) -> tuple[int, int, int]:
    """Return version, strength and compression method from the AES field of a member."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        if kind == _AES_EXTRA and size >= _AES_FIELD.size and at + 4 + _AES_FIELD.size <= len(extra):
            version, _, strength, method = _AES_FIELD.unpack_from(extra, at + 4)
            return version, strength, method
        at += 4 + size
    raise _WrongKeyError


def _aes(raw: _Raw, password: bytes, strength: int) -> Iterator[bytes]:
    key_bytes = {1: 16, 2: 24, 3: 32}.get(strength)
    if key_bytes is None:
        raise _WrongKeyError
    salt_bytes = key_bytes // 2
    head = raw.read(0, salt_bytes + _CHECK_BYTES)
    salt, check = head[:salt_bytes], head[salt_bytes:]
    derived = hashlib.pbkdf2_hmac("sha1", password, salt, _AES_ITERATIONS, 2 * key_bytes + _CHECK_BYTES)
    if derived[2 * key_bytes :] != check:
        raise _WrongKeyError
    end = raw.size - _MAC_BYTES
    mac = hmac.new(derived[key_bytes : 2 * key_bytes], digestmod="sha1")
    key_stream = _KeyStream(derived[:key_bytes])
    for block in raw.blocks(len(head), end):
        mac.update(block)
        yield key_stream.decrypt(block)
    if not hmac.compare_digest(mac.digest()[:_MAC_BYTES], raw.read(end, _MAC_BYTES)):
        raise _WrongKeyError


class _KeyStream:
    """AES in counter mode with WinZip's counter, whose lowest byte is the first."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        # Blocks of the counter itself: no pattern of the data reaches this mode.
        self._cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
        self._counter = 1

    def decrypt(self, block: bytes) -> bytes:
        count = -(-len(block) // 16)
        counters = b"".join(number.to_bytes(16, "little") for number in range(self._counter, self._counter + count))
        self._counter += count
        stream = self._cipher.update(counters)[: len(block)]
        mixed = int.from_bytes(block, "little") ^ int.from_bytes(stream, "little")
        return mixed.to_bytes(len(block), "little")


def _name(info: ZipInfo) -> bytes:
    return info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")


def _time_of(info: ZipInfo) -> int:
    _, _, _, hour, minute, second = info.date_time
    return (hour << 11 | minute << 5 | second // 2) & 0xFFFF


def _date_of(info: ZipInfo) -> int:
    year, month, day = info.date_time[:3]
    return ((year - 1980) << 9 | month << 5 | day) & 0xFFFF


def _local_header(member: _Member) -> bytes:
    info, name = member.info, _name(member.info)
    sizes = (member.crc, member.stored_bytes, info.file_size)
    lengths = (len(name), len(member.extra))
    fields = (20, member.flags, member.method, _time_of(info), _date_of(info), *sizes, *lengths)
    return _LOCAL.pack(b"PK\x03\x04", *fields) + name + member.extra


def _write_directory(members: Sequence[_Member], copy: BinaryIO) -> None:
    start = copy.tell()
    for member in members:
        info, name = member.info, _name(member.info)
        version = info.create_system << 8 | 20
        times = (_time_of(info), _date_of(info))
        sizes = (member.crc, member.stored_bytes, info.file_size, len(name), len(member.extra), 0, 0, 0)
        fields = (version, 20, member.flags, member.method, *times, *sizes, info.external_attr, member.offset)
        copy.write(_CENTRAL.pack(b"PK\x01\x02", *fields) + name + member.extra)
    size = copy.tell() - start
    copy.write(_END.pack(b"PK\x05\x06", 0, 0, len(members), len(members), size, start, 0))
