"""Comparison of listed items with what is known of them."""

import hashlib
from dataclasses import replace

from analytiq.ingestion.documents.naming import LONGEST_EXTERNAL_ID
from analytiq.ingestion.sources.base import ListedItem
from analytiq.ingestion.sources.runs.item_data import ItemData, shortened
from analytiq.ingestion.sources.runs.open_source import OpenSource
from analytiq.models.source import ItemOutcome, SourceItem


def storable_id(external_id: str) -> str:
    """Return the id, or a hash of one that is too long for an identity."""
    if len(external_id) <= LONGEST_EXTERNAL_ID:
        return external_id
    return f"sha256:{hashlib.sha256(external_id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def with_storable_id(item: ListedItem) -> ListedItem:
    """Return the item; one whose id is too long for an identity is skipped under a hash of the id."""
    if len(item.external_id) <= LONGEST_EXTERNAL_ID:
        return item
    return replace(
        item,
        external_id=storable_id(item.external_id),
        skip_reason=f"Its id has more than {LONGEST_EXTERNAL_ID:,} characters.",
    )


def problem_of(opened: OpenSource, item: ListedItem) -> tuple[ItemOutcome, str] | None:
    """Return the reason not to fetch an item."""
    if item.failure is not None:
        return ItemOutcome.FAILED, item.failure
    if item.skip_reason is not None:
        return ItemOutcome.SKIPPED, item.skip_reason
    if item.byte_size is not None and item.byte_size > opened.max_item_bytes:
        return ItemOutcome.SKIPPED, f"Larger than {opened.max_item_bytes:,} bytes."
    return None


def is_newer(opened: OpenSource, item: ListedItem, before: SourceItem) -> bool:
    """Return True if an item that this run has taken in was listed again because it changed meanwhile."""
    version = shortened(item.version)
    is_taken = before.problem is None and not opened.run.is_dry_run
    return is_taken and None not in (version, before.version) and version != before.version


def is_unchanged(item: ListedItem, data: ItemData, before: SourceItem) -> bool:
    """Return True if version and data of an item are those of its last state, and it needs no mending."""
    version = shortened(item.version)
    return (
        version is not None
        and before.version == version
        and before.fingerprint == data.fingerprint
        and before.vanished_at is None
        and before.problem is None
    )
