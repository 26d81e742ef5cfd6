"""Detection of office formats inside zip and OLE containers.

This reads little and allocates little, whatever the file claims, and never fails: `zipfile` would build an object
for each of a million members. A compound file is mapped, and its directory read whole: a message with a workbook
attached holds the workbook's names too.
"""

import os
import re
import struct
from collections.abc import Collection
from io import UnsupportedOperation
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.compound_file import SIGNATURE, CompoundFile

ZIP = "application/zip"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
EPUB = "application/epub+zip"
COMPOUND = "application/x-ole-storage"
ENCRYPTED_OFFICE = "application/encrypted"
"""An office file with a password; only its name reveals the kind."""
OFFICE = frozenset({DOCX, XLSX, PPTX})

_DIRECTORY_BYTES = 256 * 1024
"""Bytes of a zip's directory that are searched; Word's main part is among its first dozen names."""
_END_RECORD = struct.Struct("<4s4H2LH")
_DIRECTORY_ENTRY, _DIRECTORY_ENTRY_BYTES = struct.Struct("<28xH"), 46
_LOCAL_ENTRY, _LOCAL_ENTRY_BYTES = struct.Struct("<26xH"), 30
_TAIL_BYTES = 64 * 1024 + _END_RECORD.size

_MEDIA_TYPE = re.compile(rb"[A-Za-z]+/[\w.+-]+", re.ASCII)

_OFFICE_PARTS = ((b"word/", DOCX), (b"xl/", XLSX), (b"ppt/", PPTX))

_COMPOUND_STREAMS = (
    ("EncryptedPackage", ENCRYPTED_OFFICE),
    ("WordDocument", "application/msword"),
    ("Workbook", "application/vnd.ms-excel"),
    ("Book", "application/vnd.ms-excel"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint"),
    ("__properties_version1.0", "application/vnd.ms-outlook"),
)


def zip_content_type(file: BinaryIO, head: bytes) -> str:
    """Return the content type of a zip file: an office format by its parts, else `application/zip`."""
    declared = _declared_member(head)
    if declared is not None:
        return declared
    directory = _central_directory(file)
    # A truncated file has no directory at its end; the names of its first members still tell what it was.
    names = _names(directory, _DIRECTORY_ENTRY) if directory else _names(head, _LOCAL_ENTRY)
    if b"META-INF/container.xml" in names:
        return EPUB  # some programs pack the member that should be the first one later
    # Not in a folder: an archive of unpacked office files is an archive.
    if not names.isdisjoint((b"[Content_Types].xml", b"_rels/.rels")):
        for prefix, content_type in _OFFICE_PARTS:
            if any(name.startswith(prefix) for name in names):
                return content_type
    return ZIP


def _names(data: bytes, entry: struct.Struct) -> frozenset[bytes]:
    """Return the names behind entries of a zip: `entry` ends with the length of the name."""
    mark = b"PK\x01\x02" if entry is _DIRECTORY_ENTRY else b"PK\x03\x04"
    skipped = _DIRECTORY_ENTRY_BYTES if entry is _DIRECTORY_ENTRY else _LOCAL_ENTRY_BYTES
    names: set[bytes] = set()
    at = data.find(mark)
    while 0 <= at <= len(data) - skipped:
        length: int = entry.unpack_from(data, at)[0]
        name = data[at + skipped : at + skipped + length]
        names.add(name.replace(b"\\", b"/").lstrip(b"/"))
        at = data.find(mark, at + skipped + length)
    return frozenset(names)


def compound_content_type(file: BinaryIO, head: bytes) -> str:
    """Return the content type of an OLE compound file, by the names of its streams."""
    streams = _root_streams(file)
    if streams is not None:
        return next((content_type for name, content_type in _COMPOUND_STREAMS if name.lower() in streams), COMPOUND)
    # A damaged file; the names in its directory or its first bytes still tell what it was.
    directory = _compound_directory(file, head)
    for name, content_type in _COMPOUND_STREAMS:
        encoded = name.encode("utf-16-le")
        if encoded in directory or encoded in head:
            return content_type
    return COMPOUND


def is_encrypted_office_file(path: Path) -> bool:
    """Return True if this is an office file saved with a password: an OLE file around the encrypted zip."""
    with path.open("rb") as file:
        head = file.read(_DIRECTORY_BYTES)
        return head.startswith(SIGNATURE) and compound_content_type(file, head) == ENCRYPTED_OFFICE


def _root_streams(file: BinaryIO) -> Collection[str] | None:
    """Return the names of a compound file's streams, without those of files inside it; None if it is damaged."""
    try:
        return CompoundFile(_whole(file), noun="file").root.streams
    except (AnalytiqError, OSError, ValueError):
        return None


def _whole(file: BinaryIO) -> mmap | bytes:
    """Return the bytes of a file; a part of an archive is read, since it begins anywhere."""
    try:
        return mmap(file.fileno(), 0, access=ACCESS_READ)
    except UnsupportedOperation:
        file.seek(0)
        return file.read()


def _declared_member(head: bytes) -> str | None:
    """Return the type in the stored member `mimetype`, with which OpenDocument and EPUB begin."""
    if head[30:38] != b"mimetype":
        return None
    size = struct.unpack_from("<L", head, 18)[0]
    content = head[38 : 38 + min(size, 100)].strip()
    return content.decode("ascii").lower() if _MEDIA_TYPE.fullmatch(content) else None


def _central_directory(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL_BYTES, 0))
    tail = file.read(_TAIL_BYTES)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END_RECORD.size:
        return b""
    offset = int(_END_RECORD.unpack_from(tail, at)[6])
    if offset >= size:  # also 0xFFFFFFFF, which says that the true offset is elsewhere (zip64)
        return b""
    file.seek(offset)
    return file.read(_DIRECTORY_BYTES)


def _compound_directory(file: BinaryIO, head: bytes) -> bytes:
    if len(head) < 512:
        return b""
    sector_bytes = 1 << min(struct.unpack_from("<H", head, 30)[0], 16)
    first_sector = struct.unpack_from("<L", head, 48)[0]
    offset = (first_sector + 1) * sector_bytes
    # Beyond what the file system can address, seeking itself fails.
    if offset >= file.seek(0, os.SEEK_END):
        return b""
    file.seek(offset)
    return file.read(4 * sector_bytes)
