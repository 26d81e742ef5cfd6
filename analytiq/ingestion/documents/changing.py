"""One change applied to many documents, a batch a call: the caller continues after the last batch.

A batch and its jobs are one transaction. If other writers keep it from its commit, each of its parts becomes one. The
result lists the changed documents, so that the change can be undone exactly: a document that already had the tag is
not listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from analytiq.errors import InvalidInputError, TransientError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.documents.metadata_fields import DeclaredFields, MetadataFields
from analytiq.ingestion.membership import document_changed
from analytiq.models.document import Document
from analytiq.models.job import Priority
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.document_batches import Place
from analytiq.storage.repositories.documents import DocumentQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import DEADLINE_CODE, DEADLINE_SECONDS, run_in_transaction

BATCH = 500
"""Most documents that one call reads and changes."""
CONTENDED_SECONDS = 8.0
"""Seconds for which a batch competes with other writers of its documents before it is divided.

One writer of one document aborts the transaction of all: while 620 documents were being extracted on a busy machine, a
batch of 500 found no quiet moment in 30 s.
"""


@dataclass(frozen=True, slots=True)
class Selected:
    """A selection of documents: by ids, or by a query with exclusions, from a position on."""

    document_ids: tuple[str, ...] | None = None
    query: DocumentQuery = field(default_factory=DocumentQuery)
    excluded: tuple[str, ...] = ()
    after: Place | None = None


@dataclass(frozen=True, slots=True)
class WantedChange:
    """The wanted change; its tags exist. A value of None removes the key from the metadata."""

    added_tag_ids: tuple[str, ...] = ()
    removed_tag_ids: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A document that stayed unchanged, with the reason."""

    document_id: str
    document_name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChangedBatch:
    """The result of a call. `next` is the position to continue from, None at the end."""

    changed: tuple[str, ...]
    unchanged_count: int
    refused: tuple[Refusal, ...]
    next: Place | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a batch: the documents with changed tags or metadata, with the new values."""

    retagged: tuple[str, ...]
    metadata: Mapping[str, tuple[Mapping[str, JsonValue], Sequence[str]]]
    refused: tuple[Refusal, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The documents that change, in order."""
        return tuple(dict.fromkeys([*self.retagged, *self.metadata]))


def plan(documents: Sequence[Document], wanted: WantedChange) -> Plan:
    """Decide the changes; a document already in the wanted state needs none."""
    retagged: list[str] = []
    metadata: dict[str, tuple[Mapping[str, JsonValue], Sequence[str]]] = {}
    refused: list[Refusal] = []
    for document in documents:
        values, removed = _metadata_of(document, wanted.metadata or {})
        if values or removed:
            merged = {name: value for name, value in document.metadata.items() if name not in removed} | dict(values)
            try:
                validated_metadata(merged)
            except InvalidInputError as error:
                refused.append(Refusal(document.id, document.document_name, error.detail))
                continue
            metadata[document.id] = (values, removed)
        own = set(document.tag_ids)
        if not own.issuperset(wanted.added_tag_ids) or not own.isdisjoint(wanted.removed_tag_ids):
            retagged.append(document.id)
    return Plan(tuple(retagged), metadata, tuple(refused))


def _metadata_of(document: Document, wanted: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], list[str]]:
    values: dict[str, JsonValue] = {
        name: value
        for name, value in wanted.items()
        if value is not None and (name not in document.metadata or document.metadata[name] != value)
    }
    return values, [name for name, value in wanted.items() if value is None and name in document.metadata]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change with its organization, and the declaration that its metadata was checked against."""

    organization_id: str
    wanted: WantedChange
    declared: DeclaredFields | None
    request_id: str | None


def _smaller(size: int) -> int:
    return max(1, size // 4)


def _is_contended(error: TransientError) -> bool:
    return error.code == DEADLINE_CODE


class DocumentChanging:
    """Changes of many documents."""

    def __init__(self, rows: Repositories, metadata_fields: MetadataFields) -> None:
        self._connection = rows.connection
        self._batches = rows.document_batches
        self._documents = rows.documents
        self._jobs = rows.jobs
        self._metadata_fields = metadata_fields

    async def change(
        self, organization_id: str, selected: Selected, wanted: WantedChange, *, request_id: str | None = None
    ) -> ChangedBatch:
        """Change the next batch. Ids without a document of the organization are skipped.

        Raises:
            InvalidInputError: the metadata is not storable, or a declared field has a value of another type.
        """
        declared: DeclaredFields | None = None
        if wanted.metadata is not None:
            validated_metadata(wanted.metadata)
            given = {name: value for name, value in wanted.metadata.items() if value is not None}
            kept, declared = await self._metadata_fields.fitted(organization_id, given)
            wanted = WantedChange(wanted.added_tag_ids, wanted.removed_tag_ids, {**wanted.metadata, **kept})
        change = _Change(organization_id, wanted, declared, request_id)
        if selected.document_ids is None:
            return await self._change_next(change, selected, BATCH)
        return await self._change_ids(change, selected.document_ids)

    async def _change_ids(self, change: _Change, ids: tuple[str, ...]) -> ChangedBatch:
        try:
            return await self._commit(change, Selected(ids), len(ids))
        except TransientError as error:
            if not _is_contended(error) or len(ids) == 1:
                raise
        size = _smaller(len(ids))
        parts = [await self._change_ids(change, ids[first : first + size]) for first in range(0, len(ids), size)]
        return ChangedBatch(
            changed=tuple(document_id for part in parts for document_id in part.changed),
            unchanged_count=sum(part.unchanged_count for part in parts),
            refused=tuple(refusal for part in parts for refusal in part.refused),
            next=None,
        )

    async def _change_next(self, change: _Change, selected: Selected, size: int) -> ChangedBatch:
        while True:
            try:
                return await self._commit(change, selected, size)
            except TransientError as error:
                if not _is_contended(error) or size == 1:
                    raise
                size = _smaller(size)

    async def _commit(self, change: _Change, selected: Selected, size: int) -> ChangedBatch:
        organization_id, wanted = change.organization_id, change.wanted

        async def commit(session: Session) -> tuple[list[Document], Plan]:
            documents = await self._read(session, organization_id, selected, size)
            planned = plan(documents, wanted)
            await self._apply(session, organization_id, planned, wanted, request_id=change.request_id)
            return documents, planned

        deadline = CONTENDED_SECONDS if size > 1 else DEADLINE_SECONDS
        documents, planned = await run_in_transaction(self._connection, commit, deadline_seconds=deadline)
        if change.declared is not None:
            await self._settle(organization_id, planned, change.declared)
        is_last = selected.document_ids is not None or len(documents) < size
        return ChangedBatch(
            changed=planned.changed,
            unchanged_count=len(documents) - len(planned.changed) - len(planned.refused),
            refused=planned.refused,
            next=None if is_last else Place(documents[-1].created_at, documents[-1].id),
        )

    async def _read(self, session: Session, organization_id: str, selected: Selected, size: int) -> list[Document]:
        if selected.document_ids is not None:
            return await self._documents.with_ids(session, organization_id, selected.document_ids)
        return await self._batches.next_of(
            session,
            organization_id,
            selected.query,
            excluded=selected.excluded,
            after=selected.after,
            limit=size,
        )

    async def _apply(
        self, session: Session, organization_id: str, planned: Plan, wanted: WantedChange, *, request_id: str | None
    ) -> None:
        if planned.retagged:
            await self._batches.change_tags(
                session,
                organization_id,
                planned.retagged,
                added=wanted.added_tag_ids,
                removed=wanted.removed_tag_ids,
            )
        await self._documents.change_metadata_values(session, organization_id, planned.metadata)
        # Uploads of single documents meanwhile do not wait behind these.
        jobs = [
            document_changed(organization_id, document_id).model_copy(update={"priority": Priority.BULK})
            for document_id in planned.changed
        ]
        await self._jobs.enqueue(jobs, request_id=request_id, session=session)

    async def _settle(self, organization_id: str, planned: Plan, declared: DeclaredFields) -> None:
        """Apply a declaration made meanwhile, which may not have seen these documents; see `MetadataFields`."""
        now = await self._metadata_fields.of(organization_id)
        if now.revision == declared.revision:
            return
        for document_id in planned.metadata:
            document = await self._documents.get(organization_id, document_id)
            if document is not None:
                await self._metadata_fields.settle(document, declared)
