"""Files that the end-to-end tests make for themselves."""

import io
import zipfile
from collections.abc import Sequence

import pikepdf
from PIL import Image, ImageDraw, ImageFont


def pdf_of(pages: Sequence[str]) -> bytes:
    """A PDF with the lines of each text on a page of its own."""
    pdf = pikepdf.new()
    font = pdf.make_indirect(
        pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
    )
    for text in pages:
        lines = " T* ".join(f"({_escaped(line)}) Tj" for line in text.splitlines())
        page = pikepdf.Dictionary(
            Type=pikepdf.Name.Page,
            MediaBox=[0, 0, 595, 842],
            Resources=pikepdf.Dictionary(Font=pikepdf.Dictionary(F1=font)),
            Contents=pdf.make_stream(f"BT /F1 12 Tf 14 TL 72 770 Td {lines} ET".encode("ascii")),
        )
        pdf.pages.append(pikepdf.Page(pdf.make_indirect(page)))
    out = io.BytesIO()
    pdf.save(out, deterministic_id=True)
    return out.getvalue()


def encrypted_pdf_of(pages: Sequence[str], password: str) -> bytes:
    """The same behind a password."""
    out = io.BytesIO()
    with pikepdf.open(io.BytesIO(pdf_of(pages))) as pdf:
        pdf.save(out, encryption=pikepdf.Encryption(user=password, owner=password))
    return out.getvalue()


def scan_of(pages: Sequence[str]) -> bytes:
    """A PDF whose pages are pictures of the texts, as a scanner makes it."""
    font = ImageFont.load_default(size=36)
    images: list[Image.Image] = []
    for text in pages:
        image = Image.new("L", (1240, 1754), 255)
        ImageDraw.Draw(image).multiline_text((120, 150), text, fill=0, font=font, spacing=20)
        images.append(image)
    out = io.BytesIO()
    images[0].save(out, "PDF", save_all=True, append_images=images[1:], resolution=150)
    return out.getvalue()


def docx_of(paragraphs: Sequence[str]) -> bytes:
    """A Word document; each paragraph is plain."""
    name_space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(f"<w:p><w:r><w:t>{paragraph}</w:t></w:r></w:p>" for paragraph in paragraphs)
    parts = {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
            '.wordprocessingml.document.main+xml"/></Types>'
        ),
        "_rels/.rels": (
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships'
            '/officeDocument" Target="word/document.xml"/></Relationships>'
        ),
        "word/document.xml": f'<w:document xmlns:w="{name_space}"><w:body>{body}</w:body></w:document>',
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>\n{content}')
    return out.getvalue()


def _escaped(line: str) -> str:
    return line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
