"""Keys of objects as items and as names of documents: a key may hold almost anything, a name may not."""

import hashlib
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import LONGEST_NAME, LONGEST_SOURCE_URL, is_control, validated_path
from analytiq.ingestion.sources.base import ListedItem

LONGEST_EXTENSION = 20


@dataclass(frozen=True, slots=True)
class BucketObject:
    """An object as its store lists it.

    Attributes:
        key: its identity.
        byte_size: as it is stored.
        version: equal for equal content.
        modified: in ISO 8601.
        content_type: as the store has it; None if the listing does not say.
        source_url: its address for people.
        skip_reason: the object exists and cannot be read.
    """

    key: str
    byte_size: int
    version: str
    modified: str | None = None
    content_type: str | None = None
    source_url: str | None = None
    skip_reason: str | None = None

    @property
    def is_folder_marker(self) -> bool:
        """Return True for an empty object that only makes a folder visible in a browser of files."""
        return self.byte_size == 0 and self.key.endswith(("/", "_$folder$"))


def folder_of(prefix: str) -> str:
    """Return the folder that a prefix begins in, with its slash: names of documents are below it."""
    return prefix[: prefix.rfind("/") + 1]


def listed_object(found: BucketObject, folder: str) -> ListedItem:
    """Return an object as an item, with the reason if it is not taken in."""
    path = found.key.removeprefix(folder)
    if any(map(is_control, found.key)):
        clean = "".join("?" if is_control(character) else character for character in found.key)
        mark = hashlib.sha256(found.key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return ListedItem(
            external_id=f"{clean} ({mark})",
            name=document_name(path),
            skip_reason="Its key holds control characters. Rename the object.",
        )
    name = document_name(path)
    skip_reason = found.skip_reason
    if skip_reason is None and found.byte_size == 0:
        skip_reason = "The object is empty."
    if skip_reason is not None:
        return ListedItem(external_id=found.key, name=name, version=found.version, skip_reason=skip_reason)
    url = found.source_url
    return ListedItem(
        external_id=found.key,
        name=name,
        version=found.version,
        byte_size=found.byte_size,
        source_url=url if url is not None and len(url) <= LONGEST_SOURCE_URL else None,
        fields={
            "key": found.key,
            "path": path,
            "folder": path.rpartition("/")[0],
            "file_name": path.rpartition("/")[2],
            "bytes": found.byte_size,
            **({"modified": found.modified} if found.modified else {}),
            **({"content_type": found.content_type} if found.content_type else {}),
        },
    )


def document_name(path: str) -> str:
    """Return the name of a document for a key below its folder; replace what a name may not hold.

    Two keys may have one name: documents of a source are told apart by their keys.
    """
    try:
        return validated_path(path)
    except InvalidInputError:
        pass
    *folders, last = unicodedata.normalize("NFC", path.replace("\\", "/")).split("/")
    segments = [segment for segment in (*map(_segment, folders), _segment(last.strip())) if segment]
    if len(segments) > 1 and segments[0].endswith(":"):
        segments[0] = f"{segments[0][:-1]}_"
    try:
        return validated_path("/".join(segments))
    except InvalidInputError:
        return f"object-{hashlib.sha256(path.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _segment(segment: str) -> str:
    clean = "".join("_" if is_control(character) else character for character in segment)
    if segment and not clean.strip(" ."):
        return "_"
    if len(clean) <= LONGEST_NAME:
        return clean
    extension = PurePosixPath(clean).suffix
    if len(extension) > LONGEST_EXTENSION:
        extension = ""
    return clean[: LONGEST_NAME - len(extension)] + extension
