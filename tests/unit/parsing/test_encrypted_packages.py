"""Encrypted archives, OpenDocument files and presentations, made by other programs, opened with their password."""

import base64
import hashlib
import os
import struct
import tempfile
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from analytiq.errors import EncryptedFileError, LimitExceededError, WrongPasswordError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.decryption import decrypted, room_for_copy
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.opendocument import OpenDocumentParser
from analytiq.ingestion.parsing.parts import PartCollector
from analytiq.ingestion.parsing.ppt import PptParser
from analytiq.ingestion.parsing.ppt_decryption import _cipher, _decrypt_objects, _Session
from analytiq.ingestion.parsing.sandbox import parse_in_child
from analytiq.ingestion.parsing.zip_archive import ZipArchiveParser

DATA = Path(__file__).parents[2] / "data" / "encrypted"
RIGHT, WRONG = "heron & crane", "Heron & crane"
OF_LIBREOFFICE = {"libreoffice-aes.odt": "heron & crané", "libreoffice-blowfish.odt": RIGHT}
OPTIONS = ParseOptions(max_pages=10, ocr_languages=())


def opened(path: Path, password: str) -> Path:
    room = room_for_copy(path, password)
    try:
        return decrypted(path, password, room)
    except BaseException:
        if room is not None:
            os.close(room)
        raise


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist() if not info.flag_bits & 1}


def text_of(path: Path) -> str:
    return OpenDocumentParser().parse(path, OPTIONS, lambda _, __: None).pages[0].text


@pytest.mark.parametrize("name", ["zipcrypto.zip", "aes256.zip"])
def test_members_of_an_archive_are_opened(name: str) -> None:
    assert members_of(opened(DATA / name, RIGHT)) == {
        "berth.txt": b"The berth costs 40 EUR.\n",
        "whales.txt": b"Whales sing in the deep for hours.\n",
    }


@pytest.mark.parametrize("name", ["zipcrypto.zip", "aes256.zip", *OF_LIBREOFFICE])
def test_wrong_password_says_so(name: str) -> None:
    with pytest.raises(WrongPasswordError, match="does not open the"):
        opened(DATA / name, WRONG)


def test_traditional_encryption_is_not_opened_by_any_password_with_the_right_check_byte() -> None:
    """One of 256 wrong passwords has the right check byte; the content tells them apart."""
    for number in range(300):
        with pytest.raises(WrongPasswordError):
            opened(DATA / "zipcrypto.zip", f"{number}")


def test_member_with_another_password_stays_locked() -> None:
    copy = opened(DATA / "mixed.zip", "other")
    assert list(members_of(copy)) == ["whales.txt"]
    with tempfile.TemporaryFile() as file:
        parts = PartCollector(file, most=10)
        ZipArchiveParser().parse_with_parts(copy, OPTIONS, lambda _, __: None, parts)
    assert parts.warnings()[0].startswith("1 part was not taken in: 'berth.txt' (needs a password: give")


def test_archive_of_locked_files_alone_asks_for_its_password() -> None:
    with pytest.raises(EncryptedFileError, match="The archive opens only with a password"):
        ZipArchiveParser().parse(DATA / "aes256.zip", OPTIONS, lambda _, __: None)


def test_changed_byte_of_an_authenticated_member_is_told(tmp_path: Path) -> None:
    content = bytearray((DATA / "aes256.zip").read_bytes())
    with zipfile.ZipFile(DATA / "aes256.zip") as archive:
        first, second = archive.infolist()
    content[second.header_offset - 12] ^= 1
    (tmp_path / "a.zip").write_bytes(content)
    assert list(members_of(opened(tmp_path / "a.zip", RIGHT))) == [second.filename]
    assert first.filename == "berth.txt"


def test_members_that_share_their_bytes_are_not_copied(tmp_path: Path) -> None:
    """Each of the overlapping members of a zip bomb would be a copy of its own."""
    content = (DATA / "zipcrypto.zip").read_bytes()
    start, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    first = content[start : content.index(b"PK\x01\x02", start + 4)]
    count = 50
    directory = first * count
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(directory), start, 0)
    assert end > start
    path = tmp_path / "bomb.zip"
    path.write_bytes(content[:start] + directory + tail)
    assert opened(path, RIGHT) == path


@pytest.mark.parametrize(("name", "password"), OF_LIBREOFFICE.items())
def test_document_of_libreoffice_is_opened(name: str, password: str) -> None:
    assert text_of(opened(DATA / name, password)) == (
        "# Harbour fees\n\nThe berth costs 40 EUR. Crème brûlée is served."
    )


def whole_package(path: Path, *, memory_kibibytes: int = 1024) -> Path:
    """Encrypt a package as one member, as LibreOffice does since version 24.2."""
    plain = opened(DATA / "libreoffice-blowfish.odt", RIGHT).read_bytes()
    salt, iv = os.urandom(16), os.urandom(12)
    start = hashlib.sha256(RIGHT.encode()).digest()
    key = Argon2id(salt=salt, length=32, iterations=3, lanes=4, memory_cost=1024).derive(start)
    deflating = zlib.compressobj(wbits=-15)
    deflated = deflating.compress(plain) + deflating.flush()
    manifest = f"""<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
      xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0">
     <m:file-entry m:full-path="encrypted-package" m:size="{len(plain)}"><m:encryption-data>
      <m:algorithm m:algorithm-name="http://www.w3.org/2009/xmlenc11#aes256-gcm"
       m:initialisation-vector="{base64.b64encode(iv).decode()}"/>
      <m:start-key-generation m:start-key-generation-name="http://www.w3.org/2001/04/xmlenc#sha256" m:key-size="32"/>
      <m:key-derivation m:key-size="32" m:salt="{base64.b64encode(salt).decode()}" loext:argon2-iterations="3"
       loext:argon2-memory="{memory_kibibytes}" loext:argon2-lanes="4"
       m:key-derivation-name="urn:org:documentfoundation:names:experimental:office:manifest:argon2id"/>
     </m:encryption-data></m:file-entry></m:manifest>"""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("encrypted-package", iv + AESGCM(key).encrypt(iv, deflated, None))
        archive.writestr("META-INF/manifest.xml", manifest)
    return path


def test_document_encrypted_as_a_whole_is_opened(tmp_path: Path) -> None:
    path = whole_package(tmp_path / "whole.odt")
    assert text_of(opened(path, RIGHT)).startswith("# Harbour fees")
    with pytest.raises(WrongPasswordError):
        opened(path, WRONG)


async def test_document_encrypted_as_a_whole_is_opened_in_the_sandbox(tmp_path: Path) -> None:
    """Argon2 takes threads, which other documents may not start there."""
    document = await parse_in_child(
        whole_package(tmp_path / "whole.odt"),
        content_type="application/vnd.oasis.opendocument.text",
        options=replace(OPTIONS, password=RIGHT),
        limits=ParseLimits(),
    )
    assert document.pages[0].text.startswith("# Harbour fees")


@pytest.mark.parametrize("kibibytes", [0, 4 * 1024 * 1024])
def test_derivation_that_would_cost_too_much_is_refused(tmp_path: Path, kibibytes: int) -> None:
    with pytest.raises(EncryptedFileError, match="method that is not read"):
        opened(whole_package(tmp_path / "slow.odt", memory_kibibytes=kibibytes), RIGHT)


def test_iterations_beyond_any_programs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "slow.odt"
    with zipfile.ZipFile(DATA / "libreoffice-aes.odt") as archive, zipfile.ZipFile(path, "w") as changed:
        for info in archive.infolist():
            content = archive.read(info).replace(b'iteration-count="100000"', b'iteration-count="2000000000"')
            changed.writestr(info, content)
    with pytest.raises(EncryptedFileError, match="more than 60,000,000 iterations"):
        opened(path, RIGHT)


def test_content_that_inflates_beyond_a_documents_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = whole_package(tmp_path / "whole.odt")
    monkeypatch.setattr("analytiq.ingestion.parsing.odf_decryption.MAX_UNPACKED_BYTES", 1000)
    with pytest.raises(LimitExceededError, match="larger than a document may be"):
        opened(path, RIGHT)


def test_presentation_of_powerpoint_is_opened() -> None:
    copy = opened(DATA / "powerpoint.ppt", "hello")
    page = PptParser().parse(copy, OPTIONS, lambda _, __: None).pages[0]
    assert page.text.startswith("# This is a protected document\n\n- It only has the one slide")
    assert "## Notes" in page.text
    with pytest.raises(WrongPasswordError, match="does not open the presentation"):
        opened(DATA / "powerpoint.ppt", "Hello")


def test_objects_of_a_presentation_that_share_their_bytes_are_decrypted_once() -> None:
    """Else a directory of many numbers for one place would take quadratic time, and spoil the object."""
    session = _Session(bytes(16), 128, bytes(16), bytes(20))
    data = bytearray(os.urandom(64))
    data[:8] = _cipher(session, "x", 1).update(b"\0\0\xe8\x03\x10\0\0\0")
    _decrypt_objects(data, dict.fromkeys(range(1, 5_000), 0), session, "x")
    assert data[:8] == b"\0\0\xe8\x03\x10\0\0\0"
