"""Small files that are costly to read, made by program: each held a slot for minutes, or took 1.5 GB."""

import io
import zipfile

import pikepdf
from PIL import Image, ImageDraw


def scans(pages: int) -> bytes:
    """Make a PDF of a few KB whose pages share one picture of text, so that each is read by OCR."""
    picture = Image.new("1", (1240, 1754), 1)
    draw = ImageDraw.Draw(picture)
    for line in range(40):
        draw.text((80, 60 + 40 * line), f"Line {line} of a page that nobody typed", fill=0)
    pdf = pikepdf.new()
    image = pikepdf.Stream(
        pdf,
        picture.tobytes(),
        Type=pikepdf.Name.XObject,
        Subtype=pikepdf.Name.Image,
        Width=1240,
        Height=1754,
        ColorSpace=pikepdf.Name.DeviceGray,
        BitsPerComponent=1,
    )
    shared, content = pdf.make_indirect(image), pdf.make_stream(b"q 595 0 0 842 0 0 cm /P Do Q")
    for _ in range(pages):
        pdf.add_blank_page(page_size=(595, 842))
        page = pdf.pages[-1]
        page.obj["/Resources"] = pikepdf.Dictionary(XObject=pikepdf.Dictionary(P=shared))
        page.obj["/Contents"] = content
    target = io.BytesIO()
    pdf.save(target, compress_streams=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return target.getvalue()


def word_document(paragraphs: int) -> bytes:
    """Make a Word document of so many short paragraphs; 300,000 of them pack to 33 KB."""
    body = "<w:p><w:r><w:t>word</w:t></w:r></w:p>" * paragraphs
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
        '.wordprocessingml.document.main+xml"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>'
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
        package.writestr("[Content_Types].xml", types)
        package.writestr("_rels/.rels", relations)
        package.writestr("word/document.xml", f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>')
    return target.getvalue()


def page_with_attributes(count: int) -> bytes:
    """Make a web page with so many attributes in one tag."""
    attributes = " ".join(f"a{number}=1" for number in range(count))
    return f"<html><body><p>Before the tag.</p><div {attributes}>Within the tag.</div></body></html>".encode()
