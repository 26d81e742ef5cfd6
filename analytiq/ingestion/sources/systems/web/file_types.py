"""Kinds of files that become documents of a web source."""

import mimetypes
from pathlib import PurePosixPath

from analytiq.ingestion.parsing.formats import HTML, MAILBOX, OCTETS, PLAIN, TAR, canonical_content_type
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.sources.systems.web.addresses import document_name, path_of

ENDINGS_OF_PAGES = frozenset({".html", ".htm", ".xhtml"})
XML = "application/xml"
NEVER_READ = frozenset({
    ".css", ".js", ".mjs", ".map", ".woff", ".woff2", ".ttf", ".otf", ".eot", ".ico", ".svg", ".png", ".jpg", ".jpeg",
    ".gif", ".webp", ".avif", ".bmp", ".tif", ".tiff", ".mp3", ".mp4", ".m4a", ".m4v", ".mov", ".avi", ".mkv", ".webm",
    ".ogg", ".wav", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".tar", ".exe", ".msi", ".dmg", ".iso",
    ".deb", ".rpm", ".apk", ".jar", ".whl", ".bin",
})  # fmt: skip
"""Endings of addresses that are not requested: parts of pages, media, archives and programs."""
_ARCHIVES = frozenset({"application/zip", TAR, "application/gzip", "application/x-bzip2", "application/x-xz", MAILBOX})
_NO_TEXTS = frozenset({"text/css", "text/javascript", "text/ecmascript"})


def is_html(content_type: str) -> bool:
    """Return True for the type of a page."""
    return canonical_content_type(content_type) == HTML


def ending_of(address: str) -> str:
    """Return the ending of an address's path in lower case, with its dot; "" if it has none."""
    return PurePosixPath(path_of(address).partition("?")[0]).suffix.lower()


def is_never_read(address: str) -> bool:
    """Return True if the ending of an address tells that it is no document."""
    return ending_of(address) in NEVER_READ


def type_of(address: str, content_type: str) -> str | None:
    """Return the canonical type of a document; None if it is not taken.

    Args:
        address: tells the type where the header is unspecific.
        content_type: the header, "" if there is none.
    """
    registry = default_registry()
    told = canonical_content_type(content_type) or registry.content_type_of_extension(ending_of(address))
    if told is None:
        return None if canonical_content_type(content_type) or content_type else OCTETS
    is_left_out = told.startswith("image/") or told in _ARCHIVES or told in _NO_TEXTS
    return told if registry.reads(told) and not is_left_out else None


def name_of(address: str, content_type: str) -> str:
    """Return the name of a document, with the ending of its type."""
    ending = ending_of(address)
    if content_type == HTML:
        return document_name(address, "" if ending in ENDINGS_OF_PAGES else ".html")
    registry = default_registry()
    if content_type == PLAIN or (ending and registry.content_type_of_extension(ending) == content_type):
        return document_name(address, "" if ending else ".txt")
    return document_name(address, mimetypes.guess_extension(content_type) or "")
