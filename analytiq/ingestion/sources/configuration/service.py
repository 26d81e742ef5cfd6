"""Sources of an organization: create, read, change, check, delete."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import JsonValue

from analytiq import clock
from analytiq.errors import AnalytiqError, InvalidInputError, NotFoundError
from analytiq.ingestion.documents.metadata import validated_metadata
from analytiq.ingestion.sources.base import Connector, ListedItem
from analytiq.ingestion.sources.configuration.opening import Connectors
from analytiq.ingestion.sources.jobs import clean_source_request
from analytiq.ingestion.sources.patterns import require_patterns
from analytiq.ingestion.sources.registry import load_kind, validated
from analytiq.models.source import ItemFilters, RunState, Source, SourceItem, WhenVanished
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.source_items import ItemQuery
from analytiq.storage.repositories.source_runs import RunEnd
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

CHECK_SECONDS = 20.0
SHOWN_ITEMS = 10
LEAST_INTERVAL_SECONDS = 60
READ_OR_GIVEN = ("settings", "filters", "tag_ids", "metadata", "metadata_mapping")
"""Fields of a source that decide what a run reads, or gives to documents."""


@dataclass(frozen=True, slots=True)
class SourceDraft:
    """The fields of a source that people choose; its tags exist."""

    name: str
    kind: str
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    credentials: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], repr=False)
    tag_ids: tuple[str, ...] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    metadata_mapping: Mapping[str, str] = field(default_factory=dict[str, str])
    filters: ItemFilters = field(default_factory=ItemFilters)
    when_vanished: WhenVanished = WhenVanished.DELETE
    vanished_tag_id: str | None = None
    interval_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check: the first items, or the problem."""

    problem: str | None = None
    code: str | None = None
    items: tuple[ListedItem, ...] = ()


class Sources:
    """Sources of an organization."""

    def __init__(self, rows: Repositories, connectors: Connectors) -> None:
        self._connection = rows.connection
        self._sources = rows.sources
        self._items = rows.source_items
        self._runs = rows.source_runs
        self._jobs = rows.jobs
        self._connectors = connectors

    async def create(self, organization_id: str, draft: SourceDraft) -> Source:
        """Create a source; nothing runs yet, except by its schedule.

        Raises:
            InvalidInputError: its kind does not accept the settings or credentials, or another field is wrong.
            ConflictError: the name is taken.
        """
        source = self._drafted(organization_id, draft)
        _require_valid(source)
        await self._sources.insert(source)
        return source

    async def get(self, organization_id: str, source_id: str) -> Source:
        """Return the source with this id."""
        source = await self._sources.get(organization_id, source_id)
        if source is None or source.is_deleted:
            raise unknown_source(source_id)
        return source

    async def named(self, organization_id: str, name: str) -> Source | None:
        """Return the source with this name."""
        return await self._sources.named(organization_id, name)

    async def page(
        self, organization_id: str, *, name_search: str | None, skip: int, limit: int
    ) -> tuple[list[Source], int]:
        """Return a page of sources by name, and the count of matches."""
        return await self._sources.page(organization_id, name_search=name_search, skip=skip, limit=limit)

    async def change(
        self,
        organization_id: str,
        source_id: str,
        changes: Mapping[str, object],
        *,
        credentials: Mapping[str, JsonValue] | None = None,
    ) -> Source:
        """Change fields of `SourceDraft` except the kind; documents follow with the next run.

        Credentials are replaced as a whole; None keeps them.

        Raises:
            InvalidInputError: a field is wrong.
            ConflictError: the name is taken.
        """
        source = await self.get(organization_id, source_id)
        wanted = dict(changes)
        if credentials is not None:
            wanted["credentials"] = self._connectors.sealed(source.kind, credentials)
            wanted["credentials_id"] = new_id()
        if credentials is not None or any(
            name in wanted and wanted[name] != getattr(source, name) for name in READ_OR_GIVEN
        ):
            # Changes alone would not bring unchanged items up to date.
            wanted |= {"position": None, "settings_id": new_id(), "problem": None}
            if source.problem is not None and source.interval_seconds is not None:
                wanted["next_run_at"] = clock.now()  # a pause of its schedule is over
        if "interval_seconds" in wanted and wanted["interval_seconds"] != source.interval_seconds:
            seconds = wanted["interval_seconds"]
            wanted["next_run_at"] = clock.now() + timedelta(seconds=seconds) if isinstance(seconds, int) else None
        if not wanted:
            return source
        changed = source.model_copy(update=wanted)
        _require_valid(changed)
        stored = await self._sources.change(changed, wanted.keys())
        if stored is None:
            raise unknown_source(source_id)
        return stored

    async def delete(
        self,
        organization_id: str,
        source_id: str,
        *,
        deletes_documents: bool,
        deletes_tag_ids: Sequence[str] = (),
        request_id: str | None = None,
    ) -> None:
        """Delete a source and its runs; a job removes their rows, and its documents if wanted.

        `deletes_tag_ids`: tags that the job deletes after the documents, unless something else uses them.
        """
        source = await self.get(organization_id, source_id)

        async def commit(session: Session) -> None:
            # The name is free at once; no source is named like this, since ids are unique.
            marked = await self._sources.mark_deleted(
                session,
                source,
                free_name=f"{source.name[:100]} {source.id}",
                deletes_documents=deletes_documents,
                deletes_tag_ids=deletes_tag_ids,
            )
            if marked is None:
                raise unknown_source(source_id)
            run = await self._runs.open_run(organization_id, source_id, session=session)
            if run is not None:
                await self._runs.finish(run, RunEnd(RunState.CANCELLED), session=session)
            request = clean_source_request(organization_id, source_id)
            await self._jobs.enqueue([request], request_id=request_id, session=session)

        await run_in_transaction(self._connection, commit)

    async def check(self, organization_id: str, source_id: str) -> CheckResult:
        """Test the settings, and list the first items; nothing is stored."""
        return await self._tested(await self.get(organization_id, source_id))

    async def check_draft(self, organization_id: str, draft: SourceDraft) -> CheckResult:
        """Test the settings of a source that does not exist yet, and list the first items; nothing is stored.

        Raises:
            InvalidInputError: as for `create`.
        """
        source = self._drafted(organization_id, draft)
        _require_valid(source)
        return await self._tested(source)

    async def items(
        self, organization_id: str, source_id: str, query: ItemQuery, *, skip: int, limit: int
    ) -> tuple[list[SourceItem], int]:
        """Return a page of a source's known items, and the count of matches."""
        await self.get(organization_id, source_id)
        return await self._items.page(organization_id, source_id, query, skip=skip, limit=limit)

    def _drafted(self, organization_id: str, draft: SourceDraft) -> Source:
        """Return the row of a draft, unchecked."""
        now, source_id = clock.now(), new_id()
        return Source(
            id=source_id,
            organization_id=organization_id,
            name=draft.name,
            kind=draft.kind,
            settings=dict(draft.settings),
            credentials=self._connectors.sealed(draft.kind, draft.credentials),
            identity_source=f"source:{source_id}",
            tag_ids=draft.tag_ids,
            metadata=dict(draft.metadata),
            metadata_mapping=dict(draft.metadata_mapping),
            filters=draft.filters,
            when_vanished=draft.when_vanished,
            vanished_tag_id=draft.vanished_tag_id,
            interval_seconds=draft.interval_seconds,
            next_run_at=now if draft.interval_seconds else None,
            created_at=now,
            updated_at=now,
        )

    async def _tested(self, source: Source) -> CheckResult:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await self._check(source)
        except TimeoutError:
            return CheckResult(f"The source did not answer within {CHECK_SECONDS:g} s.", "source_silent")
        except AnalytiqError as error:
            return CheckResult(error.detail, error.code)

    async def _check(self, source: Source) -> CheckResult:
        connector: Connector = self._connectors.open(source)
        try:
            await connector.check()
            items: Sequence[ListedItem] = ()
            batches = connector.list_changes(None)
            try:
                async for batch in batches:
                    items = batch.items
                    break
            finally:
                await batches.aclose()
            return CheckResult(items=tuple(items[:SHOWN_ITEMS]))
        finally:
            await connector.close()


def _require_valid(source: Source) -> None:
    """Check the fields of a source.

    Raises:
        InvalidInputError: names the wrong field.
    """
    validated(load_kind(source.kind).settings_schema, source.settings, field="settings")
    validated_metadata({**source.metadata, **dict.fromkeys(source.metadata_mapping.values())})
    require_patterns(source.filters)
    if source.interval_seconds is not None and source.interval_seconds < LEAST_INTERVAL_SECONDS:
        raise InvalidInputError.of_field("interval_seconds", f"Must be at least {LEAST_INTERVAL_SECONDS}.")
    if source.when_vanished is WhenVanished.TAG and source.vanished_tag_id is None:
        raise InvalidInputError.of_field("vanished_tag_id", "Name the tag for documents of vanished items.")


def unknown_source(source_id: str) -> NotFoundError:
    """Return the error for an id that no source of the organization has."""
    return NotFoundError(f"No source has the id {source_id!r}. List the sources to find it.")
