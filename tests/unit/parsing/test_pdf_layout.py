"""The structure of PDFs with known truth: made by ReportLab, WeasyPrint and Typst from generated text."""

import itertools
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest

from analytiq.errors import CorruptFileError, EncryptedFileError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.rows import render_row
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import DocumentText, ParsedDocument, join_pages
from tests.e2e.made_files import pdf_of

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[2] / "data"
MADE = DATA / "pdf_structure"
TRUTH: Mapping[str, Any] = json.loads((MADE / "truth.json").read_text())
SPANNING = {"t_merged", "t_merged_none"}
"""Tables whose header cells span columns, which have a test of their own."""
WITHOUT_LINES = {"t_none1", "t_none20", "t_wrap_none", "w_bare", "w_book", "w_mid"}
VALUES = ("Zelda Fitzwater", "Porto Quercy", "amber")


@cache
def parsed(path: Path) -> ParsedDocument:
    return PdfParser().parse(path, ParseOptions(ocr_data_dir=Path("/nonexistent")), lambda _done, _total: None)


@cache
def text_of(name: str) -> DocumentText:
    return join_pages(parsed(MADE / f"{name}.pdf").pages)


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u00ad-]+", "", text)


def blocks_of(document: DocumentText, kind: BlockKind) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind is kind]


def rows_of(document: DocumentText) -> Counter[str]:
    tables = [block.table for block in document.blocks if block.table is not None]
    return Counter(squeezed(document.text[start:end]) for table in tables for start, end in table.rows)


def wanted_rows(tables: Sequence[Sequence[Sequence[str]]]) -> Counter[str]:
    return Counter(squeezed(render_row(row, table[0])) for table in tables for row in table[1:])


@pytest.mark.parametrize("name", sorted(name for name, truth in TRUTH.items() if truth["tables"]))
def test_cells_stand_behind_the_names_of_their_columns(name: str) -> None:
    if name in SPANNING:
        pytest.skip("its header spans columns")
    found, wanted = rows_of(text_of(name)), wanted_rows(TRUTH[name]["tables"])
    right = (found & wanted).total()
    least = 0.97 if name in WITHOUT_LINES else 0.99
    score = 2 * right / (found.total() + wanted.total())
    assert score >= least, list((wanted - found).elements())[:5]


@pytest.mark.parametrize("name", sorted(SPANNING))
def test_spanning_header_names_each_column_under_it(name: str) -> None:
    (table,) = [block.table for block in text_of(name).blocks if block.table is not None]
    assert table.header == ("Region", "2024 Sales", "2024 Cost", "2025 Sales", "2025 Cost")
    assert "Region: North; 2024 Sales: 7,802; 2024 Cost: 2,783; 2025 Sales: 8,823" in text_of(name).text


@pytest.mark.parametrize("name", ["t_grid20", "t_none20"])
def test_table_over_many_pages_names_its_columns_on_each(name: str) -> None:
    document = text_of(name)
    tables = [block.table for block in document.blocks if block.table is not None]
    assert len(document.pages) > 10
    assert {table.header for table in tables} == {tuple(TRUTH[name]["tables"][0][0])}
    assert sum(len(table.rows) for table in tables) == len(TRUTH[name]["tables"][0]) - 1


def test_prose_in_columns_is_hardly_ever_a_table() -> None:
    names = ("p_two", "p_three", "p_scrambled", "r_report")
    assert sum(len(blocks_of(text_of(name), BlockKind.TABLE)) for name in names) <= 1
    assert not blocks_of(text_of("r_report"), BlockKind.TABLE)


def test_headings_are_found_with_their_levels() -> None:
    right = found = wanted = agreeing = pairs = 0
    for name, truth in TRUTH.items():
        document = text_of(name)
        levels = {
            squeezed(document.text[block.start : block.end]): block.level
            for block in document.blocks
            if block.kind is BlockKind.HEADING
        }
        true_levels = {squeezed(title): level for title, level in truth["headings"]}
        both = sorted(levels.keys() & true_levels.keys())
        right, found, wanted = right + len(both), found + len(levels), wanted + len(true_levels)
        for one in both:
            for other in both:
                pairs += 1
                agreeing += _order(levels[one], levels[other]) == _order(true_levels[one], true_levels[other])
    assert right >= 0.95 * found
    assert right >= 0.95 * wanted
    assert agreeing >= 0.98 * pairs


def _order(one: int, other: int) -> int:
    return (one > other) - (one < other)


def test_columns_are_read_one_after_the_other() -> None:
    wrong = total = 0
    for name, truth in TRUTH.items():
        places = [text_of(name).text.find(mark) for mark in truth.get("order", [])]
        assert -1 not in places
        total += len(places)
        wrong += sum(after < before for before, after in itertools.pairwise(places))
    assert total > 100
    assert wrong <= 0.01 * total


def test_running_heads_and_feet_are_furniture() -> None:
    for name, truth in TRUTH.items():
        document = text_of(name)
        if len(document.pages) < 3:
            continue
        for running in truth.get("runs", []):
            inside = [
                block
                for block in document.blocks
                if running in document.text[block.start : block.end] and block.kind is not BlockKind.FURNITURE
            ]
            assert inside == []
    assert "Annual Report 2026" in blocks_of(text_of("r_report"), BlockKind.FURNITURE)


def test_pages_of_a_few_lines_that_differ_by_numbers_are_text(tmp_path: Path) -> None:
    path = tmp_path / "boilers.pdf"
    path.write_bytes(pdf_of([f"Boiler {number}\nIts pressure is {number * 11} bar" for number in range(1, 9)]))
    kinds = {block.kind for page in parsed(path).pages for block in page.blocks}
    assert BlockKind.FURNITURE not in kinds


@pytest.mark.parametrize("name", ["f_appear", "f_noappear"])
def test_values_of_fields_stand_beside_their_labels(name: str) -> None:
    text = text_of(name).text
    for value in VALUES:
        assert value in text
    assert "Express\t[x]" in text
    assert "Gift\t[ ]" in text
    assert "Size\t[ ] S [x] XL" in text


def test_notes_and_comments_are_in_the_text() -> None:
    text = text_of("a_annot").text
    assert text.count("Comment: ") == 3


def test_lists_have_items() -> None:
    assert len(blocks_of(text_of("r_report"), BlockKind.LIST_ITEM)) == 16


def _samples() -> list[Path]:
    refused = {"empty.pdf", "empty_protected.pdf", "password.pdf"}
    samples = [path for path in sorted((DATA / "documents" / "pdf").glob("*.pdf")) if path.name not in refused]
    return samples + sorted(MADE.glob("*.pdf"))


def visible(text: str) -> Counter[str]:
    ignored = "-\u00ad\u2010\u0002\ufffe\ufffd•●▪○◦∙·"
    normal = unicodedata.normalize("NFKC", text)
    return Counter(letter for letter in normal if letter.isprintable() and letter not in ignored and letter != " ")


@pytest.mark.slow
@pytest.mark.parametrize("path", _samples(), ids=lambda path: path.stem)
def test_no_visible_character_is_lost(path: Path) -> None:
    try:
        with closing(pdfium.PdfDocument(path)) as document:
            shown = sum((visible(page.get_textpage().get_text_range()) for page in document), Counter[str]())
    except pdfium.PdfiumError:
        pytest.skip("pdfium opens it only after repair")
    if "hidden" in " ".join(parsed(path).warnings):
        pytest.skip("hidden words are left out, with a warning")
    written = sum((visible(page.text) for page in parsed(path).pages), Counter[str]())
    assert shown - written == Counter()


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_blocks_are_ranges_of_their_page_and_have_boxes(name: str) -> None:
    for page in parsed(MADE / f"{name}.pdf").pages:
        position = 0
        for block in page.blocks:
            assert position <= block.start < block.end <= len(page.text)
            position = block.end
            _assert_box(block)


def _assert_box(block: Block) -> None:
    assert block.box is not None
    assert 0 <= block.box.left < block.box.right <= 1
    assert 0 <= block.box.top < block.box.bottom <= 1


@pytest.mark.filterwarnings("ignore")  # pikepdf warns of what it repairs
@pytest.mark.parametrize("name", ["g_tagged", "t_merged", "f_appear", "y_paper"])
def test_damaged_files_raise_only_what_a_document_may(name: str, tmp_path: Path) -> None:
    whole = (MADE / f"{name}.pdf").read_bytes()
    chance = random.Random(11)
    path = tmp_path / "damaged.pdf"
    for number in range(12):
        damaged = bytearray(whole)
        if number % 3:
            for _ in range(chance.choice((3, 30, 200))):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        else:
            del damaged[chance.randrange(len(damaged) // 3, len(damaged)) :]
        path.write_bytes(damaged)
        with suppress(CorruptFileError, EncryptedFileError):
            PdfParser().parse(path, ParseOptions(ocr_data_dir=Path("/nonexistent")), lambda _done, _total: None)
