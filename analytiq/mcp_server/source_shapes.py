"""Answers of the tools for sources, with the REST API's field names."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from analytiq.client import Source, SourceRun, SourceRunItem


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class OutcomeCounts(_Answer):
    """Numbers of items by outcome."""

    added: int
    changed: int
    unchanged: int
    removed: int
    skipped: int
    failed: int


class SourceRunSummary(_Answer):
    """A run of a source: its counts so far, or in the end."""

    source_run_id: str
    state: Annotated[str, Field(description="queued, running, succeeded, failed or cancelled")]
    is_dry_run: Annotated[bool, Field(description="true: it lists and compares, and changes nothing")]
    counts: OutcomeCounts
    withheld_removals: Annotated[int, Field(description="Missing items that were not removed; the log says why")]
    error: Annotated[str | None, Field(description="Failure of the run")]
    created_at: str
    ended_at: str | None

    @classmethod
    def of(cls, run: SourceRun) -> "SourceRunSummary":
        """Build the summary from the API's answer."""
        return cls(
            source_run_id=run.source_run_id,
            state=run.state,
            is_dry_run=run.is_dry_run,
            counts=OutcomeCounts.model_validate(run.counts, from_attributes=True),
            withheld_removals=run.withheld_removals,
            error=run.error.detail if run.error else None,
            created_at=run.created_at.isoformat(),
            ended_at=_written(run.ended_at),
        )


class SourceSummary(_Answer):
    """A source; `tags` are the names of those that its documents get."""

    source_id: str
    name: str
    kind: str
    tags: list[str]
    interval_seconds: Annotated[int | None, Field(description="Seconds between scheduled runs; null: on request")]
    next_run_at: str | None
    last_run: SourceRunSummary | None

    @classmethod
    def of(cls, source: Source, tags: list[str]) -> "SourceSummary":
        """Build the summary from the API's answer, without settings: addresses in them are for people."""
        return cls(
            source_id=source.source_id,
            name=source.name,
            kind=source.kind,
            tags=tags,
            interval_seconds=source.interval_seconds,
            next_run_at=_written(source.next_run_at),
            last_run=None if source.last_run is None else SourceRunSummary.of(source.last_run),
        )


class SourcePage(_Answer):
    """A page of sources by name; `total_count` counts all."""

    sources: list[SourceSummary]
    total_count: int
    skip: int


class ItemProblem(_Answer):
    """An item that a run skipped or could not fetch."""

    external_id: str
    name: str
    outcome: str
    reason: str | None


class SourceRunReport(_Answer):
    """A run with its log, and the first items that it did not take in. `note` says what to do next."""

    source_id: str
    source_name: str
    run: SourceRunSummary
    log: list[str]
    problems: list[ItemProblem]
    note: str

    @classmethod
    def of(cls, source: Source, run: SourceRun, problems: Sequence[SourceRunItem] = ()) -> "SourceRunReport":
        """Build the report from the API's answers."""
        shown = [ItemProblem.model_validate(item, from_attributes=True) for item in problems]
        missed = run.counts.skipped + run.counts.failed
        if not run.is_over:
            note = "The run is unfinished. Call read_source_run to see how it goes on."
        elif missed > len(shown):
            note = f"{missed:,} items were not taken in; the first {len(shown)} are in `problems`."
        else:
            note = "The run has ended."
        return cls(
            source_id=source.source_id,
            source_name=source.name,
            run=SourceRunSummary.of(run),
            log=[item.text for item in run.log],
            problems=shown,
            note=note,
        )


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
