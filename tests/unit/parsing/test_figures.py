"""Pictures that parsers find for a vision model: which ones, where, and within which bounds."""

import base64
import io
import zipfile
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from PIL import Image, ImageDraw

from analytiq.ingestion.ocr.base import GreyImage
from analytiq.ingestion.parsing import pictures as bounds
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.docx import DocxParser
from analytiq.ingestion.parsing.epub import EpubParser
from analytiq.ingestion.parsing.figures import collecting
from analytiq.ingestion.parsing.html import HtmlParser
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.pictures import DocumentPictures
from analytiq.ingestion.parsing.pptx import PptxParser
from analytiq.models.pictures import Figure
from analytiq.models.text import ParsedDocument, ParsedPage
from tests.unit.parsing.test_pdf import make_scan
from tests.unit.parsing.word_documents import write_word_document

WANTED = ParseOptions(describes_figures=True, reads_scans=True)


def drawn(width: int = 300, height: int = 200, *, color: str = "red", mode: str = "RGB") -> Image.Image:
    image = Image.new(mode, (width, height), "white")
    ImageDraw.Draw(image).rectangle((20, 20, width // 2, height // 2), fill=color)
    return image


def file_of(image: Image.Image, kind: str = "PNG") -> bytes:
    target = io.BytesIO()
    image.save(target, kind)
    return target.getvalue()


def parsed(parser: Any, path: Path) -> ParsedDocument:
    pictures = DocumentPictures(WANTED)
    with collecting(pictures):
        return pictures.finished(parser.parse(path, WANTED, lambda _done, _total: None))


def shown(document: ParsedDocument) -> list[tuple[int, str]]:
    """The page of each figure, with the words before it."""
    return [
        (page.page_number, page.text[: figure.position].rsplit("\n", 1)[-1])
        for page in document.pages
        for figure in page.figures
    ]


def data_uri(image: Image.Image) -> str:
    return "data:image/png;base64," + base64.b64encode(file_of(image)).decode()


def html_of(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "page.html"
    path.write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    return path


def test_html_places_a_data_uri_and_fetches_no_address(tmp_path: Path) -> None:
    body = (
        f"<p>Before.</p><img src='{data_uri(drawn())}'><p>After.</p>"
        "<img src='https://example.com/a.png'><img src='file:///etc/passwd'><img src='data:image/png;base64,AAAA'>"
    )
    document = parsed(HtmlParser(), html_of(tmp_path, body))
    assert shown(document) == [(1, "Before.")]
    assert len(document.pictures) == 1
    assert any("1 picture is in a format that is not described" in warning for warning in document.warnings)


def test_picture_in_a_cell_stands_behind_its_table(tmp_path: Path) -> None:
    body = f"<table><tr><th>A</th></tr><tr><td>one <img src='{data_uri(drawn())}'></td></tr></table><p>After.</p>"
    (figure,) = parsed(HtmlParser(), html_of(tmp_path, body)).pages[0].figures
    page = parsed(HtmlParser(), html_of(tmp_path, body)).pages[0]
    assert "one" in page.text[: figure.position]
    assert page.text[figure.position :].strip() == "After."


@pytest.mark.parametrize(
    "image",
    [drawn(40, 40), drawn(2000, 70), Image.new("RGB", (400, 400), "navy")],
    ids=["tiny", "a line", "one color"],
)
def test_tiny_pictures_lines_and_grounds_are_left_out(tmp_path: Path, image: Image.Image) -> None:
    document = parsed(HtmlParser(), html_of(tmp_path, f"<p>Text.</p><img src='{data_uri(image)}'>"))
    assert (shown(document), document.pictures, document.warnings) == ([], {}, ())


def test_picture_repeated_thrice_is_decoration_and_one_repeated_twice_is_described_once(tmp_path: Path) -> None:
    logo, chart = data_uri(drawn()), data_uri(drawn(color="blue"))
    body = (
        f"<p>A</p><img src='{logo}'><p>B</p><img src='{logo}'><img src='{chart}'><img src='{logo}'><img src='{chart}'>"
    )
    assert shown(parsed(HtmlParser(), html_of(tmp_path, body))) == [(1, "B")]


def test_nothing_is_collected_unless_it_is_asked_for(tmp_path: Path) -> None:
    path = html_of(tmp_path, f"<img src='{data_uri(drawn())}'>")
    assert HtmlParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0].figures == ()


def test_presentation_places_a_picture_on_its_slide(tmp_path: Path) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    presentation = Presentation()
    for title, color in (("First", "red"), ("Second", "blue")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        assert slide.shapes.title is not None
        slide.shapes.title.text = title
        slide.shapes.add_picture(io.BytesIO(file_of(drawn(color=color))), Inches(1), Inches(2))
    path = tmp_path / "slides.pptx"
    presentation.save(str(path))
    assert shown(parsed(PptxParser(), path)) == [(1, "# First"), (2, "# Second")]


PICTURE = (
    "<w:r><w:drawing><wp:inline xmlns:wp='http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing'>"
    "<a:graphic xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'><a:graphicData>"
    "<pic:pic xmlns:pic='http://schemas.openxmlformats.org/drawingml/2006/picture'><pic:blipFill>"
    "<a:blip xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships' r:embed='{}'/>"
    "</pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
)


def test_word_document_places_pictures_behind_their_paragraph_and_table(tmp_path: Path) -> None:
    body = (
        f"<w:p><w:r><w:t>Before.</w:t></w:r>{PICTURE.format('i1')}</w:p>"
        f"<w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc>"
        f"<w:tc><w:p>{PICTURE.format('i2')}</w:p></w:tc></w:tr></w:tbl>"
        "<w:p><w:r><w:t>After.</w:t></w:r></w:p>"
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/image"
    relations = "".join(
        f"<Relationship Id='i{number}' Type='{kind}' Target='media/{number}.png'/>" for number in (1, 2)
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    path = write_word_document(
        tmp_path / "letter.docx",
        body,
        {"word/_rels/document.xml.rels": f"<Relationships xmlns='{space}'>{relations}</Relationships>"},
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/media/1.png", file_of(drawn()))
        archive.writestr("word/media/2.png", file_of(drawn(color="blue")))
    page = parsed(DocxParser(), path).pages[0]
    before, behind = (page.text[: figure.position] for figure in page.figures)
    assert before == "Before."
    assert behind.endswith("cell")
    assert page.text[len(behind) :].strip() == "After."


def test_book_finds_a_picture_by_its_relative_address(tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/container.xml",
            "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
            "<rootfile full-path='OPS/book.opf'/></rootfiles></container>",
        )
        archive.writestr(
            "OPS/book.opf",
            "<package xmlns='http://www.idpf.org/2007/opf'><manifest>"
            "<item id='c' href='text/one.xhtml' media-type='application/xhtml+xml'/></manifest>"
            "<spine><itemref idref='c'/></spine></package>",
        )
        archive.writestr(
            "OPS/text/one.xhtml",
            "<html><body><p>Before.</p><img src='../images/a%20b.png'/><img src='../../../secret.png'/></body></html>",
        )
        archive.writestr("OPS/images/a b.png", file_of(drawn()))
    assert shown(parsed(EpubParser(), path)) == [(1, "Before.")]


SENTENCE = "This sentence is long enough for a page of text"


def pdf_of(tmp_path: Path, *pages: str) -> Path:
    """A PDF whose pages draw two pictures as their content says: /Im0 and /Im1."""
    pdf = pikepdf.new()
    font = pdf.make_indirect(
        pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
    )
    images = pikepdf.Dictionary()
    for number, color in enumerate(("red", "blue")):
        images[f"/Im{number}"] = pdf.make_stream(
            drawn(color=color).tobytes(),
            Type=pikepdf.Name.XObject,
            Subtype=pikepdf.Name.Image,
            Width=300,
            Height=200,
            ColorSpace=pikepdf.Name.DeviceRGB,
            BitsPerComponent=8,
        )
    for content in pages:
        page = pdf.add_blank_page(page_size=(612, 792))
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font), XObject=images)
        page.Contents = pdf.make_stream(content.encode())
    path = tmp_path / "paper.pdf"
    pdf.save(path)
    return path


def line(text: str, height: int, *, left: int = 72) -> str:
    return f"BT /F1 12 Tf {left} {height} Td ({text}) Tj ET\n"


def picture(number: int, left: int, bottom: int, width: int = 240, height: int = 160) -> str:
    return f"q {width} 0 0 {height} {left} {bottom} cm /Im{number} Do Q\n"


def test_pdf_places_a_picture_between_the_lines_around_it(tmp_path: Path) -> None:
    content = line(f"{SENTENCE}.", 700) + picture(0, 72, 480) + line("Figure 1: A red square.", 460)
    page = parsed(PdfParser(), pdf_of(tmp_path, content)).pages[0]
    (figure,) = page.figures
    assert page.text[: figure.position].endswith(f"{SENTENCE}.")
    assert page.text[figure.position :].strip().startswith("Figure 1")


def test_picture_in_a_column_stands_behind_the_words_of_its_column(tmp_path: Path) -> None:
    left = "".join(line(f"left {number} word word word word", 700 - 14 * number, left=50) for number in range(12))
    right = "".join(line(f"right {number} word word word word", 700 - 14 * number, left=330) for number in range(12))
    page = parsed(PdfParser(), pdf_of(tmp_path, left + right + picture(0, 50, 350))).pages[0]
    (figure,) = page.figures
    before = page.text[: figure.position]
    assert "left 11" in before
    assert "right" not in before


def test_pdf_figure_is_the_picture_as_displayed(tmp_path: Path) -> None:
    content = line(SENTENCE, 700) + picture(0, 72, 480) + line("label", 500, left=200)
    document = parsed(PdfParser(), pdf_of(tmp_path, content))
    (shown_picture,) = document.pictures.values()
    image = Image.open(io.BytesIO(base64.b64decode(shown_picture.data))).convert("RGB")
    assert image.width / image.height == pytest.approx(1.5, abs=0.02)
    red, green, blue = image.getpixel((image.width // 4, image.height // 4))  # pyright: ignore[reportGeneralTypeIssues]
    assert red > 200
    assert green < 60
    assert blue < 60


def test_strips_of_one_picture_are_one_figure(tmp_path: Path) -> None:
    strips = "".join(picture(0, 72, 480 + 40 * number, 240, 40) for number in range(4))
    assert len(parsed(PdfParser(), pdf_of(tmp_path, line(SENTENCE, 700) + strips)).pages[0].figures) == 1


def test_logo_on_each_page_and_background_of_a_page_are_left_out(tmp_path: Path) -> None:
    logo = picture(1, 450, 700, 90, 60)
    pages = [line(f"{SENTENCE} {number}", 600) + logo for number in range(4)]
    pages[2] += picture(0, 72, 300)
    pages[3] += picture(0, 0, 0, 612, 792)
    document = parsed(PdfParser(), pdf_of(tmp_path, *pages))
    assert [(page.page_number, len(page.figures)) for page in document.pages] == [(1, 0), (2, 0), (3, 1), (4, 0)]


def test_more_figures_than_allowed_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_FIGURES", 2)
    images = "".join(f"<img src='{data_uri(drawn(200 + number))}'>" for number in range(5))
    document = parsed(HtmlParser(), html_of(tmp_path, images))
    assert (len(shown(document)), len(document.pictures)) == (2, 2)
    assert any(warning.startswith("3 figures were not described") for warning in document.warnings)


def test_one_part_named_many_times_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures, reads = DocumentPictures(WANTED), 0

    def read() -> bytes:
        nonlocal reads
        reads += 1
        return file_of(drawn())

    assert len({pictures.add_figure("part", read) for _ in range(1000)}) == 1
    assert reads == 1


def test_picture_of_too_many_pixels_is_not_decoded() -> None:
    content = bytearray(file_of(drawn()))
    content[16:24] = (60_000).to_bytes(4, "big") * 2  # the size that the header declares
    assert DocumentPictures(WANTED).add_figure("bomb", lambda: bytes(content)) is None


def test_pictures_are_scaled_down_and_lose_their_transparency() -> None:
    pictures = DocumentPictures(WANTED)
    key = pictures.add_figure("large", lambda: file_of(drawn(4000, 2000, mode="RGBA"), "PNG"))
    assert key is not None
    document = ParsedDocument((ParsedPage(1, "", figures=(Figure(key, 0),)),))
    kept = pictures.finished(document).pictures[key]
    image = Image.open(io.BytesIO(base64.b64decode(kept.data)))
    assert max(image.size) == bounds.FIGURE_SIDE_PIXELS
    assert image.mode in {"RGB", "P", "L"}


def test_blank_scan_is_not_sent_and_scans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_SCANS", 1)
    pictures = DocumentPictures(WANTED)
    assert pictures.add_scan(GreyImage(b"\xff" * 10_000, 100, 100, 200)) == ""
    assert pictures.wants_scans
    assert pictures.add_scan(GreyImage(drawn(100, 100).convert("L").tobytes(), 100, 100, 200))
    assert not pictures.wants_scans


def test_badly_read_page_gives_its_picture_instead_of_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    make_scan(2).save(path)
    options = ParseOptions(reads_scans=True, ocr_data_dir=Path("/nonexistent"))
    pictures = DocumentPictures(options)
    with collecting(pictures):
        document = pictures.finished(PdfParser().parse(path, options, lambda _done, _total: None))
    assert [bool(page.scan) for page in document.pages] == [True, True]
    assert not any("not read" in warning for warning in document.warnings)
    assert len(document.pictures) == 1  # both pages are the same
