"""Old PowerPoint files: what is read of them."""

import struct
from pathlib import Path

import pytest

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.ppt import PptParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.compound_documents import compound

SAMPLES = Path(__file__).parents[2] / "data" / "documents" / "ppt"


def parse(path: Path) -> ParsedDocument:
    return PptParser().parse(path, ParseOptions(), lambda done, total: None)


def test_slides_are_pages_with_titles_texts_tables_and_notes() -> None:
    assert detect_content_type(SAMPLES / "harbour.ppt", file_name="x") == "application/vnd.ms-powerpoint"
    document = parse(SAMPLES / "harbour.ppt")
    assert document.title == "Plan of the harbour"
    assert [(page.name, page.text) for page in document.pages] == [
        (
            "Harbour plan",
            "# Harbour plan\n\nDredge the basin\n\nRenew the quay — größer\n\n## Notes\n\nMention the budget",
        ),
        (
            "Prices",
            "# Prices\n\nBerth | Fee\nBerth: North 1; Fee: 40 EUR\nBerth: South 2; Fee: 55 EUR\n\nFree text beside it",
        ),
    ]
    table = next(block.table for block in document.pages[1].blocks if block.table)
    assert table.header == ("Berth", "Fee")


def test_texts_of_the_outline_are_placeholders_of_their_slides() -> None:
    document = parse(SAMPLES / "basic_test_ppt_file.ppt")
    page = document.pages[1]
    assert page.text == (
        "# This is the title on page 2\n\n- This is page two\n- It has several blocks of text\n"
        "- None of them have formatting\n\n## Notes\n\nThese are the notes on page two, again lacking formatting"
    )
    assert [block.kind for block in page.blocks[:2]] == [BlockKind.HEADING, BlockKind.LIST_ITEM]


def test_slides_that_share_a_record_are_not_read_again_and_again(tmp_path: Path) -> None:
    def record(kind: int, content: bytes, *, instance: int = 0, is_container: bool = False) -> bytes:
        return struct.pack("<HHL", instance << 4 | (15 if is_container else 0), kind, len(content)) + content

    words = record(0x0FA8, b"word " * 2000)
    slide = record(0x03EE, record(0xF003, record(0xF004, record(0xF00D, words, is_container=True), is_container=True),
                                  is_container=True), is_container=True)  # fmt: skip
    places = record(0x03F3, struct.pack("<5L", 2, 0, 0, 256, 0)) * 100
    document = record(0x03E8, record(0x0FF0, places, is_container=True), is_container=True)
    directory = record(0x1772, struct.pack("<L2L", 1 | 2 << 20, 0, len(document)))
    before = len(document) + len(slide)
    edit = record(0x0FF5, struct.pack("<L4x3L8x", 0, 0, before, 1))
    user = struct.pack("<12xLL", 0xE391C05F, before + len(directory))
    path = tmp_path / "many.ppt"
    data = document + slide + directory + edit
    path.write_bytes(compound({"Current User": user, "PowerPoint Document": data}))
    parsed = parse(path)
    assert len(parsed.pages) == 100
    assert sum(page.text.count("word") for page in parsed.pages) == 2000


def test_truncated_presentation_is_read_or_said_to_be_damaged(tmp_path: Path) -> None:
    file = CompoundFile(SAMPLES / "harbour.ppt", noun="presentation")
    user, data = (file.read(file.root, name) or b"" for name in ("Current User", "PowerPoint Document"))
    path = tmp_path / "cut.ppt"
    for size in range(0, len(data), 997):
        path.write_bytes(compound({"Current User": user, "PowerPoint Document": data[:size]}))
        with pytest.raises(CorruptFileError, match="damaged"):
            parse(path)
