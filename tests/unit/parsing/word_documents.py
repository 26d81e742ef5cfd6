"""Minimal Word documents, made on the spot."""

from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

CONTENT_TYPES_PART = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONSHIPS_PART = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

WriteDocx = Callable[[str, Mapping[str, str]], Path]
"""Called with the body's XML and further parts."""


def write_word_document(path: Path, body: str, parts: Mapping[str, str]) -> Path:
    """Write the document and return its path."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", CONTENT_TYPES_PART)
        archive.writestr("_rels/.rels", RELATIONSHIPS_PART)
        archive.writestr("word/document.xml", f"<w:document {WORD}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            archive.writestr(name, content)
    return path
