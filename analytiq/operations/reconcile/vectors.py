"""Vectors and generations that are not what the index entries say."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from analytiq.ingestion.membership import sync_request
from analytiq.models.index_entry import Generation, GenerationState, IndexEntry
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.models.reconciliation import Depth, DriftKind
from analytiq.operations.reconcile.report import Drift
from analytiq.operations.reconcile.requests import request_for
from analytiq.operations.reconcile.stages import BATCH, Batch
from analytiq.storage.repositories.index_entries import HOLLOW, GenerationRepository, IndexEntryRepository
from analytiq.storage.repositories.jobs import JobRepository
from analytiq.storage.repositories.vector_survey import Extent, VectorSurvey

SCANNED = 20_000
"""Vectors whose generations are read at a time, from the index: 30 ms."""
_BY_GENERATION = "g:"
"""Marks a position in the second half of the stage, which goes by generation id."""


def unlike(
    entries: Sequence[IndexEntry],
    named: Mapping[str, Generation],
    current: Sequence[Generation],
    extents: Mapping[str, Extent],
) -> list[Drift]:
    """Compare entries with the generations that they name, and those that are current, of the same documents: pure."""
    found: list[Drift] = []
    for entry in entries:
        generation, extent = named.get(entry.generation_id), extents.get(entry.generation_id)
        is_whole = extent == Extent(entry.chunk_count, 0, entry.chunk_count - 1)
        if is_whole and (generation is None or generation.state is GenerationState.CURRENT):
            kind = None if generation is not None else DriftKind.UNREGISTERED
        else:
            # One that is on its way out is as good as gone: its vectors are deleted within minutes.
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


def _drift(kind: DriftKind, entry: IndexEntry, detail: str) -> Drift:
    return Drift(kind, entry.organization_id, entry.kb_id, entry.document_id, entry.generation_id, detail=detail)


class VectorStage:
    """Full: every entry, generation and vector. Quick: the same, of knowledge bases whose numbers do not tally.

    The server counts a collection's vectors as it goes. Where it has fewer than the entries name, or more than entries
    and generations on their way account for, something was lost or left; 2,000 knowledge bases are looked at so in
    seconds. What cancels out in numbers is found by the next full pass.
    """

    name = "vectors"
    depth = Depth.QUICK

    def __init__(
        self,
        entries: IndexEntryRepository,
        generations: GenerationRepository,
        survey: VectorSurvey,
        jobs: JobRepository,
    ) -> None:
        self._entries = entries
        self._generations = generations
        self._survey = survey
        self._jobs = jobs
        self._known_deviation: dict[str, int] = {}

    async def look(self, knowledge_base: KnowledgeBase, depth: Depth, *, after: str) -> AsyncGenerator[Batch]:
        """See KnowledgeBaseStage."""
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
            # The server's counter is off since it crashed: that is no reason to read everything in each pass.
            self._known_deviation[knowledge_base.id] = deviation

    async def _deviation(self, kb_id: str) -> int:
        """How many vectors there are too few (negative) or too many; 0 where the numbers tally."""
        _, least = await self._entries.statistics(kb_id)
        present = await self._survey.estimated_count(kb_id)
        if present < least:
            return present - least
        # Read after the vectors: what was staged in between is accounted for.
        leaving = (await self._generations.chunks_not_current(kb_id)) if present > least else 0
        _, named = await self._entries.statistics(kb_id)
        return max(0, present - named - leaving)

    async def _look_at_all(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        if not after.startswith(_BY_GENERATION):
            async for batch in self._look_by_document(knowledge_base, after=after):
                yield batch
            after = _BY_GENERATION
        async for batch in self._look_by_generation(knowledge_base, after=after.removeprefix(_BY_GENERATION)):
            yield batch

    async def _look_by_document(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        position: str | None = after
        while position is not None:
            entries = await self._entries.between(organization_id, kb_id, after=position, until=None, limit=BATCH)
            until = entries[-1].document_id if len(entries) == BATCH else None
            current = await self._generations.current_between(
                organization_id, kb_id, after=position, until=until, limit=2 * BATCH
            )
            if len(current) == 2 * BATCH:
                until = current[-1].document_id
                entries = [entry for entry in entries if entry.document_id <= until]
            candidates = unlike(
                entries,
                await self._named(entries, current),
                current,
                await self._survey.extents(kb_id, [entry.generation_id for entry in entries]),
            )
            drift = await self._confirmed(knowledge_base, candidates) if candidates else []
            yield Batch(drift, after=until or _BY_GENERATION)
            position = until

    async def _named(self, entries: Sequence[IndexEntry], current: Sequence[Generation]) -> dict[str, Generation]:
        """The rows of the generations that entries name; most are current, and read already."""
        found = {generation.id: generation for generation in current}
        others = [entry.generation_id for entry in entries if entry.generation_id not in found]
        if others:
            found |= await self._generations.of_ids(entries[0].organization_id, others)
        return found

    async def _confirmed(self, knowledge_base: KnowledgeBase, candidates: Sequence[Drift]) -> list[Drift]:
        """Those that no sync is about, and that are still so: a swap may have come between the reads."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        ids = {item.document_id for item in candidates if item.document_id}
        keys = {sync_request(organization_id, kb_id, each).deduplication_key: each for each in ids}
        left = ids - {keys[key] for key in await self._jobs.existing(keys)}
        if not left:
            return []
        entries = list((await self._entries.of_documents(organization_id, kb_id, left)).values())
        extents = await self._survey.extents(kb_id, [entry.generation_id for entry in entries])
        suspects = [item.generation_id for item in candidates if item.generation_id and item.document_id in left]
        named = await self._generations.of_ids(
            organization_id, [*suspects, *(entry.generation_id for entry in entries)]
        )
        current = [named[each] for each in suspects if each in named and named[each].state is GenerationState.CURRENT]
        # What an entry names was put there by now; and entries of other generations were not counted for nothing.
        again = await self._entries.of_documents(organization_id, kb_id, left)
        steady = [entry for entry in entries if again.get(entry.document_id) == entry]
        moved = {entry.document_id for entry in [*entries, *again.values()]} - {each.document_id for each in steady}
        return unlike(steady, named, [item for item in current if item.document_id not in moved], extents)

    async def _look_by_generation(self, knowledge_base: KnowledgeBase, *, after: str) -> AsyncGenerator[Batch]:
        """Vectors without a `generations` row, which is always written before the first of them."""
        organization_id, kb_id = knowledge_base.organization_id, knowledge_base.id
        position = after
        while True:
            present = await self._survey.generation_ids_after(kb_id, after=position, limit=SCANNED)
            if not present:
                return
            known = await self._generations.known(kb_id, present)
            unknown = [generation_id for generation_id in present if generation_id not in known]
            position = present[-1]
            yield Batch(await self._unnamed(organization_id, kb_id, unknown), after=_BY_GENERATION + position)

    async def _unnamed(self, organization_id: str, kb_id: str, unknown: Sequence[str]) -> list[Drift]:
        """Those of the generations without a row that no entry names either: the others are no orphans."""
        found: list[Drift] = []
        for start in range(0, len(unknown), BATCH):
            ids = unknown[start : start + BATCH]
            document_of = await self._survey.documents_of(kb_id, ids)
            entries = await self._entries.of_documents(organization_id, kb_id, set(document_of.values()))
            named = {entry.generation_id for entry in entries.values()}
            orphans = [
                Drift(DriftKind.ORPHAN, organization_id, kb_id, None, each)
                for each in ids
                if each in document_of and each not in named
            ]
            keys = {request.deduplication_key: item for item in orphans if (request := request_for(item))}
            known = await self._jobs.existing(keys)
            found += [item for key, item in keys.items() if key not in known]
        return found
