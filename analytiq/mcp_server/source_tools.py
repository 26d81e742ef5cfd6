"""Implementation of the tools for sources over the REST API."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from analytiq.client import Source, SourceRun, SourceRunItem
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.mcp_server.rest import RestApi
from analytiq.mcp_server.source_shapes import SourcePage, SourceRunReport, SourceSummary
from analytiq.mcp_server.tag_names import PAGE_SIZE, tag_names

SHOWN_PROBLEMS = 20
NAMED_SOURCES = 20
"""Most sources that an error names."""
POLL_SECONDS = 0.5
_OBJECT = TypeAdapter(dict[str, Any])


class SourceTools:
    """The tools for sources of one caller."""

    def __init__(self, api: RestApi) -> None:
        self._api = api

    async def list_sources(self, name: str | None, skip: int, limit: int) -> SourcePage:
        """Return a page of sources whose name contains `name`."""
        found, total = await self._sources(name, skip=skip, limit=limit)
        names = await tag_names(self._api)
        summaries = [SourceSummary.of(item, [names.get(tag_id, tag_id) for tag_id in item.tag_ids]) for item in found]
        return SourcePage(sources=summaries, total_count=total, skip=skip)

    async def run_source(self, name_or_id: str, *, dry_run: bool, external_ids: Sequence[str]) -> SourceRunReport:
        """Start a run of a source, of all items or of these.

        Raises:
            NotFoundError: no source has this name or id.
            ProblemError: a run is unfinished (409), or the caller may not start one.
        """
        source = await self._named(name_or_id)
        body = {"dry_run": dry_run, "external_ids": list(external_ids)}
        answer = await self._api.post(f"/sources/{source.source_id}/runs", body)
        return SourceRunReport.of(source, SourceRun.model_validate_json(answer))

    async def read_source_run(
        self, name_or_id: str, source_run_id: str | None, *, wait_seconds: float
    ) -> SourceRunReport:
        """Return a run, by default the last one, with its log and problems.

        Args:
            name_or_id: of the source.
            source_run_id: None for the last run.
            wait_seconds: wait so long for its end.

        Raises:
            NotFoundError: the source or the run does not exist, or the source has not run yet.
        """
        source = await self._named(name_or_id)
        if source_run_id is None:
            if source.last_run is None:
                raise NotFoundError(f"The source {source.name!r} has not run yet. Run it with run_source.")
            source_run_id = source.last_run.source_run_id
        elif not source_run_id.isalnum() or not source_run_id.isascii():
            raise InvalidInputError.of_field("source_run_id", "Ids have 24 hex digits. Leave it out for the last run.")
        path = f"/sources/{source.source_id}/runs/{source_run_id}"
        deadline = time.monotonic() + wait_seconds
        while True:
            run = SourceRun.model_validate_json(await self._api.get(path))
            if run.is_over or time.monotonic() >= deadline:
                return SourceRunReport.of(source, run, await self._problems(path))
            await asyncio.sleep(POLL_SECONDS)

    async def _problems(self, path: str) -> list[SourceRunItem]:
        answer = _OBJECT.validate_json(await self._api.get(f"{path}/items", outcome="failed", limit=SHOWN_PROBLEMS))
        found = [SourceRunItem.model_validate(item) for item in answer["items"]]
        if len(found) < SHOWN_PROBLEMS:
            left = SHOWN_PROBLEMS - len(found)
            answer = _OBJECT.validate_json(await self._api.get(f"{path}/items", outcome="skipped", limit=left))
            found += [SourceRunItem.model_validate(item) for item in answer["items"]]
        return found

    async def _named(self, name_or_id: str) -> Source:
        """Return the source with this id, or with exactly this name: names are unique."""
        found, total = await self._sources(None, skip=0, limit=PAGE_SIZE)
        wanted = name_or_id.strip()
        matching = [item for item in found if wanted in (item.source_id, item.name)]
        if not matching and total > len(found):
            searched, _ = await self._sources(wanted[:200], skip=0, limit=PAGE_SIZE)
            matching = [item for item in searched if item.name == wanted]
            if not matching and len(wanted) == 24 and wanted.isalnum() and wanted.isascii():  # an id
                return Source.model_validate_json(await self._api.get(f"/sources/{wanted}"))
        if matching:
            return matching[0]
        known = ", ".join(repr(item.name) for item in found[:NAMED_SOURCES])
        raise NotFoundError(f"No source has the name or id {name_or_id!r}. Known ones: {known or 'none yet'}.")

    async def _sources(self, name: str | None, *, skip: int, limit: int) -> tuple[list[Source], int]:
        answer = _OBJECT.validate_json(await self._api.get("/sources", name_search=name, skip=skip, limit=limit))
        return [Source.model_validate(item) for item in answer["sources"]], answer["total_count"]
