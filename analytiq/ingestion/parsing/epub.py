"""EPUB books: each chapter, in reading order, is a page."""

import posixpath
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZipFile

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.html import decode_html, first_heading, hidden_warnings, write_html
from analytiq.ingestion.parsing.html_pictures import files_of_package
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.text_builder import TextBuilder
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
    warnings: dict[str, None] = {}
    hidden = 0
    names = _chapter_names(archive, package, posixpath.dirname(package_name))
    title, authors = _title_and_authors(package)
    builder = TextBuilder()
    if title:
        builder.heading(title, 1)
    builder.paragraph(authors)
    members = frozenset(archive.namelist())
    for name in chapters:
        if name not in members:
            missing.append(name)
            continue
        decoded = decode_html(archive.read(name), declared=None)
        warnings.update(dict.fromkeys(decoded.warnings))
        hidden += write_html(builder, html_tree(decoded.text), files=files_of_package(archive, name))
        page = builder.page(len(pages) + 1)
        pages.append(replace(page, name=names.get(name) or (first_heading(page) if pages or not title else "")))
        report_progress(len(pages), len(chapters) - len(missing))
    if not pages:
        raise CorruptFileError("The book has no chapters to read: upload an undamaged copy.")
    report_progress(len(pages), len(pages))
    lost = ", ".join(map(repr, missing[:10]))
    if missing:
        warnings[f"the book lacks chapters that it names: {lost}"] = None
    return ParsedDocument(tuple(pages), (*warnings, *hidden_warnings(hidden)), title)


def _package_name(archive: ZipFile) -> str:
    root = _parsed(archive, _CONTAINER).find(".//{*}rootfile")
    name = root.get("full-path") if root is not None else None
    if not name:
        raise ValueError("it does not say where its contents are listed")
    return name


def _chapters(package: Element, folder: str) -> Iterator[str]:
    """Yield the members of the spine, each once."""
    files = {
        item.get("id"): _member(folder, item.get("href", ""))
        for item in package.iter("{*}item")
        if "html" in item.get("media-type", "html")
    }
    listed = (files.get(reference.get("idref")) for reference in package.iter("{*}itemref"))
    yield from dict.fromkeys(name for name in listed if name)


def _chapter_names(archive: ZipFile, package: Element, folder: str) -> dict[str, str]:
    """Return the names of chapters from the table of contents, by member; a damaged table names none."""
    members = frozenset(archive.namelist())
    names: dict[str, str] = {}
    for item in package.iter("{*}item"):
        is_navigation = "nav" in item.get("properties", "").split()
        if not is_navigation and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        table = _member(folder, item.get("href", ""))
        if table not in members:
            continue
        data = archive.read(table)
        entries = _nav_entries(data) if is_navigation else _ncx_entries(data)
        for target, name in entries:
            if name:
                names.setdefault(_member(posixpath.dirname(table), target), name)
    return names


def _nav_entries(data: bytes) -> Iterator[tuple[str, str]]:
    for element in html_tree(decode_html(data, declared=None).text).walk():
        if element.tag == "nav" and element.get("epub:type") in {"toc", ""}:
            for link in element.walk():
                if link.tag == "a":
                    yield link.get("href"), " ".join(link.text().split())


def _ncx_entries(data: bytes) -> Iterator[tuple[str, str]]:
    try:
        table = parsed_xml(data)
    except SyntaxError:  # lxml's own errors are such
        return
    for point in table.iter("{*}navPoint"):
        content, label = point.find("{*}content"), point.find("{*}navLabel/{*}text")
        if content is not None and label is not None:
            yield content.get("src", ""), " ".join((label.text or "").split())


def _member(folder: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(reference.partition("#")[0])))


def _title_and_authors(package: Element) -> tuple[str, str]:
    metadata = package.find("{*}metadata")
    if metadata is None:
        return "", ""
    title = next((" ".join((element.text or "").split()) for element in metadata.iter("{*}title")), "")
    authors = ", ".join(" ".join((element.text or "").split()) for element in metadata.iter("{*}creator"))
    return title, authors


def _is_locked(archive: ZipFile) -> bool:
    if _ENCRYPTION not in archive.namelist():
        return False
    methods = _parsed(archive, _ENCRYPTION).iter("{*}EncryptionMethod")
    return any(method.get("Algorithm") not in _OBFUSCATED_FONTS for method in methods)


def _parsed(archive: ZipFile, name: str) -> Element:
    return parsed_xml(archive.read(name))
