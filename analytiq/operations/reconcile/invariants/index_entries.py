"""Invariant: the index entries of a knowledge base match its members, their texts and its configuration."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

from analytiq.ingestion.indexing.plan import projection_in
from analytiq.ingestion.membership import document_changed, kb_changed, sync_request
from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import BATCH, Batch, KnowledgeBaseInvariant
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import sync_of

_NONE_READ: Mapping[str, Document] = {}


def judge_entries(
    knowledge_base: KnowledgeBase,
    text_hashes: Mapping[str, str],
    entries: Mapping[str, IndexEntry],
    documents: Mapping[str, Document] = _NONE_READ,
    skipped: Collection[FlawKind] = (),
) -> list[Drift]:
    """Compare members with entries of the same documents, all by document id; pure.

    `documents`: documents whose chunks store tags and metadata, or a context with the name, or leave out flawed text,
    which must be up to date. `skipped`: kinds of flawed text that the organization leaves out.
    """
    found: list[Drift] = []
    configuration_hash = knowledge_base.configuration_hash
    for document_id in sorted(text_hashes.keys() | entries.keys()):
        text_hash, entry = text_hashes.get(document_id), entries.get(document_id)
        if entry is None:
            kind = DriftKind.MISSING
        elif text_hash is None:
            kind = DriftKind.STALE
        elif (entry.text_hash, entry.configuration_hash) != (text_hash, configuration_hash) or _is_otherwise(
            knowledge_base, documents.get(document_id), entry, skipped
        ):
            kind = DriftKind.OUTDATED
        else:
            continue
        found.append(Drift(kind, knowledge_base.organization_id, knowledge_base.id, document_id))
    return found


def _is_otherwise(
    knowledge_base: KnowledgeBase, document: Document | None, entry: IndexEntry, skipped: Collection[FlawKind]
) -> bool:
    if document is None:
        return False
    if entry.skipped_flaws != document.flaw_kinds_among(skipped):
        return True
    if entry.context_hash != knowledge_base.context_hash_of(document.document_name, document.metadata):
        return True
    projection = projection_in(knowledge_base, document)
    return projection is not None and projection.hash != entry.projection_hash


class IndexEntries(KnowledgeBaseInvariant):
    """Checks this invariant. Merges two sorted scans, members and entries, in ranges of document ids.

    A full pass also reads the documents: their names, tags, metadata and flaws shape chunks too.
    """

    name = "index_entries"
    kinds = frozenset({DriftKind.MISSING, DriftKind.STALE, DriftKind.OUTDATED})

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        skipped = await self._skipped_flaws(organization_id)
        position: str | None = after
        while position is not None:
            members = await self.rows.document_survey.members_after(
                organization_id, knowledge_base.tag_ids, after=position, limit=BATCH
            )
            until = members[-1][0] if len(members) == BATCH else None
            entries = await self.rows.entries.between(
                organization_id, kb_id, after=position, until=until, limit=2 * BATCH
            )
            if len(entries) == 2 * BATCH:
                until = entries[-1].document_id
                members = [member for member in members if member[0] <= until]
            by_document = {entry.document_id: entry for entry in entries}
            documents = await self._documents_of(organization_id, by_document, depth)
            candidates = judge_entries(knowledge_base, dict(members), by_document, documents, skipped)
            drift = await self._confirmed(knowledge_base, candidates, depth) if candidates else []
            yield Batch(drift, after=until or "", entries=len(entries))
            position = until

    async def _documents_of(
        self, organization_id: str, document_ids: Collection[str], depth: Depth
    ) -> dict[str, Document]:
        if depth is not Depth.FULL:
            return {}
        return await self.rows.document_survey.of_ids(organization_id, document_ids)

    async def _skipped_flaws(self, organization_id: str) -> tuple[FlawKind, ...]:
        organization = await self.rows.organizations.get(organization_id)
        return () if organization is None else organization.skipped_flaws

    async def _confirmed(self, read: KnowledgeBase, candidates: Sequence[Drift], depth: Depth) -> list[Drift]:
        """Return the candidates without a job that still hold; the order of the reads matters.

        Drift repaired by a job between the first and the second read is gone at the third. Failed jobs are left
        to a person, who can replay them.
        """
        covered = await self._covered(read, candidates)
        left = [item.document_id for item in candidates if item.document_id and item.document_id not in covered]
        if not left:
            return []
        knowledge_base = await self.rows.knowledge_bases.get(read.organization_id, read.id)
        if knowledge_base is None:
            return []
        members = await self.rows.document_survey.members_among(
            knowledge_base.organization_id, knowledge_base.tag_ids, left
        )
        entries = await self.rows.entries.of_documents(knowledge_base.organization_id, knowledge_base.id, left)
        documents = await self._documents_of(knowledge_base.organization_id, entries, depth)
        skipped = await self._skipped_flaws(knowledge_base.organization_id)
        return judge_entries(knowledge_base, members, entries, documents, skipped)

    async def _covered(self, knowledge_base: KnowledgeBase, candidates: Sequence[Drift]) -> Collection[str]:
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        ids = [item.document_id for item in candidates if item.document_id]
        if await self.rows.jobs.unfinished_among([kb_changed(organization_id, kb_id).deduplication_key]):
            return ids
        syncs = {sync_request(organization_id, kb_id, each).deduplication_key: each for each in ids}
        triggers = {document_changed(organization_id, each).deduplication_key: each for each in ids}
        known = [syncs[key] for key in await self.rows.jobs.existing(syncs)]
        return {*known, *(triggers[key] for key in await self.rows.jobs.unfinished_among(triggers))}

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue the syncs; see Invariant."""
        return await writer.enqueue([(item, sync_of(item)) for item in drift])
