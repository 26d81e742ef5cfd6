import io
import random
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from PIL import Image

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing import page_images
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.page_images import describe_pages, scale_to_limit
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.pdf_layout.lost_lines import with_lost_lines
from analytiq.ingestion.parsing.reading_again import RereadPages, read_again
from analytiq.ingestion.quality.judging import judged
from analytiq.models.flaws import FlawKind
from analytiq.models.page_reading import PageReading
from analytiq.models.text import ParsedDocument, ParsedPage, TextSource, join_pages

SAMPLES = Path(__file__).parents[2] / "data" / "documents"
NO_DATA = ParseOptions(ocr_data_dir=Path("/nonexistent"))


def read(path: Path, options: ParseOptions = NO_DATA) -> ParsedDocument:
    return PdfParser().parse(path, options, lambda _done, _total: None)


def make_pdf(texts: list[str]) -> pikepdf.Pdf:
    pdf = pikepdf.new()
    font = pdf.make_indirect(
        pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
    )
    for text in texts:
        page = pdf.add_blank_page(page_size=(612, 792))
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font))
        page.Contents = pdf.make_stream(f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET".encode())
    return pdf


def make_scan(number: int, *, stamp: str = "") -> pikepdf.Pdf:
    """Pages that are one noisy picture, which no OCR finds words in, perhaps with a stamp in real text."""
    pdf = make_pdf([stamp] * number)
    pixels = random.Random(7).randbytes(100 * 100)
    for page in pdf.pages:
        page.Resources.XObject = pikepdf.Dictionary(
            Im0=pdf.make_stream(
                pixels,
                Type=pikepdf.Name.XObject,
                Subtype=pikepdf.Name.Image,
                Width=100,
                Height=100,
                ColorSpace=pikepdf.Name.DeviceGray,
                BitsPerComponent=8,
            )
        )
        page.contents_add(b"q 400 0 0 400 100 100 cm /Im0 Do Q")
    return pdf


def test_phrase_on_page_150_of_300_is_found_on_page_150(tmp_path: Path) -> None:
    texts = [f"ordinary text of sheet {number}" for number in range(1, 301)]
    texts[149] = "the heliotrope accord was signed"
    path = tmp_path / "long.pdf"
    make_pdf(texts).save(path)
    reports: list[tuple[int, int]] = []
    document = PdfParser().parse(path, NO_DATA, lambda done, total: reports.append((done, total)))
    assert [page.page_number for page in document.pages] == list(range(1, 301))
    assert [page.page_number for page in document.pages if "heliotrope accord" in page.text] == [150]
    joined = join_pages(document.pages)
    span = joined.pages[149]
    assert joined.text[span.start : span.end].strip() == "the heliotrope accord was signed"
    assert reports[-1] == (300, 300)


def test_more_pages_than_allowed_exceed_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    make_pdf(["x"] * 11).save(path)
    with pytest.raises(LimitExceededError, match="11 pages; at most 10"):
        read(path, ParseOptions(max_pages=10))


def test_user_password_is_an_encrypted_file(tmp_path: Path) -> None:
    path = tmp_path / "locked.pdf"
    make_pdf(["secret"]).save(path, encryption=pikepdf.Encryption(user="u", owner="o"))
    with pytest.raises(EncryptedFileError, match="password"):
        read(path)


def test_owner_password_alone_does_not_lock_the_text(tmp_path: Path) -> None:
    path = tmp_path / "protected.pdf"
    make_pdf(["readable by everyone"]).save(path, encryption=pikepdf.Encryption(user="", owner="o"))
    assert read(path).pages[0].text.strip() == "readable by everyone"


def test_truncated_pdf_is_mended_and_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "truncated.pdf"
    make_pdf([f"page {number} of the report" for number in range(1, 21)]).save(
        path, object_stream_mode=pikepdf.ObjectStreamMode.disable
    )
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * 0.9)])
    assert "page 1 of the report" in read(path).pages[0].text


def test_rubbish_behind_a_pdf_header_is_a_corrupt_file(tmp_path: Path) -> None:
    path = tmp_path / "rubbish.pdf"
    path.write_bytes(b"%PDF-1.7\n" + bytes(1000))
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        read(path)


def test_compatibility_characters_become_ordinary_letters(tmp_path: Path) -> None:
    pdf = make_pdf(["\\256ne"])  # 0xAE is the fi ligature in StandardEncoding
    path = tmp_path / "ligature.pdf"
    pdf.save(path)
    assert read(path).pages[0].text.strip() == "fine"


def test_lam_alef_ligatures_come_out_in_reading_order() -> None:
    text = read(SAMPLES / "pdf" / "right_to_left_01.pdf").pages[0].text
    assert "الإنتاجية" in text
    assert "المشكلات" in text
    assert "اإلنتاجية" not in text
    # The article is the same two letters from two glyphs, and stays as it is.
    assert "البرمجة" in text


def painted(path: Path, content: str) -> ParsedDocument:
    """Read a page with this content."""
    pdf = make_pdf([""])
    pdf.pages[0].Contents = pdf.make_stream(content.encode())
    pdf.save(path)
    return read(path)


def test_hidden_words_are_left_out_and_counted(tmp_path: Path) -> None:
    document = painted(
        tmp_path / "hidden.pdf",
        "BT /F1 12 Tf 72 700 Td (Seen text of a page) Tj ET 1 g BT /F1 12 Tf 72 600 Td (white words) Tj ET "
        "0 g BT /F1 0.5 Tf 72 500 Td (tiny) Tj ET BT /F1 12 Tf 900 500 Td (outside) Tj ET",
    )
    assert document.pages[0].text == "Seen text of a page"
    (warning,) = document.warnings
    assert warning.startswith(
        "4 hidden word(s) (white on white, transparent, too small, clipped, in a layer that is off, or off the page)"
    )
    assert warning.endswith("page(s) 1.")


def test_white_words_on_a_dark_ground_are_read(tmp_path: Path) -> None:
    document = painted(
        tmp_path / "dark.pdf", "0 0 0.5 rg 60 690 300 30 re f 1 g BT /F1 12 Tf 72 700 Td (white on blue) Tj ET"
    )
    assert document.pages[0].text == "white on blue"
    assert document.warnings == ()


def test_vertical_text_of_a_font_that_is_not_embedded_is_read(tmp_path: Path) -> None:
    pdf = make_pdf([""])
    descendant = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.CIDFontType0,
        BaseFont=pikepdf.Name("/HeiseiMin-W3"),
        CIDSystemInfo=pikepdf.Dictionary(Registry="Adobe", Ordering="Japan1", Supplement=2),
    )
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type0,
        BaseFont=pikepdf.Name("/HeiseiMin-W3"),
        Encoding=pikepdf.Name("/UniJIS-UCS2-V"),
        DescendantFonts=pikepdf.Array([descendant]),
    )
    pdf.pages[0].Resources.Font.F2 = pdf.make_indirect(font)
    columns = " ".join(
        f"1 0 0 1 {x} 700 Tm <{text.encode('utf-16-be').hex()}> Tj"
        for x, text in ((500, "契約期間は二年とする"), (470, "解約は三十日前"))
    )
    pdf.pages[0].Contents = pdf.make_stream(f"BT /F2 14 Tf {columns} ET".encode())
    path = tmp_path / "vertical.pdf"
    pdf.save(path)
    assert read(path).pages[0].text == "契約期間は二年とする\n解約は三十日前"


def test_values_of_an_xfa_form_follow_with_a_warning(tmp_path: Path) -> None:
    pdf = make_pdf(["Please wait for a page that is long enough"])
    data = b"<xfa:datasets xmlns:xfa='x'><xfa:data><form><city>Porto</city></form></xfa:data></xfa:datasets>"
    packets = pikepdf.Array([pikepdf.String("datasets"), pdf.make_stream(data)])
    pdf.Root.AcroForm = pdf.make_indirect(pikepdf.Dictionary(Fields=pikepdf.Array([]), XFA=packets))
    path = tmp_path / "xfa.pdf"
    pdf.save(path)
    document = read(path)
    assert document.pages[0].text.endswith("city: Porto")
    assert "XFA form" in document.warnings[0]


def test_scan_without_language_data_needs_ocr_and_names_the_package(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    make_scan(3).save(path)
    document = read(path)
    assert [page.source for page in document.pages] == [TextSource.NEEDS_OCR] * 3
    (warning,) = document.warnings
    assert warning == (
        "Pages 1-3 are images and were not read. No OCR data for eng is installed: install the Debian "
        "package(s) tesseract-ocr-eng on the machine of the worker."
    )


def test_stamp_on_an_unread_scan_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    make_scan(1, stamp="No. 4711").save(path)
    page = read(path).pages[0]
    assert page.text == "No. 4711"
    assert page.source is TextSource.NEEDS_OCR


def test_text_page_with_a_picture_is_not_sent_to_ocr(tmp_path: Path) -> None:
    path = tmp_path / "illustrated.pdf"
    make_scan(1, stamp="A caption that is long enough to be text").save(path)
    assert read(path).pages[0].source is TextSource.EMBEDDED


def test_blank_page_is_no_scan(tmp_path: Path) -> None:
    path = tmp_path / "blank.pdf"
    make_pdf([""]).save(path)
    document = read(path)
    assert document.pages[0].text == ""
    assert document.pages[0].source is TextSource.EMBEDDED
    assert document.warnings == ()


@pytest.mark.slow
@pytest.mark.ocr
def test_picture_of_text_inside_a_pdf_is_recognised(tmp_path: Path) -> None:
    with Image.open(SAMPLES / "image" / "webp-test.webp") as picture:
        buffer = io.BytesIO()
        picture.convert("RGB").save(buffer, "PDF", resolution=200)
    path = tmp_path / "scan.pdf"
    path.write_bytes(buffer.getvalue())
    page = read(path, ParseOptions()).pages[0]
    assert page.source is TextSource.OCR
    assert "Docling bundles PDF document conversion" in page.text


@pytest.mark.ocr
def test_huge_page_is_rendered_within_the_pixel_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_images, "MAX_PAGE_PIXELS", 1_000_000)
    pdf = make_scan(1)
    pdf.pages[0].MediaBox = [0, 0, 14400, 14400]
    path = tmp_path / "huge.pdf"
    pdf.save(path)
    assert read(path, ParseOptions()).pages[0].source is TextSource.OCR


def test_scale_keeps_pages_within_the_pixel_limit() -> None:
    scale = scale_to_limit(14400, 14400, 200 / 72)
    assert 14400 * 14400 * scale * scale <= page_images.MAX_PAGE_PIXELS * 1.001
    assert scale_to_limit(612, 792, 200 / 72) == 200 / 72


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([3], "Page 3 is an image and was"),
        ([1, 2, 3, 7, 9, 10], "Pages 1-3, 7, 9-10 are images and were"),
    ],
)
def test_pages_are_listed_in_runs(numbers: list[int], expected: str) -> None:
    assert describe_pages(numbers) == expected


def test_words_that_are_not_painted_are_left_out(tmp_path: Path) -> None:
    document = painted(
        tmp_path / "unpainted.pdf",
        "BT /F1 12 Tf 72 700 Td (Seen text of a page) Tj ET BT 3 Tr /F1 12 Tf 72 600 Td (injected order) Tj ET",
    )
    assert document.pages[0].text == "Seen text of a page"
    assert "2 hidden word(s)" in document.warnings[0]


def test_page_of_unpainted_words_is_a_scan_that_was_read(tmp_path: Path) -> None:
    document = painted(tmp_path / "scan.pdf", "BT 3 Tr /F1 12 Tf 72 600 Td (recognised words of a scan) Tj ET")
    assert document.pages[0].text == "recognised words of a scan"


def test_words_beside_the_area_that_they_are_clipped_to_are_left_out(tmp_path: Path) -> None:
    document = painted(
        tmp_path / "clipped.pdf",
        "BT /F1 12 Tf 72 700 Td (Seen text of a page) Tj ET q 300 300 50 50 re W n "
        "BT /F1 12 Tf 72 600 Td (clipped away) Tj ET BT /F1 12 Tf 305 310 Td (kept) Tj ET Q",
    )
    assert document.pages[0].text == "Seen text of a page\n\nkept"
    assert "2 hidden word(s)" in document.warnings[0]


def _column(x: int, top: float, lines: int, word: str) -> str:
    shown = " ".join(
        f"1 0 0 1 {x} {top - 14 * line} Tm (the {word} line {line} goes on with words) Tj" for line in range(lines)
    )
    return f"BT /F1 10 Tf {shown} ET"


@pytest.mark.parametrize("offset", [0, 4, 7])
def test_columns_with_lines_at_different_heights_are_read_one_after_the_other(tmp_path: Path, offset: int) -> None:
    text = (
        painted(tmp_path / "columns.pdf", f"{_column(60, 760, 20, 'left')} {_column(245, 760 - offset, 18, 'right')}")
        .pages[0]
        .text
    )
    assert text.index("left line 19") < text.index("right line 0")
    assert text.index("right line 16") < text.index("right line 17")


def test_columns_beside_a_list_are_read_one_after_the_other(tmp_path: Path) -> None:
    listed = " ".join(f"1 0 0 1 250 {755 - 14 * line} Tm (1308.{line:02} Part) Tj" for line in range(19))
    text = painted(tmp_path / "list.pdf", f"{_column(60, 760, 20, 'left')} BT /F1 8 Tf {listed} ET").pages[0].text
    assert text.index("left line 19") < text.index("1308.00")


def test_lines_that_the_layout_lacks_are_added_and_counted() -> None:
    page = ParsedPage(1, "Kept words of a page", name="One")
    found, count = with_lost_lines(page, "Kept words of\r\na page\r\nlost line here\r\n", [])
    assert found.text == "Kept words of a page\n\nlost line here"
    assert count == 3
    assert found.name == "One"


@pytest.mark.parametrize(
    "raw",
    ["peri\ufffeodic", "peri-\r\nodic", "p e r i odic", "\ufb01ne", "fi ne", "hidden words", "H2O"],
)
def test_words_that_the_layout_parts_otherwise_are_not_lost(raw: str) -> None:
    page = ParsedPage(1, "peri- odic periodic fine H 2 O")
    assert with_lost_lines(page, raw, ["hidden", "words"]) == (page, 0)


SENTENCES = [
    "The heliotrope accord was signed in the harbour on a cold morning.",
    "Each party shall deliver the goods within thirty days of the order.",
    "The buyer pays the price after the inspection of every container.",
]


def with_broken_map(pdf: pikepdf.Pdf, page_number: int) -> None:
    """Show a page as it was, with a map to Unicode that makes symbols of its letters."""
    pairs = "\n".join(f"<{code:02x}> <{0x2190 + code:04x}>" for code in range(33, 123))
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def\n"
        f"1 begincodespacerange <00> <ff> endcodespacerange\n90 beginbfchar\n{pairs}\nendbfchar\nendcmap end end"
    )
    broken = pikepdf.Dictionary(
        Type=pikepdf.Name.Font,
        Subtype=pikepdf.Name.Type1,
        BaseFont=pikepdf.Name.Helvetica,
        ToUnicode=pdf.make_stream(cmap.encode()),
    )
    page = pdf.pages[page_number - 1]
    page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=pdf.make_indirect(broken)))
    lines = "".join(f"1 0 0 1 72 {700 - 20 * at} Tm ({line}) Tj " for at, line in enumerate(SENTENCES))
    page.Contents = pdf.make_stream(f"BT /F1 12 Tf {lines}ET".encode())


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A PDF whose second of three pages has a broken map."""
    path = tmp_path / "broken.pdf"
    with make_pdf(["A first page with words of its own.", "", "The last page is sound too."]) as pdf:
        with_broken_map(pdf, 2)
        pdf.save(path)
    return path


@pytest.mark.ocr
@pytest.mark.parametrize(
    ("choice", "sources"),
    [
        (PageReading.AUTO, [TextSource.EMBEDDED] * 3),
        (PageReading.OCR_FLAWED, [TextSource.EMBEDDED, TextSource.OCR, TextSource.EMBEDDED]),
        (PageReading.OCR, [TextSource.OCR] * 3),
    ],
)
def test_pages_are_read_by_ocr_as_their_owner_chooses(
    broken: Path, choice: PageReading, sources: list[TextSource]
) -> None:
    document = judged(read(broken, ParseOptions(page_reading=choice)))
    assert [page.source for page in document.pages] == sources
    assert "words of its own" in document.pages[0].text
    is_mended = choice is not PageReading.AUTO
    assert ("heliotrope accord was signed" in document.pages[1].text) is is_mended
    assert [flaw.kind for flaw in document.pages[1].flaws] == [FlawKind.NOISE] * (not is_mended)


def test_without_language_data_pages_keep_their_own_text(broken: Path) -> None:
    document = read(broken, replace(NO_DATA, page_reading=PageReading.OCR))
    assert [page.source for page in document.pages] == [TextSource.EMBEDDED] * 3
    assert any("tesseract-ocr-eng" in warning for warning in document.warnings)


def test_page_in_which_ocr_finds_nothing_and_pages_after_the_time_keep_their_text() -> None:
    pages = {number: ParsedPage(number, f"words {number}") for number in range(1, 4)}
    read_numbers: list[int] = []

    def read_nothing(number: int) -> ParsedPage:
        read_numbers.append(number)
        return ParsedPage(number, " ", TextSource.OCR)

    def again(seconds: float) -> RereadPages:
        return read_again(
            pages, PageReading.OCR, read_nothing, seconds=seconds, report_progress=lambda _done, _total: None
        )

    assert (again(60).pages, read_numbers) == ({}, [1, 2, 3])
    late = again(-1)
    assert (late.pages, late.left, read_numbers) == ({}, [1, 2, 3], [1, 2, 3])
    assert late.warnings() == ("Pages 1, 2, 3 kept the text in the file: OCR took too long. Split the document.",)
