"""Places are held against the page itself: what pdfium finds in a box must be the words that were asked for."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

from collections.abc import Sequence
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw, ImageFont

from analytiq.extraction.placing import place_on_page
from analytiq.models.geometry import Box, PageBoxes, Unplaced
from analytiq.models.text import DocumentText, ParsedPage, join_pages
from analytiq.ocr.tesseract import debian_data_dir
from analytiq.parsing.base import ParseOptions
from analytiq.parsing.letters import bare_letters
from analytiq.parsing.registry import default_registry, letter_reader_of, load_letter_reader, load_parser
from analytiq.parsing.sanitize import sanitize_document

SAMPLES = Path(__file__).parents[2] / "data" / "documents"
OPTIONS = ParseOptions()
needs_ocr_data = pytest.mark.skipif(debian_data_dir() is None, reason="no data of Tesseract's is installed")


def nobody(_done: int, _total: int) -> None:
    """Hears of progress."""


def read(path: Path, content_type: str = "application/pdf") -> DocumentText:
    parser = load_parser(default_registry().entry_for(content_type).reference)
    return join_pages(sanitize_document(parser.parse(path, OPTIONS, nobody)).pages)


def boxes_of(path: Path, text: DocumentText, words: str, content_type: str = "application/pdf") -> list[PageBoxes]:
    """Where words of the text stand."""
    start = text.text.index(words)
    end = start + len(words)
    touched = [span for span in text.pages if span.start < end and span.end > start]
    reference = letter_reader_of(content_type)
    assert reference is not None
    reader = load_letter_reader(reference)
    found = reader.read_letters(path, OPTIONS, [span.page_number for span in touched], nobody)
    letters = {page.page_number: page for page in found}
    return [
        place_on_page(span, text.text[span.start : span.end], start, end, letters.get(span.page_number))
        for span in touched
    ]


def words_within(path: Path, page_number: int, boxes: Sequence[Box]) -> str:
    """What pdfium finds in boxes of the page as it is shown."""
    with pdfium.PdfDocument(path) as document:
        page = document[page_number - 1]
        shown_width, shown_height = page.get_size()
        left, bottom, right, top = page.get_bbox()
        rotation = page.get_rotation()
        text_page = page.get_textpage()
        found: list[str] = []
        for box in boxes:
            corners = [(box.left, box.top), (box.left + box.width, box.top + box.height)]
            points: list[tuple[float, float]] = []
            for across, down in corners:
                x, y = across * shown_width, (1 - down) * shown_height
                turned = {
                    0: (x, y),
                    90: (shown_height - y, x),
                    180: (shown_width - x, shown_height - y),
                    270: (y, shown_width - x),
                }[rotation]
                points.append((left + turned[0], bottom + turned[1]))
            xs, ys = zip(*points, strict=True)
            assert left - 1 <= min(xs) <= max(xs) <= right + 1
            assert bottom - 1 <= min(ys) <= max(ys) <= top + 1
            found.append(text_page.get_text_bounded(min(xs), min(ys), max(xs), max(ys)))
        return " ".join(part.strip() for part in found)


def made_pdf(
    path: Path, pages: Sequence[tuple[tuple[float, float], int, str]], *, crop: tuple[float, ...] | None = None
) -> Path:
    """A page of a size and a rotation for each item, with lines of text 16 points apart."""
    pdf = pikepdf.new()
    font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
    for size, rotation, text in pages:
        page = pdf.add_blank_page(page_size=size)
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font))
        lines = " ".join(f"({line}) Tj 0 -16 Td" for line in text.splitlines())
        page.Contents = pdf.make_stream(f"BT /F1 12 Tf 72 {size[1] - 92} Td {lines} ET".encode())
        page.Rotate = rotation
        if crop is not None:
            page.CropBox = pikepdf.Array(crop)
    pdf.save(path)
    return path


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_box_holds_the_words_however_the_page_is_turned(tmp_path: Path, rotation: int) -> None:
    path = made_pdf(
        tmp_path / "turned.pdf", [((612, 792), rotation, "The first line.\nThe rent is 900 euro.\nThe end.")]
    )
    [page] = boxes_of(path, read(path), "rent is 900")
    assert len(page.boxes) == 1
    assert words_within(path, 1, page.boxes) == "rent is 900"


def test_turned_page_has_its_box_where_a_reader_sees_it(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "turned.pdf", [((612, 792), 90, "Top left words")])
    [page] = boxes_of(path, read(path), "Top left words")
    # Turned by a quarter clockwise, what was at the upper left is at the upper right, and runs downwards.
    assert page.boxes[0].left > 0.8
    assert page.boxes[0].top < 0.2
    assert page.boxes[0].height * 612 > page.boxes[0].width * 792


def test_pages_of_mixed_sizes_and_a_cropped_page_have_their_own_measures(tmp_path: Path) -> None:
    sizes = [((612.0, 792.0), 0), ((842.0, 595.0), 0), ((300.0, 1200.0), 270)]
    path = made_pdf(
        tmp_path / "mixed.pdf", [(*size, f"Sheet {at} has\nits marvellous words.") for at, size in enumerate(sizes)]
    )
    text = read(path)
    for at in range(3):
        pages = boxes_of(path, text, f"Sheet {at} has\nits marvellous")
        assert len(pages[0].boxes) == 2
        assert bare_letters(words_within(path, at + 1, pages[0].boxes)) == f"Sheet{at}hasitsmarvellous"
    cropped = made_pdf(tmp_path / "cropped.pdf", [((612, 792), 0, "Words that are seen")], crop=(50, 300, 500, 780))
    [page] = boxes_of(cropped, read(cropped), "that are")
    assert words_within(cropped, 1, page.boxes) == "that are"


def test_passage_over_two_pages_has_boxes_on_both(tmp_path: Path) -> None:
    path = made_pdf(
        tmp_path / "two.pdf", [((612, 792), 0, "Before.\nIt begins here"), ((612, 792), 90, "and ends there.")]
    )
    first, second = boxes_of(path, read(path), "It begins here\n\nand ends there.")
    assert (first.page_number, second.page_number) == (1, 2)
    assert words_within(path, 1, first.boxes) == "It begins here"
    assert words_within(path, 2, second.boxes) == "and ends there."


def test_words_on_page_37_are_marked_there(tmp_path: Path) -> None:
    pages = [
        ((612.0, 792.0), 0, f"Sheet {number} repeats itself.\nNumber {number * 11} stands here.")
        for number in range(1, 41)
    ]
    path = made_pdf(tmp_path / "long.pdf", pages)
    [page] = boxes_of(path, read(path), "Number 407 stands")
    assert page.page_number == 37
    assert words_within(path, 37, page.boxes) == "Number 407 stands"


def test_second_of_two_equal_sentences_is_the_one_that_is_marked(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "twice.pdf", [((612, 792), 0, "All rights reserved.\nBetween.\nAll rights reserved.")])
    text = read(path)
    [first] = boxes_of(path, text, "All rights")
    reader = load_letter_reader(str(letter_reader_of("application/pdf")))
    [letters] = reader.read_letters(path, OPTIONS, [1], nobody)
    at = text.text.rindex("All rights")
    second = place_on_page(text.pages[0], text.text, at, at + len("All rights"), letters)
    assert second.boxes[0].top > first.boxes[0].top + 0.03


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nics-background-checks-2015-11-rotated.pdf", "NICS Firearm Background Checks"),
        ("multi-column-2p.pdf", None),
        ("right_to_left_01.pdf", None),
        ("list-item-example.pdf", None),
        ("AzureInterior.pdf", None),
    ],
)
def test_every_line_of_a_real_file_is_found_in_its_box(name: str, words: str | None) -> None:
    path = SAMPLES / "pdf" / name
    text = read(path)
    lines = [words] if words else [line.strip() for line in text.text.splitlines() if len(line.strip()) > 25]
    missed = 0
    for line in lines[:40]:
        start = text.text.index(line)
        [page] = boxes_of(path, text, line)
        assert page.boxes, line
        assert start <= page.end
        found = bare_letters(words_within(path, page.page_number, page.boxes))
        # Right-to-left words come out in another order, and neighbours of tight lines may be grazed.
        if not set(bare_letters(line)) <= set(found) or len(found) > 2 * len(bare_letters(line)):
            missed += 1
    assert missed == 0


def test_page_that_differs_from_its_text_has_no_box_rather_than_a_wrong_one(tmp_path: Path) -> None:
    path = made_pdf(tmp_path / "other.pdf", [((612, 792), 0, "Yes and yes and yes.")])
    reader = load_letter_reader(str(letter_reader_of("application/pdf")))
    [letters] = reader.read_letters(path, OPTIONS, [1], nobody)
    other = join_pages([ParsedPage(1, "An older text, and yes.")])
    for words, reason in (("older text", Unplaced.DIFFERS), ("yes", Unplaced.DIFFERS)):
        start = other.text.index(words)
        placed = place_on_page(other.pages[0], other.text, start, start + len(words), letters)
        assert placed.boxes == ()
        assert placed.unplaced is reason


@needs_ocr_data
def test_scanned_words_lie_dark_within_their_boxes(tmp_path: Path) -> None:
    picture = Image.new("L", (1700, 1000), 255)
    font = ImageFont.load_default(size=48)
    drawing = ImageDraw.Draw(picture)
    drawing.text((200, 200), "The harbour opens early", fill=0, font=font)
    drawing.text((200, 600), "Lanterns shine at night", fill=0, font=font)
    for turn, name in (
        (None, "up.png"),
        (Image.Transpose.ROTATE_90, "left.png"),
        (Image.Transpose.ROTATE_180, "over.png"),
    ):
        turned = picture if turn is None else picture.transpose(turn)
        path = tmp_path / name
        turned.save(path)
        text = read(path, "image/png")
        [page] = boxes_of(path, text, "Lanterns shine at night", "image/png")
        assert len(page.boxes) == 1
        box = page.boxes[0]
        inside = turned.crop(
            (
                int(box.left * turned.width), int(box.top * turned.height),
                int((box.left + box.width) * turned.width), int((box.top + box.height) * turned.height),
            )
        )  # fmt: skip
        # Put upright, the line is in the box alone: read again, it says nothing else.
        upright = (
            inside
            if turn is None
            else inside.transpose(
                {Image.Transpose.ROTATE_90: Image.Transpose.ROTATE_270, Image.Transpose.ROTATE_180: turn}[turn]
            )
        )
        framed = Image.new("L", (upright.width + 200, upright.height + 200), 255)
        framed.paste(upright, (100, 100))
        again = tmp_path / "again.png"
        framed.save(again)
        assert bare_letters(read(again, "image/png").text) == "Lanternsshineatnight"


@needs_ocr_data
@pytest.mark.parametrize("name", ["testOCR.pdf", "ocr_test_rotated_90.pdf", "ocr_test_rotated_180.pdf"])
def test_words_of_a_scanned_pdf_have_boxes_on_its_picture(name: str) -> None:
    path = SAMPLES / "pdf-scan" / name
    text = read(path)
    line = max(text.text.splitlines(), key=len)
    [page] = boxes_of(path, text, line)
    assert page.boxes
    with pdfium.PdfDocument(path) as document:
        picture = document[0].render(scale=2, grayscale=True).to_pil()
    for box in page.boxes:
        inside = picture.crop(
            (
                int(box.left * picture.width), int(box.top * picture.height),
                int((box.left + box.width) * picture.width), int((box.top + box.height) * picture.height),
            )
        )  # fmt: skip
        assert min(inside.tobytes()) < 128


def test_picture_of_a_page_is_kept_when_it_cannot_be_read() -> None:
    reader = load_letter_reader(str(letter_reader_of("image/png")))
    path = SAMPLES / "image" / "table-multi-row-column-cells.png"
    assert reader.read_letters(path, ParseOptions(ocr_data_dir=Path("/nonexistent")), [1], nobody) == ()


def test_formats_without_pages_have_no_reader_of_places() -> None:
    assert letter_reader_of("text/markdown") is None
    assert letter_reader_of("application/x-unknown") is None
