"""Invariant: the index entries of a knowledge base match its members, their texts and its configuration."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing

from analytiq.ingestion.indexing.plan import projection_in
from analytiq.ingestion.membership import document_changed, kb_changed, sync_request
from analytiq.models.document import Document
from analytiq.models.flaws import FlawKind
from analytiq.models.index_entry import IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.clean_marks import CleanMark, CleanMarks, Comparison, is_small
from analytiq.operations.reconcile.invariants.base import BATCH, Batch, KnowledgeBaseInvariant, System
from analytiq.operations.reconcile.reading_ahead import both, read_ahead
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import sync_of
from analytiq.retrieval.backends.registry import filters_stored_chunks
from analytiq.storage.repositories.document_survey import MemberRow
from analytiq.storage.repositories.index_entries import EntryRow

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


def find_suspects(
    knowledge_base: KnowledgeBase,
    members: Sequence[MemberRow],
    entries: Sequence[EntryRow],
    depth: Depth,
    skipped: Collection[FlawKind] = (),
) -> list[str]:
    """Return the documents whose rows do not plainly match, for `judge_entries`; pure, and a microsecond a document.

    A full pass also suspects documents with a projection, or with flaws that the organization leaves out.
    """
    left = {entry.document_id: entry for entry in entries}
    configuration_hash = knowledge_base.configuration_hash
    is_full, is_projected = depth is Depth.FULL, filters_stored_chunks(knowledge_base.vector_store)
    suspects: list[str] = []
    for member in members:
        entry = left.pop(member.document_id, None)
        if (
            entry is None
            or entry.text_hash != member.text_hash
            or entry.configuration_hash != configuration_hash
            or (
                is_full
                and (
                    is_projected
                    or entry.is_special
                    or (skipped and member.has_flaws)
                    or entry.context_hash != knowledge_base.context_hash_of(member.document_name, member.metadata)
                )
            )
        ):
            suspects.append(member.document_id)
    return sorted([*suspects, *left])


_Range = tuple[Sequence[MemberRow], Sequence[EntryRow], str | None]
"""Members and entries of a range of documents, and its end; None if there are no more."""


def _common_range(members: Sequence[MemberRow], entries: Sequence[EntryRow], limit: int) -> _Range:
    ends = [rows[-1].document_id for rows in (members, entries) if len(rows) == limit]
    if not ends:
        return members, entries, None
    until = min(ends)
    if all(rows[-1].document_id == until for rows in (members, entries) if rows):
        return members, entries, until
    return (
        [row for row in members if row.document_id <= until],
        [row for row in entries if row.document_id <= until],
        until,
    )


class IndexEntries(KnowledgeBaseInvariant):
    """Checks this invariant. Merges two sorted scans, members and entries, in ranges of document ids.

    A full pass also reads the documents' names, tags, metadata and flaws, which shape chunks too. A periodic quick pass
    reads the documents and entries changed since the process's last comparison, those that were not settled then, and
    the counts.
    """

    name = "index_entries"
    kinds = frozenset({DriftKind.MISSING, DriftKind.STALE, DriftKind.OUTDATED})

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.marks = CleanMarks()

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        skipped = await self._skipped_flaws(knowledge_base.organization_id)
        comparison = Comparison(await self.rows.jobs.server_time())
        batches = self._batches(knowledge_base, depth, after=after)
        async with aclosing(batches):
            async for members, entries, until in batches:
                suspects = find_suspects(knowledge_base, members, entries, depth, skipped)
                found = await self._examine(knowledge_base, suspects, depth, comparison)
                yield Batch(found, after=until or "", entries=len(entries))
        if not after and not is_small(knowledge_base):
            self.marks.put(knowledge_base, comparison, surplus=await self._surplus(knowledge_base))

    async def find_changes(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        """Compare the changed documents; all if too many have changed or the counts do not match."""
        mark = None if after else self.marks.of(knowledge_base)
        comparison = Comparison(await self.rows.jobs.server_time())
        changed = None if mark is None else await self._changed_since(knowledge_base, mark)
        if mark is not None and changed is not None:
            for start in range(0, len(changed), BATCH):
                ids = changed[start : start + BATCH]
                yield Batch(await self._examine(knowledge_base, ids, Depth.QUICK, comparison), entries=len(ids))
            surplus = await self._surplus(knowledge_base)
            if surplus - comparison.surplus == mark.deviation:
                self.marks.put(knowledge_base, comparison, surplus=surplus)
                return
        async for batch in self.find(knowledge_base, Depth.QUICK, after=after):
            yield batch

    async def _changed_since(self, knowledge_base: KnowledgeBase, mark: CleanMark) -> list[str] | None:
        """Return the changed and unsettled documents, sorted; None if reading every row costs less."""
        most = max(BATCH, knowledge_base.document_count // 4)
        organization_id, since = knowledge_base.organization_id, mark.since
        documents = await self.rows.document_survey.changed_since(organization_id, since, limit=most + 1)
        indexed = await self.rows.entries.indexed_since(organization_id, knowledge_base.id, since, limit=most + 1)
        if max(len(documents), len(indexed)) > most:
            return None
        return sorted({*documents, *indexed, *mark.unsettled})

    async def _surplus(self, knowledge_base: KnowledgeBase) -> int:
        """Return the number of entries less the number of members; deleted rows leave no other trace."""
        members = await self.rows.document_survey.count_members(knowledge_base.organization_id, knowledge_base.tag_ids)
        entries, _ = await self.rows.entries.statistics(knowledge_base.id)
        return entries - members

    def _batches(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[_Range]:
        """Yield members and entries of range after range of documents."""
        organization_id, kb_id, is_full = knowledge_base.organization_id, knowledge_base.id, depth is Depth.FULL

        async def read(position: str) -> _Range:
            reading = self.rows.document_survey.members_after(
                organization_id, knowledge_base.tag_ids, after=position, limit=BATCH, is_full=is_full
            )
            entries = self.rows.entries.hashes_after(organization_id, kb_id, after=position, limit=BATCH)
            return _common_range(*(await both(reading, entries)), BATCH)

        return read_ahead(read, lambda batch: batch[2], after=after)

    async def _examine(
        self, knowledge_base: KnowledgeBase, document_ids: Collection[str], depth: Depth, comparison: Comparison
    ) -> list[Drift]:
        """Return the drift of these documents; note all that differ."""
        if not document_ids:
            return []
        organization_id = knowledge_base.organization_id
        members = await self.rows.document_survey.members_among(organization_id, knowledge_base.tag_ids, document_ids)
        entries = await self.rows.entries.of_documents(organization_id, knowledge_base.id, document_ids)
        documents = await self._documents_of(organization_id, entries, depth)
        skipped = await self._skipped_flaws(organization_id)
        candidates = judge_entries(knowledge_base, members, entries, documents, skipped)
        comparison.note(candidates)
        return await self._confirmed(knowledge_base, candidates, depth) if candidates else []

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
