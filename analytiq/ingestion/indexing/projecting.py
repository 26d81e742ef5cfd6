"""Brings what chunks carry of their document up to date, for a search server that filters them."""

from analytiq.ingestion.indexing.plan import Project
from analytiq.storage.repositories.index_entries import IndexEntryRepository
from analytiq.storage.search.rows import SearchRowRepository


class Projecting:
    """Applies `Project`: no text is cut and nothing is embedded; the rows of the current generation are updated."""

    def __init__(self, rows: SearchRowRepository, entries: IndexEntryRepository) -> None:
        self._rows = rows
        self._entries = entries

    async def apply(self, wanted: Project) -> int:
        """Write the projection, then that it is written; returns how many chunks were changed.

        A crash in between repeats it. Where another generation has become the current one meanwhile, its rows carry
        what its own sync has read, and its entry is left alone.
        """
        entry = wanted.entry
        changed = await self._rows.project(entry.organization_id, entry.kb_id, entry.generation_id, wanted.projection)
        await self._entries.note_projection(entry, wanted.projection.hash)
        return changed
