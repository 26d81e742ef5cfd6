"""A source with its connector, in one run."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from analytiq.ingestion.sources.base import Connector
from analytiq.jobs.queue.running_job import RunningJob
from analytiq.models.document import ExternalIdentity
from analytiq.models.source import Source, SourceRun
from analytiq.settings import SourceSettings


@dataclass(frozen=True, slots=True)
class OpenSource:
    """A source with its connector, in one run."""

    source: Source
    run: SourceRun
    connector: Connector
    max_item_bytes: int
    operator: SourceSettings
    running: RunningJob | None = None
    """The job of the run; None for pushed items, which are there already."""

    @property
    def listing_seconds(self) -> float:
        """Return the longest wait for a batch."""
        longest = self.operator.call_seconds
        return longest if self.run.is_slow else min(longest, self.operator.probe_seconds)

    def waiting(self) -> AbstractContextManager[None]:
        """Enclose a wait for the source; see `RunningJob.waiting`."""
        return nullcontext() if self.running is None else self.running.waiting()

    def note_answer(self) -> None:
        """Note that the source has answered."""
        if self.running is not None:
            self.running.note_answer()

    def identity(self, external_id: str, version: str | None) -> ExternalIdentity:
        """Return the identity of an item's document."""
        return ExternalIdentity(source=self.source.identity_source, external_id=external_id, version=version)
