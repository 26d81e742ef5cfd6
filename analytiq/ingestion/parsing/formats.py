"""Detection of a file's content type: by its bytes, then its name, then the sender's header.

Binary formats are recognized by their bytes alone, so a wrong extension changes nothing. Text formats look alike as
bytes, so the name decides, then the sender; a file that is neither known binary nor text is octets. A text that its
sender or its name calls a passage is one, whatever it begins with: the name that a sender gives is often a question.
"""

import mimetypes
import re
from pathlib import Path, PurePath
from typing import BinaryIO

from analytiq.ingestion.parsing.base import TypeHints
from analytiq.ingestion.parsing.charset import unmarked_utf16
from analytiq.ingestion.parsing.containers import (
    COMPOUND,
    DOCX,
    ENCRYPTED_OFFICE,
    OFFICE,
    ZIP,
    compound_content_type,
    zip_content_type,
)
from analytiq.ingestion.parsing.registry import PASSAGE_TYPE, ParserRegistry, default_registry

OCTETS = "application/octet-stream"
PLAIN = "text/plain"
HTML = "text/html"
EMAIL = "message/rfc822"
MAILBOX = "application/mbox"
TAR = "application/x-tar"
NOTEBOOK = "application/x-ipynb+json"
NDJSON = "application/x-ndjson"
YAML = "application/yaml"
PROPERTIES = "text/x-java-properties"
TOML = "application/toml"
SUBRIP = "application/x-subrip"

HEAD_BYTES = 64 * 1024
MAX_CONTROL_SHARE = 0.01
"""Largest share of NUL, and of other control characters, in a text."""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"II+\x00", "image/tiff"),
    (b"MM\x00+", "image/tiff"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS", "application/postscript"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"\x09\x08\x10\x00\x00\x06\x05\x00", "application/vnd.ms-excel"),
    (b"\x09\x08\x08\x00\x00\x05\x05\x00", "application/vnd.ms-excel"),
    (b"\x09\x04\x06\x00\x00\x00\x10\x00", "application/vnd.ms-excel"),
    (b"\x09\x02\x06\x00\x00\x00\x10\x00", "application/vnd.ms-excel"),
    (b"\x09\x00\x04\x00\x00\x00\x10\x00", "application/vnd.ms-excel"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\x1aE\xdf\xa3", "video/x-matroska"),
)

_CONTAINER_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heic",
    b"avif": "image/avif",
}
"""Brands of ISO media files ("ftyp") that are images; the others are films."""

_TEXT_EXTENSIONS = {
    ".txt": PLAIN,
    ".text": PLAIN,
    ".log": PLAIN,
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".mdown": "text/markdown",
    ".mkd": "text/markdown",
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".tab": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": NDJSON,
    ".ndjson": NDJSON,
    ".yaml": YAML,
    ".yml": YAML,
    ".srt": SUBRIP,
    ".vtt": "text/vtt",
    ".xml": "application/xml",
    ".json5": "application/json",
    ".jsonc": "application/json",
    ".properties": PROPERTIES,
    ".toml": TOML,
    ".ipynb": NOTEBOOK,
    ".eml": EMAIL,
    ".mbox": MAILBOX,
    ".mbx": MAILBOX,
}

_ALIASES = {
    "application/csv": "text/csv",
    "application/x-csv": "text/csv",
    "text/x-csv": "text/csv",
    "text/comma-separated-values": "text/csv",
    "text/tsv": "text/tab-separated-values",
    "application/xhtml+xml": HTML,
    "text/x-markdown": "text/markdown",
    "text/xml": "application/xml",
    "text/json": "application/json",
    "application/jsonl": NDJSON,
    "application/json-lines": NDJSON,
    "application/x-jsonlines": NDJSON,
    "application/x-yaml": YAML,
    "text/yaml": YAML,
    "text/x-yaml": YAML,
    "application/srt": SUBRIP,
    "text/srt": SUBRIP,
    "application/x-mbox": MAILBOX,
    "application/x-gzip": "application/gzip",
    "application/x-bzip": "application/x-bzip2",
    "application/x-zip-compressed": ZIP,
    "application/x-gtar": TAR,
    "text/rtf": "application/rtf",
    "application/x-pdf": "application/pdf",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/tif": "image/tiff",
    "image/x-ms-bmp": "image/bmp",
    "image/x-bmp": "image/bmp",
}

_BARE_CONTAINERS = frozenset({ZIP, COMPOUND})
_CONTAINER_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

_HTML_START = re.compile(
    rb"\s*+(?:<\?xml[^>]{0,200}>\s*+)?(?:<!--(?:(?!-->).){0,2000}+-->\s*+)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_FOLD = re.compile(rb"\n[ \t]+")
_HEADER_NAME = re.compile(rb"[!-9;-~]{1,76}")
_EMAIL_HEADERS = frozenset(
    (b"from", b"to", b"subject", b"date", b"message-id", b"mime-version", b"received", b"return-path", b"delivered-to")
)
_TEXT_CONTROLS = bytes([*range(0x07, 0x0E), 0x1B])
"""Control characters in texts: bell to carriage return, and the escape of ISO-2022."""


def detect_content_type(
    path: Path,
    *,
    file_name: str = "",
    declared: str | None = None,
    registry: ParserRegistry | None = None,
) -> str:
    """Return the canonical content type of a file.

    Args:
        path: The stored bytes.
        file_name: The name of the upload; empty: that of `path`.
        declared: The sender's Content-Type; its parameters are ignored.
        registry: Parsers whose file name endings count besides the usual ones; None: the installed ones.

    Returns:
        A MIME type in lower case, `application/octet-stream` if unknown.
    """
    return detect(path, hints_of(file_name or path.name, declared=declared, registry=registry))


def hints_of(file_name: str, *, declared: str | None = None, registry: ParserRegistry | None = None) -> TypeHints:
    """Return the hints from a file's name and sender; arguments as of `detect_content_type`."""
    extension = PurePath(file_name).suffix.lower()
    named = _TEXT_EXTENSIONS.get(extension) or (registry or default_registry()).content_type_of_extension(extension)
    return TypeHints(extension, named, canonical_content_type(declared))


def text_by_name(head: bytes, hints: TypeHints) -> str | None:
    """Return the content type of a file that is plain text by its name and of no other kind by its first bytes.

    A text that its sender or its name calls a passage is one by that alone.

    It compares bytes without interpreting any, so a process with keys may call it on any file.
    """
    if PASSAGE_TYPE in (hints.claimed, hints.named):
        return PASSAGE_TYPE if looks_like_text(head) else None
    is_contradicted = hints.named == PLAIN and hints.claimed not in {None, PLAIN}
    if hints.named != PLAIN or is_contradicted or not looks_like_text(head) or b"%PDF-" in head[:1024]:
        return None
    is_binary = any(head.startswith(magic) for magic, _ in _MAGIC) or _media_content_type(head) is not None
    return None if is_binary or head.startswith(_CONTAINER_STARTS) else hints.named


def detect(path: Path, hints: TypeHints) -> str:
    """Return the canonical content type of a file.

    It interprets untrusted bytes: call it in the sandbox (`sandbox.detect_in_child`).
    """
    with path.open("rb") as file:
        return detect_in(file, hints)


def detect_in(file: BinaryIO, hints: TypeHints) -> str:
    """Return the canonical content type of an open file, as `detect` does."""
    head = file.read(HEAD_BYTES)
    extension, named, claimed = hints.extension, hints.named, hints.claimed
    if PASSAGE_TYPE in (claimed, named) and looks_like_text(head):
        return PASSAGE_TYPE
    binary = _binary_content_type(head, file)
    if binary == ENCRYPTED_OFFICE:
        return next((candidate for candidate in (named, claimed) if candidate in OFFICE), DOCX)
    if binary in _BARE_CONTAINERS:
        return _refined_container(binary, extension, named, claimed)
    if binary is not None:
        return binary
    if not looks_like_text(head):
        return _unknown_binary(extension, named, claimed)
    return _text_content_type(head, named, claimed)


def canonical_content_type(declared: str | None) -> str | None:
    """Return a declared Content-Type without parameters and under its usual name; None if it is unspecific."""
    if not declared:
        return None
    bare = declared.partition(";")[0].strip().lower()
    bare = _ALIASES.get(bare, bare)
    if bare.endswith(("+json", "+xml")) and bare != NOTEBOOK:
        bare = "application/json" if bare.endswith("+json") else "application/xml"
    return None if bare in {"", OCTETS, "binary/octet-stream", "application/x-unknown"} else bare


def looks_like_text(head: bytes) -> bool:
    """Return True if the first bytes of a file look like text in any charset."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or unmarked_utf16(head[: len(head) // 2 * 2]):
        return True
    zeros = head.count(0)
    if zeros > max(1, MAX_CONTROL_SHARE * len(head)):
        return False
    controls = sum(head.count(code) for code in range(1, 0x20) if code not in _TEXT_CONTROLS)
    return controls <= MAX_CONTROL_SHARE * len(head)


def _binary_content_type(head: bytes, file: BinaryIO) -> str | None:
    for magic, content_type in _MAGIC:
        if head.startswith(magic):
            return content_type
    if b"%PDF-" in head[:1024]:  # readers accept up to a kilobyte of rubbish before it
        return "application/pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_content_type(file, head)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return compound_content_type(file, head)
    if head[257:262] == b"ustar":
        return TAR
    return _media_content_type(head)


def _refined_container(container: str, extension: str, named: str | None, claimed: str | None) -> str:
    """Return the type of a container with unrecognizable parts, by its name or the sender's header."""
    guessed = named or mimetypes.guess_type(f"file{extension}", strict=False)[0]
    for candidate in (guessed, claimed):
        if candidate is not None and (candidate.startswith("application/vnd.") or candidate == "application/msword"):
            return candidate
    return container


def _media_content_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(head[8:12])
    if head[4:8] == b"ftyp":
        return _CONTAINER_BRANDS.get(head[8:12], "video/mp4")
    # "BM" alone also begins texts; a bitmap's reserved field is zero and its header sizes are few.
    if head[:2] == b"BM" and head[6:10] == b"\x00" * 4 and head[14:15] in {b"\x0c", b"(", b"@", b"8", b"l", b"|"}:
        return "image/bmp"
    return None


def _unknown_binary(extension: str, named: str | None, claimed: str | None) -> str:
    """Return the type of a binary file without a known signature, by its name or the sender's header; never text."""
    guessed = named or mimetypes.guess_type(f"file{extension}", strict=False)[0]
    for candidate in (guessed, claimed):
        if candidate is not None and not _is_text_type(candidate):
            return candidate
    return OCTETS


def _text_content_type(head: bytes, named: str | None, claimed: str | None) -> str:
    for candidate in (named, claimed):
        if candidate is not None and _is_text_type(candidate) and candidate != PLAIN:
            return candidate
    if named == PLAIN:
        return PLAIN
    start = head.replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")
    if start.startswith(b"From ") and _begins_as_email(start.partition(b"\n")[2]):
        return MAILBOX
    if _begins_as_email(start):
        return EMAIL
    return HTML if _HTML_START.match(start) else PLAIN


def _begins_as_email(start: bytes) -> bool:
    """Return True if the first lines are headers, three of them those of a message."""
    headers = _FOLD.sub(b" ", start.lstrip().replace(b"\r\n", b"\n").partition(b"\n\n")[0])
    names = [line.partition(b":")[0].lower() for line in headers.split(b"\n")[:100]]
    if not all(_HEADER_NAME.fullmatch(name) for name in names[:-1]):
        return False
    return len(_EMAIL_HEADERS.intersection(names)) >= 3


def _is_text_type(content_type: str) -> bool:
    return content_type.startswith("text/") or content_type in {
        "application/json",
        "application/xml",
        EMAIL,
        MAILBOX,
        NOTEBOOK,
        NDJSON,
        YAML,
        TOML,
        SUBRIP,
    }
