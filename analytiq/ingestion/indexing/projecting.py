"""Updates the copy of a document's fields in its chunks, for filters of a search server."""

from analytiq.ingestion.indexing.plan import Project
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.search.rows import SearchRowRepository


class Projecting:
    """Applies `Project`: without chunking or embedding, the rows of the current generation are updated."""

    def __init__(self, rows: SearchRowRepository, entries: IndexEntryRepository) -> None:
        self._rows = rows
        self._entries = entries

    async def apply(self, wanted: Project) -> int:
        """Write the projection, then record it; return the number of changed chunks.

        A crash in between repeats it. If another generation has become current meanwhile, its rows have the projection
        of its own sync, and its entry stays unchanged.
        """
        entry = wanted.entry
        changed = await self._rows.project(entry.organization_id, entry.kb_id, entry.generation_id, wanted.projection)
        await self._entries.note_projection(entry, wanted.projection.hash)
        return changed
