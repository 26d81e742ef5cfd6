"""File types in people's terms, each of several content types."""

from collections.abc import Mapping
from enum import StrEnum


class FileType(StrEnum):
    """The type of a document's uploaded file."""

    PDF = "pdf"
    WORD = "word"
    """Documents of any word processor."""
    SPREADSHEET = "spreadsheet"
    PRESENTATION = "presentation"
    TEXT = "text"
    WEB = "web"
    EMAIL = "email"
    EBOOK = "ebook"
    ARCHIVE = "archive"
    """Containers of files, compressed or not."""
    IMAGE = "image"
    OTHER = "other"
    """Everything else, and files of unknown type that have not been read yet."""


_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument"

CONTENT_TYPES: Mapping[FileType, tuple[str, ...]] = {
    FileType.PDF: ("application/pdf",),
    FileType.WORD: (
        f"{_OFFICE}.wordprocessingml.document",
        f"{_OPEN_DOCUMENT}.text",
        f"{_OPEN_DOCUMENT}.text-template",
        "application/rtf",
        "application/msword",
        "application/vnd.apple.pages",
    ),
    FileType.SPREADSHEET: (
        f"{_OFFICE}.spreadsheetml.sheet",
        f"{_OPEN_DOCUMENT}.spreadsheet",
        f"{_OPEN_DOCUMENT}.spreadsheet-template",
        "text/csv",
        "text/tab-separated-values",
        "application/vnd.ms-excel",
        "application/vnd.apple.numbers",
    ),
    FileType.PRESENTATION: (
        f"{_OFFICE}.presentationml.presentation",
        f"{_OPEN_DOCUMENT}.presentation",
        "application/vnd.ms-powerpoint",
        "application/vnd.apple.keynote",
    ),
    FileType.TEXT: (
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-ndjson",
        "application/x-ipynb+json",
        "application/x-subrip",
        "application/toml",
    ),
    FileType.WEB: ("text/html", "application/xhtml+xml"),
    FileType.EMAIL: ("message/rfc822", "application/vnd.ms-outlook", "application/mbox"),
    FileType.EBOOK: ("application/epub+zip", "application/x-mobipocket-ebook"),
    FileType.ARCHIVE: (
        "application/zip",
        "application/x-tar",
        "application/gzip",
        "application/x-bzip2",
        "application/x-xz",
    ),
}
"""The named content types; each belongs to one type."""

FAMILIES: Mapping[FileType, str] = {FileType.TEXT: "text/", FileType.IMAGE: "image/"}
"""Beginnings of further content types of a type: source code has hundreds of them."""

_TYPE_OF = {content_type: file_type for file_type, names in CONTENT_TYPES.items() for content_type in names}


def file_type_of(content_type: str) -> FileType:
    """Return the type of a content type."""
    family = (file_type for file_type, prefix in FAMILIES.items() if content_type.startswith(prefix))
    return _TYPE_OF.get(content_type) or next(family, FileType.OTHER)
