"""Positions in the changes of a source: which one a run begins with, and which one it leaves behind."""

from datetime import timedelta

from analytiq import clock
from analytiq.models.source import ChangesPosition, Source, SourceRun
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session


class Positions:
    """Positions of an organization's sources."""

    def __init__(self, rows: Repositories) -> None:
        self._sources = rows.sources
        self._runs = rows.source_runs

    async def beginning(self, source: Source, run: SourceRun, *, full_interval_seconds: float) -> str | None:
        """Return the position with which a run begins; None: it lists everything.

        A run that accepts losses lists everything: what is missing must be known. So does a run that changes were
        stored too long ago for, and one whose position belongs to a run that is gone: after a restore, the items may
        be older than the position.
        """
        position = source.position
        if position is None or run.is_full or run.accepts_losses or run.external_ids:
            return None
        if clock.now() - position.listed_whole_at >= timedelta(seconds=full_interval_seconds):
            return None
        if await self._runs.get(source.organization_id, source.id, position.run_id) is None:
            return None
        return position.since

    async def keep(self, session: Session, source: Source, run: SourceRun) -> None:
        """Store the position behind a run that was complete; other runs leave the old one."""
        if run.is_dry_run or run.external_ids or not run.is_whole or run.withheld_removals:
            return
        position = None
        if run.next_since is not None:
            before = source.position if run.is_delta else None
            listed_whole_at = before.listed_whole_at if before else run.started_at or clock.now()
            position = ChangesPosition(since=run.next_since, run_id=run.id, listed_whole_at=listed_whole_at)
        await self._sources.keep_position(session, run, position)
