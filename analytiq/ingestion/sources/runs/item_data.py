"""The name, tags and metadata that a source gives to the document of an item."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from analytiq.ingestion.documents.naming import LONGEST_VERSION
from analytiq.ingestion.sources.base import ListedItem
from analytiq.models.document import Document
from analytiq.models.source import Readers, Source, SourceItem

MOST_READERS = 2000
"""Most people and most groups of an item that are stored; without the others, fewer may read it, never more."""
LONGEST_READER = 500


@dataclass(frozen=True, slots=True)
class ItemData:
    """Tags and metadata that a source gives to a document, with their hash."""

    tag_ids: tuple[str, ...]
    metadata: Mapping[str, JsonValue]
    fingerprint: str

    @classmethod
    def of_item(cls, source: Source, item: ListedItem) -> "ItemData":
        """Apply the source's tags and metadata mapping to an item."""
        mapped = {key: item.fields[name] for name, key in source.metadata_mapping.items() if name in item.fields}
        metadata = {**item.metadata, **mapped, **source.metadata}
        shaped = json.dumps([item.name, item.source_url, source.tag_ids, metadata], sort_keys=True)
        return cls(source.tag_ids, metadata, hashlib.sha256(shaped.encode()).hexdigest()[:32])

    def tags_with(self, document: Document | None, known: SourceItem | None) -> tuple[str, ...]:
        """Return the document's tags: those of the source, and those that people added."""
        if document is None:
            return self.tag_ids
        given = set(known.given_tag_ids) if known else set[str]()
        own = [tag_id for tag_id in document.tag_ids if tag_id not in given]
        return tuple(dict.fromkeys([*own, *self.tag_ids]))

    def metadata_with(self, document: Document | None, known: SourceItem | None) -> dict[str, JsonValue]:
        """Return the document's metadata: the source's, and the other keys that people added."""
        if document is None:
            return dict(self.metadata)
        given = set(known.given_metadata_keys) if known else set[str]()
        own = {key: value for key, value in document.metadata.items() if key not in given}
        return {**own, **self.metadata}


def readers_of(item: ListedItem) -> Readers | None:
    """Return who may read an item as it is stored: each once, in order, so that equal rights are equal."""
    if item.access is None:
        return None
    people, groups = (
        tuple(sorted({name for name in names if 0 < len(name) <= LONGEST_READER})[:MOST_READERS])
        for names in (item.access.people, item.access.groups)
    )
    return Readers(people=people, groups=groups, is_public=item.access.is_public)


def shortened(version: str | None) -> str | None:
    """Return a version as documents store it: a long one as its hash."""
    if version is None or not version:
        return None
    if len(version) <= LONGEST_VERSION and version.isprintable():
        return version
    return f"sha256:{hashlib.sha256(version.encode('utf-8', 'surrogatepass')).hexdigest()}"
