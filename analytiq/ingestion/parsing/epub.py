"""EPUB books: each chapter, in reading order, is a page."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.html import decode_html
from analytiq.ingestion.parsing.html_markdown import html_to_markdown
from analytiq.ingestion.parsing.visible_text import visible_text
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.models.text import ParsedDocument, ParsedPage

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_OBFUSCATED_FONTS = frozenset({"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"})
"""Scrambled fonts, which protect against copying and hide no text."""


class EpubParser:
    """The documents of the book's spine as Markdown; the first page begins with title and authors."""

    content_types = ("application/epub+zip",)
    extensions = (".epub",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read every document in reading order; omit those outside of it."""
        with open_package(path, noun="book") as archive:
            if _is_locked(archive):
                raise EncryptedFileError("The book is protected against copying: upload an unprotected copy.")
            return _read(archive, options, report_progress)


def _read(archive: ZipFile, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
    package_name = _package_name(archive)
    package = _parsed(archive, package_name)
    chapters = list(_chapters(package, posixpath.dirname(package_name)))
    if len(chapters) > options.max_pages:
        raise LimitExceededError(f"The book has {len(chapters)} chapters; at most {options.max_pages} are read.")
    pages: list[ParsedPage] = []
    missing: list[str] = []
    members = frozenset(archive.namelist())
    for name in chapters:
        if name not in members:
            missing.append(name)
            continue
        html = decode_html(archive.read(name), declared=None)
        text = html_to_markdown(html) or visible_text(html)
        pages.append(ParsedPage(len(pages) + 1, f"{_heading(package)}{text}" if not pages else text))
        report_progress(len(pages), len(chapters) - len(missing))
    if not pages:
        raise CorruptFileError("The book has no chapters to read: upload an undamaged copy.")
    report_progress(len(pages), len(pages))
    lost = ", ".join(map(repr, missing[:10]))
    return ParsedDocument(tuple(pages), (f"the book lacks chapters that it names: {lost}",) if missing else ())


def _package_name(archive: ZipFile) -> str:
    root = _parsed(archive, _CONTAINER).find(".//{*}rootfile")
    name = root.get("full-path") if root is not None else None
    if not name:
        raise ValueError("it does not say where its contents are listed")
    return name


def _chapters(package: Element, folder: str) -> Iterator[str]:
    """Yield the members of the spine, each once."""
    files = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href", "").partition("#")[0])))
        for item in package.iter("{*}item")
        if "html" in item.get("media-type", "html")
    }
    listed = (files.get(reference.get("idref")) for reference in package.iter("{*}itemref"))
    yield from dict.fromkeys(name for name in listed if name)


def _heading(package: Element) -> str:
    metadata = package.find("{*}metadata")
    if metadata is None:
        return ""
    title = next((" ".join((element.text or "").split()) for element in metadata.iter("{*}title")), "")
    authors = ", ".join(" ".join((element.text or "").split()) for element in metadata.iter("{*}creator"))
    return "".join(f"{line}\n\n" for line in (f"# {title}" if title else "", authors) if line)


def _is_locked(archive: ZipFile) -> bool:
    if _ENCRYPTION not in archive.namelist():
        return False
    methods = _parsed(archive, _ENCRYPTION).iter("{*}EncryptionMethod")
    return any(method.get("Algorithm") not in _OBFUSCATED_FONTS for method in methods)


def _parsed(archive: ZipFile, name: str) -> Element:
    return parsed_xml(archive.read(name))
