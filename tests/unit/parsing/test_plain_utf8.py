"""Text that is read without a child must be read as the sandboxed parser reads it."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.plain_text import PassageParser, PlainTextParser, parse_utf8, passage_pages
from analytiq.ingestion.parsing.sanitize import sanitize_document
from analytiq.models.text import ParsedDocument


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain") / "file.txt"


def parsed(path: Path, data: bytes) -> ParsedDocument:
    path.write_bytes(data)
    return sanitize_document(PlainTextParser().parse(path, ParseOptions(), lambda done, total: None))


@given(st.text(st.characters(exclude_categories=["Cs"])).map(str.encode) | st.binary(max_size=200))
@example(b"\xef\xbb\xbfmarked\r\nlines\rof three kinds\n")
@example(b"\xef\xbb\xbf\xef\xbb\xbftwice")
@example(b'<?xml version="1.0" encoding="latin-1"?><a>\xc3\xa9</a>')
@example("controls \x01\x0b\x7f and \ufffe".encode())
def test_whatever_is_read_here_is_what_the_parser_makes_of_it(path: Path, data: bytes) -> None:
    document = parse_utf8(data)
    assert document is None or document == parsed(path, data)


@given(st.text(st.characters(exclude_categories=["Cs"])).map(str.encode) | st.binary(max_size=200))
@example(b"How?\n\nSo.\x0cThus.\n")
def test_passage_that_is_read_here_is_what_the_parser_makes_of_it(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    made = sanitize_document(PassageParser().parse(path, ParseOptions(), lambda done, total: None))
    document = parse_utf8(data, divide=passage_pages)
    assert document is None or document == made
    assert len(made.pages) == 1


@pytest.mark.parametrize(
    "data",
    [
        "höflich".encode("latin-1"),
        "wide".encode("utf-16"),
        "wide".encode("utf-16-le"),
        b"\x1b$B$3$s$K$A$O\x1b(B",
        b"cut off \xc3",
    ],
)
def test_what_has_to_be_guessed_is_left_to_the_sandbox(data: bytes) -> None:
    assert parse_utf8(data) is None


def test_plain_text_needs_no_guess() -> None:
    document = parse_utf8("naïve café, 東京".encode())
    assert document is not None
    assert document.pages[0].text == "naïve café, 東京"
