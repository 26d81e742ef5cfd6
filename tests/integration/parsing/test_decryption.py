"""Encrypted files in the sandbox: the right password, a wrong one, and none."""

from pathlib import Path

import pytest

from analytiq.errors import EncryptedFileError, WrongPasswordError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.sandbox import parse_in_child
from analytiq.models.text import ParsedDocument

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"
SAMPLES = [
    ("pdf/password.pdf", "password", "File with password"),
    ("doc/password_tika_binaryrc4.doc", "tika", "This is an encrypted Word 2007 File."),
    ("xls/xor-encryption-abc.xls", "abc", "# Sheet1\n\n1\n2\n3"),
    ("xlsx/prices-encrypted.xlsx", "geheim", "Article: Quince jam"),
]


async def parse(path: Path, password: str | None, *, name: str = "") -> ParsedDocument:
    content_type = detect_content_type(path, file_name=name)
    return await parse_in_child(
        path, content_type=content_type, options=ParseOptions(password=password), limits=ParseLimits()
    )


@pytest.mark.parametrize(("name", "password", "phrase"), SAMPLES)
async def test_right_password_opens_a_file(name: str, password: str, phrase: str) -> None:
    document = await parse(DOCUMENTS / name, password)
    assert phrase in document.pages[0].text


@pytest.mark.parametrize(("name", "password", "phrase"), SAMPLES)
async def test_wrong_password_is_told_apart_from_none(name: str, password: str, phrase: str) -> None:
    with pytest.raises(WrongPasswordError, match="does not open"):
        await parse(DOCUMENTS / name, f"not {password}")
    with pytest.raises(EncryptedFileError, match="give the document its password") as raised:
        await parse(DOCUMENTS / name, None)
    assert not isinstance(raised.value, WrongPasswordError)
    assert phrase not in raised.value.detail


async def test_kind_of_an_encrypted_file_is_known_once_it_is_open() -> None:
    document = await parse(DOCUMENTS / "xlsx" / "prices-encrypted.xlsx", "geheim", name="download")
    assert [page.name for page in document.pages] == ["Prices", "Hours"]


async def test_password_of_a_file_without_one_changes_nothing() -> None:
    for name in ("pdf/fake-memo.pdf", "doc/manual.doc", "xls/prices.xls", "xlsx/stanley-cups.xlsx"):
        assert await parse(DOCUMENTS / name, "unneeded") == await parse(DOCUMENTS / name, None)


def test_password_is_not_part_of_what_options_show() -> None:
    assert "geheim" not in repr(ParseOptions(password="geheim"))
