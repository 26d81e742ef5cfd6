"""Lists of blobs in XML, as Azure Storage answers."""

from urllib.parse import unquote

from lxml import etree

from analytiq.errors import PermanentError
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.ingestion.sources.systems.buckets.connector import ObjectPage
from analytiq.ingestion.sources.systems.buckets.keys import BucketObject
from analytiq.ingestion.sources.systems.buckets.s3_listing import child_of, iso_time, local_name, text_of, version_of

ARCHIVED = "Archive"


def blob_page(content: bytes) -> ObjectPage:
    """Read the answer to List Blobs; call it in a thread.

    Raises:
        PermanentError: it is no such answer.
    """
    try:
        root = parsed_xml(content)
    except etree.XMLSyntaxError:
        raise PermanentError("The service does not answer with a list of blobs in XML. Check its address.") from None
    blobs = child_of(root, "Blobs")
    if local_name(root) != "EnumerationResults" or blobs is None:
        raise PermanentError("The service answers with XML that is no list of blobs. Check its address.")
    found = [_blob(entry) for entry in blobs if local_name(entry) == "Blob"]
    return ObjectPage([blob for blob in found if blob is not None], text_of(root, "NextMarker") or None)


def archive_reason(tier: str) -> str | None:
    """Return the reason not to fetch a blob of a tier; None if it can be read."""
    return "Archived. Change the blob's tier to Cool or Hot, and run the source again." if tier == ARCHIVED else None


def _blob(entry: Element) -> BucketObject | None:
    """Return a blob; None for a directory of an account with folders."""
    properties = child_of(entry, "Properties")
    name = child_of(entry, "Name")
    if properties is None or name is None or not name.text:
        raise PermanentError("The service lists a blob without name or properties.")
    if text_of(properties, "ResourceType") == "directory":
        return None
    size = text_of(properties, "Content-Length")
    if not (size.isascii() and size.isdigit() and len(size) < 19):
        raise PermanentError("The service lists a blob without a size.")
    modified = iso_time(text_of(properties, "Last-Modified"))
    return BucketObject(
        # A name that XML cannot hold is percent-encoded.
        key=unquote(name.text) if name.get("Encoded") == "true" else name.text,
        byte_size=int(size),
        version=version_of(text_of(properties, "Etag"), int(size), modified),
        modified=modified or None,
        content_type=text_of(properties, "Content-Type")[:200] or None,
        skip_reason=archive_reason(text_of(properties, "AccessTier")),
    )
