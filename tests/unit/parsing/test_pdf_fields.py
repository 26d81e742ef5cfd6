"""Form fields of pages that hold very many."""

import io
from pathlib import Path

import pikepdf
from pikepdf import Array, Dictionary, Name, String

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.ingestion.parsing.pdf_layout.form_document import MOST_DRAWN_FIELDS, FormDocument


def form_of(count: int) -> bytes:
    """Return a PDF of one page with text fields, each with a value of its own."""
    pdf = pikepdf.new()
    page = pdf.add_blank_page(page_size=(600, 800))
    fields = [
        pdf.make_indirect(
            Dictionary(
                Type=Name.Annot, Subtype=Name.Widget, FT=Name.Tx, T=String(f"f{number}"), V=String(f"value{number}"),
                Rect=Array([10, 10 + number % 700, 200, 20 + number % 700]),
            )
        )
        for number in range(count)
    ]  # fmt: skip
    page.Annots = Array(fields)
    pdf.Root.AcroForm = pdf.make_indirect(Dictionary(Fields=Array(fields)))
    content = io.BytesIO()
    pdf.save(content)
    return content.getvalue()


def test_only_pages_with_few_fields_have_them_drawn() -> None:
    """pdfium compares each drawn field with all before it."""
    for count, is_drawn in ((0, False), (1, True), (MOST_DRAWN_FIELDS, True), (MOST_DRAWN_FIELDS + 1, False)):
        document = FormDocument(form_of(count))
        document.init_forms()
        assert (document[0].formenv is not None) is is_drawn
        document.close()


def test_every_value_of_a_page_with_many_fields_is_read(tmp_path: Path) -> None:
    path = tmp_path / "form.pdf"
    path.write_bytes(form_of(6_000))
    parsed = PdfParser().parse(path, ParseOptions(ocr_data_dir=Path("/nonexistent")), lambda *_: None)
    words = {word for page in parsed.pages for word in page.text.split()}
    assert {f"value{number}" for number in range(6_000)} <= words
