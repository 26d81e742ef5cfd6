"""Answers to PROPFIND (RFC 4918): the resources with their properties."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from urllib.parse import unquote_to_bytes, urlsplit

from lxml import etree

from analytiq.errors import PermanentError
from analytiq.ingestion.parsing.xml_part import Element

MOST_BYTES = 64 * 1024 * 1024
MOST_RESOURCES = 50_001
LONGEST_TEXT = 4096
"""Most characters of a property that are kept."""
MOST_SHAREES = 1000
DAV = "{DAV:}"
OWNCLOUD = "{http://owncloud.org/ns}"
"""Also of Nextcloud."""
NEXTCLOUD = "{http://nextcloud.org/ns}"
_GROUP = "1"
_PUBLIC = ("3",)
REQUEST = b"""<?xml version="1.0" encoding="utf-8"?>
<d:propfind xmlns:d="DAV:" xmlns:o="http://owncloud.org/ns" xmlns:n="http://nextcloud.org/ns"><d:prop>
<d:resourcetype/><d:getetag/><d:getcontentlength/><d:getlastmodified/><d:getcontenttype/>
<o:fileid/><o:owner-id/><n:sharees/>
</d:prop></d:propfind>"""


@dataclass(slots=True)
class Resource:
    """A file or a folder (collection) as the server describes it.

    Attributes:
        path: of its address, decoded, without a slash at the end.
        people, groups: with whom it is shared.
    """

    path: str
    is_folder: bool = False
    etag: str | None = None
    byte_size: int | None = None
    modified: datetime | None = None
    file_id: str | None = None
    owner: str | None = None
    people: list[str] = field(default_factory=list[str])
    groups: list[str] = field(default_factory=list[str])
    is_public: bool = False


async def read_resources(blocks: AsyncIterator[bytes]) -> list[Resource]:
    """Read the resources of an answer; each element is dropped when it is read.

    Raises:
        PermanentError: the answer is no multistatus, or is too large.
    """
    # No entity is expanded and nothing is fetched.
    parser = etree.XMLPullParser(
        events=("end",), tag=f"{DAV}response", resolve_entities=False, no_network=True, load_dtd=False
    )
    found: list[Resource] = []
    size = 0
    try:
        async for block in blocks:
            size += len(block)
            if size > MOST_BYTES:
                raise PermanentError(f"The list of the folder is larger than {MOST_BYTES:,} bytes.")
            parser.feed(block)
            _take(parser, found)
        root = parser.close()
        _take(parser, found)
    except etree.XMLSyntaxError:
        raise PermanentError("The server does not answer like a WebDAV server. Check the address.") from None
    if root.tag != f"{DAV}multistatus":
        raise PermanentError("The server does not answer like a WebDAV server. Check the address.")
    return found


def decoded_path(address: str) -> str | None:
    """Return the decoded path of an address or a path; None if it is not UTF-8 or is ambiguous."""
    try:
        path = urlsplit(address).path
    except ValueError:
        return None
    segments = [unquote_to_bytes(segment) for segment in path.split("/")]
    if any(b"/" in segment or b"\0" in segment for segment in segments):
        return None
    try:
        return b"/".join(segments).decode().rstrip("/")
    except UnicodeDecodeError:
        return None


def _take(parser: etree.XMLPullParser, found: list[Resource]) -> None:
    for _, element in parser.read_events():
        resource = _resource(element)
        element.clear()
        while element.getprevious() is not None:
            parent = element.getparent()
            if parent is None:
                break
            del parent[0]
        if resource is not None:
            found.append(resource)
        if len(found) > MOST_RESOURCES:
            raise PermanentError(f"The folder has more than {MOST_RESOURCES - 1:,} entries.")


def _resource(response: Element) -> Resource | None:
    path = decoded_path(_text(response.find(f"{DAV}href")) or "")
    if path is None:
        return None
    resource = Resource(path)
    for answer in response.iterchildren(f"{DAV}propstat"):
        status = _text(answer.find(f"{DAV}status")) or ""
        properties = answer.find(f"{DAV}prop")
        if " 200 " in f"{status} " and properties is not None:
            for each in properties.iterchildren("{*}*"):
                _note(resource, each)
    return resource


def _note(resource: Resource, element: Element) -> None:
    """Note a property."""
    text = _text(element)
    if element.tag == f"{DAV}resourcetype":
        resource.is_folder = element.find(f"{DAV}collection") is not None
    elif element.tag == f"{NEXTCLOUD}sharees":
        _note_sharees(resource, element)
    elif text is None:
        return
    elif element.tag == f"{DAV}getetag":
        resource.etag = text
    elif element.tag == f"{DAV}getcontentlength":
        resource.byte_size = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    elif element.tag == f"{DAV}getlastmodified":
        resource.modified = date_of(text)
    elif element.tag == f"{OWNCLOUD}fileid":
        resource.file_id = text
    elif element.tag == f"{OWNCLOUD}owner-id":
        resource.owner = text


def _note_sharees(resource: Resource, element: Element) -> None:
    for sharee in list(element.iterchildren(f"{NEXTCLOUD}sharee"))[:MOST_SHAREES]:
        kind, name = _text(sharee.find(f"{NEXTCLOUD}type")), _text(sharee.find(f"{NEXTCLOUD}id"))
        if kind in _PUBLIC:
            resource.is_public = True
        elif name:
            (resource.groups if kind == _GROUP else resource.people).append(name)


def _text(element: Element | None) -> str | None:
    text = (element.text or "").strip() if element is not None else ""
    return text if 0 < len(text) <= LONGEST_TEXT else None


def date_of(text: str) -> datetime | None:
    """Return a date of HTTP; None if it is none."""
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return found if found.tzinfo is not None else None
