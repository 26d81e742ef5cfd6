"""Maker of the sample documents that no text editor writes: `python -m scripts.sample_maker`.

The PDF and the DOCX come out byte for byte the same each time; the PNG depends on the version of Pillow.
"""

import zipfile
from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from textwrap import wrap

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from scripts.sample_texts import AGREEMENT_PAGES, LETTER, TRAVEL_POLICY, Paragraph

SAMPLES = Path(__file__).parent.parent / "analytiq" / "cli" / "samples"

PDF_LINE_CHARACTERS = 88
PDF_LINE_POINTS = 15
PDF_TOP_POINTS = 770

LETTER_SIZE = (1240, 1754)
"""A4 at 150 dots per inch: what an office scanner makes."""

WORD_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PACKAGE_TYPES = "application/vnd.openxmlformats-package"
DOCUMENT_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
OFFICE_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships"
CONTENT_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def make_pdf(pages: Sequence[Sequence[Paragraph]]) -> bytes:
    """Write a PDF with a page of text for each of `pages`; ASCII only, in Helvetica, which every reader has."""
    page_ids = [4 + 2 * index for index in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in page_ids)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, page in zip(page_ids, pages, strict=True):
        content = _page_content(page)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            + f" /Contents {number + 1} 0 R >>".encode()
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream")
    return _assembled(objects)


def _page_content(page: Sequence[Paragraph]) -> bytes:
    commands = ["BT", f"1 0 0 1 60 {PDF_TOP_POINTS} Tm", f"{PDF_LINE_POINTS} TL"]
    for paragraph in page:
        commands.append(f"/F1 {14 if paragraph.is_heading else 11} Tf")
        for line in wrap(paragraph.text, PDF_LINE_CHARACTERS):
            quoted = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            commands.append(f"({quoted}) Tj T*")
        commands.append("T*")
    return "\n".join([*commands, "ET"]).encode("ascii")


def _assembled(objects: Sequence[bytes]) -> bytes:
    out = BytesIO()
    out.write(b"%PDF-1.4\n")
    offsets: list[int] = []
    for number, content in enumerate(objects, start=1):
        offsets.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + content + b"\nendobj\n")
    table = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    for offset in offsets:
        out.write(f"{offset:010} 00000 n \n".encode())
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()


def make_docx(paragraphs: Sequence[Paragraph]) -> bytes:
    """Write a Word document of headings and paragraphs."""
    body = "".join(
        f'<w:p>{_HEADING if paragraph.is_heading else ""}<w:r><w:t xml:space="preserve">{escape(paragraph.text)}</w:t>'
        "</w:r></w:p>"
        for paragraph in paragraphs
    )
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{CONTENT_TYPES}">'
            f'<Default Extension="rels" ContentType="{PACKAGE_TYPES}.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{DOCUMENT_TYPE}"/></Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{RELATIONSHIPS}">'
            f'<Relationship Id="r1" Type="{OFFICE_DOCUMENT}" Target="word/document.xml"/></Relationships>'
        ),
        "word/document.xml": f'<w:document xmlns:w="{WORD_NAMESPACE}"><w:body>{body}</w:body></w:document>',
    }
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in parts.items():
            # A fixed time, so that the file is the same whenever it is made.
            entry = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            archive.writestr(entry, f'<?xml version="1.0" encoding="UTF-8"?>\n{content}')
    return out.getvalue()


_HEADING = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'


def make_scan(lines: Sequence[str]) -> bytes:
    """Draw a typed page as a scanner sees it: grey, a little soft, not quite straight."""
    page = Image.new("L", LETTER_SIZE, 246)
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(30)
    for number, line in enumerate(lines):
        draw.text((120, 150 + 48 * number), line, font=font, fill=30)
    turned = page.rotate(0.4, resample=Image.Resampling.BICUBIC, fillcolor=246)
    out = BytesIO()
    turned.filter(ImageFilter.GaussianBlur(0.6)).quantize(16).save(out, "PNG", dpi=(150, 150), optimize=True)
    return out.getvalue()


def main() -> None:
    """Write the three files."""
    (SAMPLES / "service-agreement.pdf").write_bytes(make_pdf(AGREEMENT_PAGES))
    (SAMPLES / "travel-policy.docx").write_bytes(make_docx(TRAVEL_POLICY))
    (SAMPLES / "scanned-letter.png").write_bytes(make_scan(LETTER))


if __name__ == "__main__":
    main()
