"""Old Word and Excel files: what is read of them, and what is left out."""

import struct
from pathlib import Path

import pytest

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.doc import DocParser
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.xls import XlsParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument
from tests.unit.parsing.compound_documents import compound

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"


def parse_doc(path: Path) -> ParsedDocument:
    return DocParser().parse(path, ParseOptions(), lambda done, total: None)


def parse_xls(path: Path) -> ParsedDocument:
    return XlsParser().parse(path, ParseOptions(), lambda done, total: None)


def test_word_document_keeps_headings_lists_tables_and_every_alphabet() -> None:
    document = parse_doc(DOCUMENTS / "doc" / "manual.doc")
    page = document.pages[0]
    assert document.title == "Berth manual"
    assert page.text == (
        "# Mooring\n\nMoor with two lines.\n\n## Fees\n\nBerth | Fee\nBerth: North 1; Fee: 40 EUR\n"
        "Berth: South 2; Fee: 55 EUR\n\n- Pay in advance\n  - by card\n- Keep the receipt\n\n"
        "Größe 12 € „Zitat“ 日本語 😀"
    )
    kinds = [(block.kind, block.level, page.text[block.start : block.end].split("\n")[0]) for block in page.blocks]
    assert (BlockKind.HEADING, 2, "Fees") in kinds
    assert (BlockKind.LIST_ITEM, 2, "by card") in kinds
    table = next(block.table for block in page.blocks if block.table)
    assert table.header == ("Berth", "Fee")


def test_word_document_leaves_out_hidden_words_and_instructions_of_fields() -> None:
    document = parse_doc(DOCUMENTS / "doc" / "clauses.doc")
    assert document.pages[0].text == (
        "Visible words stay.\n\nSee the terms and page 7.\n\nA claim is made.\n\nLeft alone.\n\nProof of the claim."
    )
    assert document.pages[0].blocks[-1].kind is BlockKind.FOOTNOTE
    assert any("2 hidden words" in warning for warning in document.warnings)


def test_workbook_shows_values_as_excel_does_and_leaves_out_what_is_hidden() -> None:
    document = parse_xls(DOCUMENTS / "xls" / "prices.xls")
    assert document.title == "Prices of preserves"
    assert [page.name for page in document.pages] == ["Prices", "Hours"]
    assert document.pages[0].text == (
        "# Prices\n\nPrice list 2024\n\nArticle | 2024 Net | 2024 Gross | Valid from\n"
        "Article: Quince jam; 2024 Net: 3.50 EUR; 2024 Gross: 4.17 EUR; Valid from: 2024-03-05\n"
        "Article: Medlar jelly; 2024 Net: 12.00 EUR; 2024 Gross: 14.28 EUR; Valid from: 2023-12-31\n\n"
        "## Notes\n\n- B5 (Quince jam, 3.50 EUR): ask the grower"
    )
    assert document.pages[1].text == "# Hours\n\nShare | Time\nShare: 12.5%; Time: 30:15:00"
    assert [warning.split(";")[0] for warning in document.warnings] == [
        "hidden sheets are not read: 'Internal'",
        "1 hidden rows are not read",
    ]


def test_workbook_without_a_container_is_recognized_and_read(tmp_path: Path) -> None:
    file = CompoundFile(DOCUMENTS / "xls" / "prices.xls", noun="workbook")
    path = tmp_path / "upload"
    path.write_bytes(file.read(file.root, "Workbook") or b"")
    assert detect_content_type(path) == "application/vnd.ms-excel"
    assert parse_xls(path).pages[0].text.startswith("# Prices")


def test_pieces_that_repeat_the_same_text_are_refused(tmp_path: Path) -> None:
    main = bytearray(0x400) + b"word " * 200
    struct.pack_into("<2H", main, 0, 0xA5EC, 193)
    count = 100
    plan = struct.pack(f"<{count + 1}L", *range(0, 1000 * (count + 1), 1000))
    plan += struct.pack("<HLH", 0, 0x40000000 | 2 * 0x400, 0) * count
    table = b"\x02" + struct.pack("<L", len(plan)) + plan
    struct.pack_into("<2L", main, 0x9A + 8 * 33, 0, len(table))
    struct.pack_into("<L", main, 0x4C, 1000 * count)
    path = tmp_path / "large.doc"
    path.write_bytes(compound({"WordDocument": bytes(main), "0Table": table}))
    with pytest.raises(CorruptFileError, match="longer than the file"):
        parse_doc(path)


@pytest.mark.parametrize("name", ["doc/manual.doc", "xls/prices.xls"])
def test_truncated_file_is_read_or_said_to_be_damaged(name: str, tmp_path: Path) -> None:
    data = (DOCUMENTS / name).read_bytes()
    path = tmp_path / "cut"
    for size in range(512, len(data), 1024):
        path.write_bytes(data[:size])
        try:
            parse_doc(path) if name.startswith("doc") else parse_xls(path)
        except CorruptFileError as error:
            assert "damaged" in error.detail  # noqa: PT017 -- some lengths still open
