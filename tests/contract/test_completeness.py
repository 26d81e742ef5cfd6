"""No visible word of a sample is lost: each is read a second time by a plain reader without the parsers' code."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from benchmarks.completeness import compare, files_in, lost_words
from benchmarks.source_words import pieces_of

DATA = Path(__file__).parents[1] / "data"
ALLOWED = {
    "equations.docx": 5,  # Greek letters of formulas, which are LaTeX
    "example-steelJIS-datasheet-utf-16.html": 8,  # its menu
    "html_rich_table_cells.html": 3,  # H₂O
    "nics-background-checks-2015-11-rotated.pdf": 8,  # numbers with raised digits
    "right_to_left_01.pdf": 20,  # lam-alef ligatures in reading order
    "testPDF_bad_page_303226.pdf": 400,  # letters of one point at the foot of each page
}
"""Words of samples that are rightly written otherwise or left out."""
SAMPLES = [path for path in files_in([DATA / "documents", DATA / "pdf_structure"]) if path.suffix != ".tsv"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
async def test_sample_loses_no_visible_word(path: Path) -> None:
    if path.parent.name in {"pdf-scan", "image"}:
        pytest.skip("its words are pictures")
    found = await compare(path)
    if found is not None:
        assert found.lost.total() <= ALLOWED.get(path.name, 0), found.lost


def test_plain_readers_read_most_samples() -> None:
    assert sum(bool(pieces_of(path)) for path in SAMPLES) > 80


def test_lost_word_is_found() -> None:
    assert lost_words(["one three"], "one")[1] == {"three": 1}


def test_words_that_are_parted_otherwise_are_not_lost() -> None:
    assert not lost_words(["cer tain", "certain"], "certain certain")[1].get("certain")


def test_plain_reader_leaves_out_hidden_and_deleted_text(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with ZipFile(path, "w") as archive:
        archive.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{word}"><w:p><w:r><w:t>sho</w:t></w:r><w:r><w:t>wn</w:t></w:r>'
            "<w:del><w:r><w:t>gone</w:t></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p></w:document>",
        )
    assert "".join(pieces_of(path) or ()) == "shown"
