"""Words are placed where the page shows them: what stands in a box, read by another way, is the passage."""

import ctypes
import io
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
from PIL import Image

from analytiq.errors import CorruptFileError, UnsupportedFormatError
from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.ocr.tesseract import TesseractEngine
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.image import ImageParser
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.placing import place_words
from analytiq.models.boxes import Box
from analytiq.retrieval.places.alignment import boxes_of

SAMPLES = Path(__file__).parents[2] / "data" / "documents"
PDF = "application/pdf"


def boxes_on(path: Path, page_number: int, passage: str, content_type: str = PDF) -> list[Box]:
    parser = PdfParser() if content_type == PDF else ImageParser()
    page = parser.parse(path, ParseOptions(), lambda _done, _total: None).pages[page_number - 1]
    start = page.text.index(passage)
    is_image = page.source != "embedded"
    words = place_words(path, content_type, page_number, ParseOptions(), is_image=is_image)
    return boxes_of(words.pieces, page.text, start, start + len(passage), page.blocks)


def text_within(path: Path, page_number: int, boxes: Sequence[Box]) -> str:
    """Return the text that pdfium finds in the rectangles of a page, by its own search."""
    found: list[str] = []
    with closing(pdfium.PdfDocument(path)) as document:
        page = document[page_number - 1]
        text_page = page.get_textpage()
        for box in boxes:
            xs, ys = [], []
            for x, y in ((box.left, box.top), (box.right, box.bottom)):
                page_x, page_y = ctypes.c_double(), ctypes.c_double()
                pdfium_c.FPDF_DeviceToPage(page, 0, 0, 10**6, 10**6, 0, round(x * 1e6), round(y * 1e6), page_x, page_y)
                xs.append(page_x.value)
                ys.append(page_y.value)
            found.append(text_page.get_text_bounded(min(xs), min(ys), max(xs), max(ys)))
    return " ".join(found)


def read_within(page: Image.Image, boxes: Sequence[Box], *, turned: Image.Transpose | None = None) -> str:
    """Return the text that OCR reads in the rectangles of a picture, each by itself."""
    engine = TesseractEngine(("eng",), data_dir=None)
    found: list[str] = []
    for box in boxes:
        margin = 6
        crop = page.convert("L").crop(
            (
                round(box.left * page.width) - margin,
                round(box.top * page.height) - margin,
                round(box.right * page.width) + margin,
                round(box.bottom * page.height) + margin,
            )
        )
        crop = crop if turned is None else crop.transpose(turned)
        # With some paper around it, as a line on a page has.
        paper = Image.new("L", (crop.width + 80, crop.height + 80), "white")
        paper.paste(crop, (40, 40))
        found.append(engine.recognize(GreyImage(paper.tobytes(), paper.width, paper.height, 200)).text)
    engine.close()
    return " ".join(" ".join(found).split())


def squeezed(text: str) -> str:
    return "".join(text.split()).replace("\x02", "").replace("\ufffe", "")


def test_passage_of_three_lines_in_a_column_has_a_box_for_each_line() -> None:
    path = SAMPLES / "pdf" / "multi-column-2p.pdf"
    passage = (
        "Open-domain question answering relies on efficient passage retrieval to select candidate "
        "contexts, where traditional sparse vector space"
    )
    boxes = boxes_on(path, 1, passage)
    assert len(boxes) == 3
    assert squeezed(text_within(path, 1, boxes)).startswith("Open-domainquestionanswering")
    assert all(box.right < 0.5 for box in boxes)


@pytest.mark.parametrize(
    ("name", "passage", "shown"),
    [
        ("t_none20", "Article: A-1021; Description: ", "A-1021"),
        ("t_none20", "Article: A-1021; Description: Bearing DN20; Unit: m; Price EUR: 6,064.06", "6,064.06"),
        ("t_grid1", "Article: A-1021; Description: pipe DN15; Unit: set; Price EUR: 1,238.77; Stock: 643", "A-1021"),
    ],
)
def test_row_of_a_table_is_found_without_the_names_of_its_columns(name: str, passage: str, shown: str) -> None:
    path = SAMPLES.parent / "pdf_structure" / f"{name}.pdf"
    boxes = boxes_on(path, 1, passage)
    assert boxes
    assert shown in text_within(path, 1, boxes)
    assert max(box.bottom for box in boxes) - min(box.top for box in boxes) < 0.02


def test_passage_over_headings_and_paragraphs_is_found() -> None:
    path = SAMPLES.parent / "pdf_structure" / "r_report.pdf"
    boxes = boxes_on(path, 1, "1.2 Value of the result\n\nMark054 Season transfer energy")
    assert "Value of the result" in text_within(path, 1, boxes)
    assert "Mark054" in text_within(path, 1, boxes)


def test_turned_page_has_its_box_where_it_is_shown() -> None:
    path = SAMPLES / "pdf" / "nics-background-checks-2015-11-rotated.pdf"
    boxes = boxes_on(path, 1, "NICS Firearm Background Checks")
    assert squeezed("NICS Firearm Background Checks") in squeezed(text_within(path, 1, boxes))
    # The title runs down the right edge of the page.
    assert [box for box in boxes if box.left > 0.9 and box.bottom - box.top > 0.2] == boxes


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_box_follows_the_rotation_and_the_cut_of_a_page(tmp_path: Path, turn: int) -> None:
    path = tmp_path / "turned.pdf"
    with pikepdf.open(SAMPLES / "pdf" / "multi-column-2p.pdf") as pdf:
        page = pdf.pages[0]
        left, bottom, right, top = (float(value) for value in page.mediabox)
        page.cropbox = pikepdf.Array([left + 40, bottom + 30, right - 20, top - 60])
        page.Rotate = turn
        pdf.save(path)
    passage = "traditional sparse vector space"
    boxes = boxes_on(path, 1, passage)
    assert squeezed(passage) in squeezed(text_within(path, 1, boxes))
    with closing(pdfium.PdfDocument(path)) as document:
        shown = document[0].render(scale=3).to_pil()
    back = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}.get(turn)
    if TesseractEngine(("eng",), data_dir=None).languages:
        assert "sparse vector" in read_within(shown, boxes, turned=back)


def test_lines_from_top_to_bottom_and_from_right_to_left_are_one_box_each() -> None:
    vertical = boxes_on(SAMPLES / "pdf" / "vertical.pdf", 1, "あいうえお")
    assert len(vertical) == 1
    assert vertical[0].bottom - vertical[0].top > 3 * (vertical[0].right - vertical[0].left)
    passage = "إجراء تحليلات معقدة بطريقة سريعة وفعالة"
    arabic = boxes_on(SAMPLES / "pdf" / "right_to_left_01.pdf", 1, passage)
    assert len(arabic) == 1
    assert arabic[0].right - arabic[0].left > 10 * (arabic[0].bottom - arabic[0].top)


@pytest.mark.ocr
@pytest.mark.parametrize(
    ("name", "back"),
    [
        ("testOCR.pdf", None),
        ("ocr_test_rotated_90.pdf", Image.Transpose.ROTATE_270),
        ("ocr_test_rotated_180.pdf", Image.Transpose.ROTATE_180),
    ],
)
def test_words_of_a_scan_are_placed_upright_or_turned(name: str, back: Image.Transpose | None) -> None:
    path = SAMPLES / "pdf-scan" / name
    text = PdfParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0].text
    line = next(line for line in text.splitlines() if len(line.split()) >= 3)
    passage = " ".join(line.split()[:3])
    boxes = boxes_on(path, 1, passage)
    assert boxes
    with closing(pdfium.PdfDocument(path)) as document:
        shown = document[0].render(scale=200 / 72).to_pil()  # pyright: ignore[reportArgumentType]  # its own default is 1, hence "int"
    readings = [read_within(shown, boxes, turned=turn) for turn in (None, *Image.Transpose)]
    assert passage in (read_within(shown, boxes, turned=back) if back else readings[0]) or passage in readings


@pytest.mark.ocr
def test_words_of_a_picture_are_placed() -> None:
    path = SAMPLES / "image" / "layout-parser-paper-fast.jpg"
    boxes = boxes_on(path, 1, "Learning Based Document Image Analysis", "image/jpeg")
    assert len(boxes) == 1
    with Image.open(path) as picture:
        wide = picture.resize((picture.width * 3, picture.height * 3))
    assert "Learning Based Document" in read_within(wide, boxes)


def test_file_without_pages_and_a_page_that_is_none_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("words")
    with pytest.raises(UnsupportedFormatError):
        place_words(path, "text/plain", 1, ParseOptions(), is_image=False)
    with pytest.raises(CorruptFileError, match="no page 9"):
        place_words(SAMPLES / "pdf" / "fake-memo.pdf", PDF, 9, ParseOptions(), is_image=False)
    picture = tmp_path / "a.png"
    image = io.BytesIO()
    Image.new("L", (20, 20)).save(image, "PNG")
    picture.write_bytes(image.getvalue())
    with pytest.raises(CorruptFileError, match="no page 2"):
        place_words(picture, "image/png", 2, ParseOptions(), is_image=True)


def test_damaged_files_raise_only_what_a_document_may(tmp_path: Path) -> None:
    whole = (SAMPLES / "pdf" / "fake-memo.pdf").read_bytes()
    path = tmp_path / "cut.pdf"
    for length in range(0, len(whole), max(1, len(whole) // 25)):
        path.write_bytes(whole[:length])
        try:
            place_words(path, PDF, 1, ParseOptions(), is_image=False)
        except (CorruptFileError, pdfium.PdfiumError):
            continue
