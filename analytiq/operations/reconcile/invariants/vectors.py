"""Invariant: each index entry names a current generation with complete vectors; there are no other vectors."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from analytiq.ingestion.membership import sync_request
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.invariants.base import BATCH, Batch, KnowledgeBaseInvariant, System
from analytiq.operations.reconcile.reading_ahead import both, read_ahead
from analytiq.operations.reconcile.repairing import RepairWriter
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import sweep_of, sync_of
from analytiq.storage.repositories.index_entries import HOLLOW, NamedGeneration
from analytiq.storage.repositories.vector_survey import Extent
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

SCANNED = 20_000
"""Vectors whose generations are read at a time, from the index: 30 ms."""
_BY_GENERATION = "g:"
"""Marks a position in the second half, which scans by generation id."""


def judge_vectors(
    entries: Sequence[IndexEntry],
    named: Mapping[str, Generation],
    current: Sequence[Generation],
    extents: Mapping[str, Extent],
) -> list[Drift]:
    """Compare entries with the generations that they name, and with the current ones of the same documents; pure."""
    found: list[Drift] = []
    for entry in entries:
        generation, extent = named.get(entry.generation_id), extents.get(entry.generation_id)
        # A text of which everything is left out, or only furniture, has no chunks and no vectors.
        indexes = entry.counts.ranges
        whole = Extent(entry.chunk_count, indexes[0].start, indexes[-1].stop - 1) if indexes else None
        is_whole = extent == whole
        if is_whole and (generation is None or generation.state is GenerationState.CURRENT):
            kind = None if generation is not None else DriftKind.UNREGISTERED
        else:
            # A generation being purged counts as gone: its vectors are deleted within minutes.
            kind = DriftKind.HOLLOW
        if kind is not None and not (kind is DriftKind.HOLLOW and entry.configuration_hash == HOLLOW):
            found.append(_drift(kind, entry, f"{extent.count if extent else 0} of {entry.chunk_count} vectors"))
    wanted = {entry.document_id: entry.generation_id for entry in entries}
    found += [
        Drift(DriftKind.UNINDEXED, item.organization_id, item.kb_id, item.document_id, item.id)
        for item in current
        if wanted.get(item.document_id) != item.id
    ]
    return found


_Range = tuple[Sequence[NamedGeneration], Sequence[tuple[str, str]], Mapping[str, Extent], str | None]
"""Entries, current generations and vectors of a range of documents, and its end; None if there are no more."""


def find_suspects(
    entries: Sequence[NamedGeneration], current: Sequence[tuple[str, str]], extents: Mapping[str, Extent]
) -> tuple[list[str], int]:
    """Return the documents whose rows do not plainly match, for `judge_vectors`, and the vectors of the others; pure.

    Args:
        entries: entries of a range of documents.
        current: all current generations of the same range, as (document id, id).
        extents: vectors by generation, of those that the entries name.
    """
    suspects: set[str] = set()
    named = {entry.document_id: entry.generation_id for entry in entries}
    registered: set[str] = set()
    for document_id, generation_id in current:
        if named.get(document_id) == generation_id:
            registered.add(generation_id)
        else:
            suspects.add(document_id)
    count = 0
    for entry in entries:
        extent, wanted = extents.get(entry.generation_id), entry.chunk_count
        is_whole = wanted is not None and (extent is None if wanted == 0 else extent == Extent(wanted, 0, wanted - 1))
        if is_whole and entry.generation_id in registered:
            count += wanted or 0
        else:
            suspects.add(entry.document_id)
    return sorted(suspects), count


def _common_range(
    entries: list[NamedGeneration], current: list[tuple[str, str]]
) -> tuple[list[NamedGeneration], list[tuple[str, str]], str | None]:
    """Cut both to the range that both cover; None if there are no more.

    Of `current`, one more than BATCH was read: it stays if it belongs to the last document, which so has two.
    """
    ends = [entries[-1].document_id] if len(entries) == BATCH else []
    if len(current) > BATCH:
        ends.append(current[BATCH - 1][0])
    if not ends:
        return entries, current, None
    until = min(ends)
    return [row for row in entries if row[0] <= until], [row for row in current if row[0] <= until], until


def _drift(kind: DriftKind, entry: IndexEntry, detail: str) -> Drift:
    return Drift(kind, entry.organization_id, entry.kb_id, entry.document_id, entry.generation_id, detail=detail)


class Vectors(KnowledgeBaseInvariant):
    """Checks this invariant.

    A full pass reads every entry, generation and vector. A quick pass does so only for knowledge bases whose counts do
    not match; the server maintains a collection's count. Fewer vectors than the entries name were lost, and more than
    entries and pending generations account for were left behind. So 2,000 knowledge bases take seconds; the next full
    pass finds errors that cancel out.
    """

    name = "vectors"
    kinds = frozenset({DriftKind.HOLLOW, DriftKind.UNREGISTERED, DriftKind.UNINDEXED, DriftKind.ORPHAN})

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._known_deviation: dict[str, int] = {}

    async def find(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseInvariant."""
        deviation = 0
        if depth is Depth.QUICK:
            deviation = await self._deviation(knowledge_base.id)
            if deviation in (0, self._known_deviation.get(knowledge_base.id)):
                return
        is_clean = True
        async for batch in self._look_at_all(knowledge_base, after=after):
            is_clean = is_clean and not batch.drift
            yield batch
        if depth is Depth.QUICK and is_clean:
            # The server's counter is wrong since a crash: that is no reason to read everything in each pass.
            self._known_deviation[knowledge_base.id] = deviation

    async def _deviation(self, kb_id: str) -> int:
        """Return the number of missing (negative) or surplus vectors; 0 if the counts match."""
        _, least = await self.rows.entries.statistics(kb_id)
        present = await self.rows.vector_survey.estimated_count(kb_id)
        if present < least:
            return present - least
        # Read after the vectors, so that generations staged in between are accounted for.
        leaving = (await self.rows.generations.chunks_not_current(kb_id)) if present > least else 0
        _, named = await self.rows.entries.statistics(kb_id)
        return max(0, present - named - leaving)

    async def _look_at_all(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        whole = 0
        if not after.startswith(_BY_GENERATION):
            async for batch, count in self._look_by_document(knowledge_base, after=after):
                whole += count
                yield batch
            # Only a look at all documents counts: each entry has its own generation.
            if not after and await self.rows.vector_survey.exact_count(knowledge_base.id) == whole:
                return
            after = _BY_GENERATION
        async for batch in self._look_by_generation(knowledge_base, after=after.removeprefix(_BY_GENERATION)):
            yield batch

    async def _look_by_document(
        self, knowledge_base: KnowledgeBase, *, after: str
    ) -> AsyncGenerator[tuple[Batch, int]]:
        """Yield batches, each with the number of vectors that complete generations named by entries have."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id

        async def read(position: str) -> _Range:
            entries, current = await both(
                self.rows.entries.generations_after(organization_id, kb_id, after=position, limit=BATCH),
                self.rows.generations.current_after(organization_id, kb_id, after=position, limit=BATCH + 1),
            )
            entries, current, until = _common_range(entries, current)
            extents = await self.rows.vector_survey.extents(kb_id, [entry.generation_id for entry in entries])
            return entries, current, extents, until

        batches = read_ahead(read, lambda batch: batch[3], after=after)
        async with aclosing(batches):
            async for entries, current, extents, until in batches:
                suspects, count = find_suspects(entries, current, extents)
                drift = await self._examine(knowledge_base, suspects) if suspects else []
                yield Batch(drift, after=until or _BY_GENERATION), count

    async def _examine(self, knowledge_base: KnowledgeBase, document_ids: Sequence[str]) -> list[Drift]:
        """Return the drift of these documents."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        entries = list((await self.rows.entries.of_documents(organization_id, kb_id, document_ids)).values())
        current = await self.rows.generations.current_of_documents(organization_id, kb_id, document_ids)
        candidates = judge_vectors(
            entries,
            await self._named(entries, current),
            current,
            await self.rows.vector_survey.extents(kb_id, [entry.generation_id for entry in entries]),
        )
        return await self._confirmed(knowledge_base, candidates) if candidates else []

    async def _named(self, entries: Sequence[IndexEntry], current: Sequence[Generation]) -> dict[str, Generation]:
        """Read the generations named by entries; most are current, and already read."""
        found = {generation.id: generation for generation in current}
        others = [entry.generation_id for entry in entries if entry.generation_id not in found]
        if others:
            found |= await self.rows.generations.of_ids(entries[0].organization_id, others)
        return found

    async def _confirmed(self, knowledge_base: KnowledgeBase, candidates: Sequence[Drift]) -> list[Drift]:
        """Return the candidates without a sync that still hold: a swap may have come between the reads."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        ids = {item.document_id for item in candidates if item.document_id}
        keys = {sync_request(organization_id, kb_id, each).deduplication_key: each for each in ids}
        left = ids - {keys[key] for key in await self.rows.jobs.existing(keys)}
        if not left:
            return []
        entries = list((await self.rows.entries.of_documents(organization_id, kb_id, left)).values())
        extents = await self.rows.vector_survey.extents(kb_id, [entry.generation_id for entry in entries])
        suspects = [item.generation_id for item in candidates if item.generation_id and item.document_id in left]
        named = await self.rows.generations.of_ids(
            organization_id, [*suspects, *(entry.generation_id for entry in entries)]
        )
        current = [named[each] for each in suspects if each in named and named[each].state is GenerationState.CURRENT]
        # Generations that an entry names were committed by now; those of other entries were counted with reason.
        again = await self.rows.entries.of_documents(organization_id, kb_id, left)
        steady = [entry for entry in entries if again.get(entry.document_id) == entry]
        moved = {entry.document_id for entry in [*entries, *again.values()]} - {each.document_id for each in steady}
        return judge_vectors(steady, named, [item for item in current if item.document_id not in moved], extents)

    async def _look_by_generation(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        """Yield vectors without a `generations` row, which is always written before the first of them."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        position = after
        while True:
            present = await self.rows.vector_survey.generation_ids_after(kb_id, after=position, limit=SCANNED)
            if not present:
                return
            known = await self.rows.generations.known(kb_id, present)
            unknown = [generation_id for generation_id in present if generation_id not in known]
            position = present[-1]
            yield Batch(await self._unnamed(organization_id, kb_id, unknown), after=_BY_GENERATION + position)

    async def _unnamed(self, organization_id: str, kb_id: str, unknown: Sequence[str]) -> list[Drift]:
        """Return the generations without a row and without an entry."""
        found: list[Drift] = []
        for start in range(0, len(unknown), BATCH):
            ids = unknown[start : start + BATCH]
            document_of = await self.rows.vector_survey.documents_of(kb_id, ids)
            entries = await self.rows.entries.of_documents(organization_id, kb_id, set(document_of.values()))
            named = {entry.generation_id for entry in entries.values()}
            orphans = [
                Drift(DriftKind.ORPHAN, organization_id, kb_id, None, each)
                for each in ids
                if each in document_of and each not in named
            ]
            keys = {sweep_of(item).deduplication_key: item for item in orphans}
            known = await self.rows.jobs.existing(keys)
            found += [item for key, item in keys.items() if key not in known]
        return found

    async def repair(self, drift: Sequence[Drift], writer: RepairWriter) -> int:
        """Enqueue syncs and sweeps; see Invariant."""
        requested = [
            (item, sweep_of(item) if item.kind is DriftKind.ORPHAN else sync_of(item))
            for item in drift
            if item.kind is not DriftKind.UNREGISTERED
        ]
        repaired = await writer.enqueue(requested, prepare=self._mark_hollow)
        unregistered = [item for item in drift if item.kind is DriftKind.UNREGISTERED]
        return repaired + await writer.apply(unregistered, self._register)

    async def _mark_hollow(self, session: Session, item: Drift) -> bool:
        """Mark an entry with lost vectors as outdated: a sync does nothing if hashes match."""
        if item.kind is not DriftKind.HOLLOW:
            return True
        return await self.rows.entries.mark_hollow(
            session, item.organization_id, item.kb_id or "", item.document_id or "", item.generation_id or ""
        )

    async def _register(self, item: Drift) -> None:
        kb_id, document_id, generation_id = item.kb_id or "", item.document_id or "", item.generation_id or ""

        async def commit(session: Session) -> None:
            entry = await self.rows.entries.get(item.organization_id, kb_id, document_id, session=session)
            if entry is not None and entry.generation_id == generation_id:
                await self.rows.generations.register(session, entry)

        await run_in_transaction(self.rows.connection, commit)
