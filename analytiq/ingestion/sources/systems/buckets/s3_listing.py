"""Lists of objects in XML, as S3 and compatible services answer."""

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from urllib.parse import quote, unquote_plus

import httpx
from lxml import etree

from analytiq.errors import PermanentError
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject

LONGEST_TIME = 40
ARCHIVED = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Storage classes whose objects are read only after a restore; GLACIER_IR is read at once."""


@dataclass(frozen=True, slots=True)
class S3List:
    """The objects of an answer; `next_token` or `next_marker` leads on, as far as the answer has one."""

    objects: tuple[BucketObject, ...]
    is_truncated: bool
    next_token: str | None
    next_marker: str | None


def s3_list(content: bytes) -> S3List:
    """Read the answer to ListObjectsV2 or ListObjects; call it in a thread.

    Raises:
        PermanentError: it is no such answer.
    """
    try:
        root = parsed_xml(content)
    except etree.XMLSyntaxError:
        raise PermanentError("The store does not answer with a list of objects in XML. Check its address.") from None
    if local_name(root) != "ListBucketResult":
        raise PermanentError("The store answers with XML that is no list of objects. Check its address.")
    is_encoded = text_of(root, "EncodingType") == "url"
    return S3List(
        objects=tuple(_object(entry, is_encoded=is_encoded) for entry in root if local_name(entry) == "Contents"),
        is_truncated=text_of(root, "IsTruncated") == "true",
        next_token=text_of(root, "NextContinuationToken") or None,
        next_marker=_decoded(text_of(root, "NextMarker"), is_encoded=is_encoded) or None,
    )


def _object(entry: Element, *, is_encoded: bool) -> BucketObject:
    values = {local_name(child): child for child in entry}
    key = _decoded(_text(values.get("Key")), is_encoded=is_encoded)
    size = _text(values.get("Size"))
    if not key or not (size.isascii() and size.isdigit() and len(size) < 19):
        raise PermanentError("The store lists an object without key or size.")
    modified = _text(values.get("LastModified"))[:LONGEST_TIME]
    restore = values.get("RestoreStatus")
    is_restored = restore is not None and bool(text_of(restore, "RestoreExpiryDate"))
    return BucketObject(
        key=key,
        byte_size=int(size),
        version=version_of(_text(values.get("ETag")), int(size), modified),
        modified=modified or None,
        skip_reason=archive_reason(_text(values.get("StorageClass")), is_restored=is_restored),
    )


def version_of(etag: str, size: int, modified: str) -> str:
    """Return the version of an object: ETag and size, or the time of the last change where there is no ETag."""
    # The ETag of a multipart upload is no hash, but another one for another upload.
    mark = etag.strip().removeprefix("W/").strip('"')
    return f"{mark or modified}:{size}"


def object_of_headers(key: str, headers: httpx.Headers) -> BucketObject:
    """Return an object as the headers of its answer describe it.

    Raises:
        PermanentError: they lack the size.
    """
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdigit() and len(size) < 19):
        raise PermanentError("The store does not tell the size of the object.")
    modified = iso_time(headers.get("last-modified", ""))
    is_restored = "expiry-date" in headers.get("x-amz-restore", "")
    return BucketObject(
        key=key,
        byte_size=int(size),
        version=version_of(headers.get("etag", ""), int(size), modified),
        modified=modified or None,
        skip_reason=archive_reason(headers.get("x-amz-storage-class", ""), is_restored=is_restored),
    )


def opened_version(headers: httpx.Headers) -> str | None:
    """Return the version of an object as it is sent; None if the headers do not tell."""
    if not headers.get("etag") or not headers.get("content-length"):
        return None
    return object_of_headers("", headers).version


def quoted_key(key: str) -> str:
    """Return a key as the path of a request; slashes and dots stay."""
    return quote(key, safe="/-_.~", errors="surrogatepass")


def archive_reason(storage_class: str, *, is_restored: bool) -> str | None:
    """Return the reason not to fetch an object of a storage class; None if it can be read."""
    if storage_class not in ARCHIVED or is_restored:
        return None
    return f"Archived in the storage class {storage_class}. Restore the object, and run the source again."


def _decoded(text: str, *, is_encoded: bool) -> str:
    return unquote_plus(text) if is_encoded else text


def text_of(parent: Element, name: str) -> str:
    """Return the text of the first child of that name, in any namespace; "" if there is none."""
    return _text(child_of(parent, name))


def child_of(parent: Element, name: str) -> Element | None:
    """Return the first child of that name, in any namespace."""
    return next((child for child in parent if local_name(child) == name), None)


def local_name(element: Element) -> str:
    """Return an element's name without its namespace; "" for comments and instructions."""
    # Comments and instructions have a function in place of a name.
    tag: object = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _text(element: Element | None) -> str:
    return element.text or "" if element is not None else ""


def iso_time(date: str) -> str:
    """Return the date of a header as listings write it; "" if it is none."""
    try:
        return parsedate_to_datetime(date).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""
