"""A source with its connector, in one run."""

from dataclasses import dataclass

from analytiq.ingestion.sources.base import Connector
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

    @property
    def listing_seconds(self) -> float:
        """Return the longest wait for a batch."""
        longest = self.operator.call_seconds
        return longest if self.run.is_slow else min(longest, self.operator.probe_seconds)

    def identity(self, external_id: str, version: str | None) -> ExternalIdentity:
        """Return the identity of an item's document."""
        return ExternalIdentity(source=self.source.identity_source, external_id=external_id, version=version)
