"""Client calls for sources and their runs."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue, TypeAdapter

from analytiq.client.connection import Connection, Query
from analytiq.client.paths import segment
from analytiq.client.source_models import (
    OpenedSourceInbound,
    Source,
    SourceCheck,
    SourceInbound,
    SourceItem,
    SourceKind,
    SourceRun,
    SourceRunItem,
)
from analytiq.errors import TransientError

FIRST_POLL_SECONDS = 0.1
LONGEST_POLL_SECONDS = 2.0
_KINDS = TypeAdapter(dict[str, list[SourceKind]])


class SourceCalls(Connection):
    """Calls for sources and runs."""

    def source_kinds(self) -> list[SourceKind]:
        """Return the installed kinds of sources, by name."""
        return _KINDS.validate_json(self._transport.call("GET", "/source-kinds"))["kinds"]

    def sources(self, *, name_search: str | None = None) -> Iterator[Source]:
        """Yield all sources, by name, each with its last run."""
        return self._all("/sources", "sources", Source, {"name_search": name_search})

    def source(self, source_id: str) -> Source:
        """Return a source with its last run."""
        return Source.model_validate_json(self._transport.call("GET", f"/sources/{segment(source_id)}"))

    def find_source(self, name: str) -> Source | None:
        """Return the source of exactly this name."""
        wanted = name.strip()
        return next((item for item in self.sources(name_search=wanted) if item.name == wanted), None)

    def create_source(
        self,
        name: str,
        kind: str,
        *,
        settings: Mapping[str, JsonValue] | None = None,
        credentials: Mapping[str, JsonValue] | None = None,
        tag_ids: Sequence[str] = (),
        options: Mapping[str, JsonValue] | None = None,
    ) -> Source:
        """Create a source.

        Args:
            name: unique in the organization.
            kind: one of `source_kinds`.
            settings: by the kind's `settings_schema`.
            credentials: by its `credentials_schema`; stored encrypted, never returned.
            tag_ids: tags of the documents.
            options: any of metadata, metadata_mapping, filters, when_vanished, vanished_tag_id, interval_seconds.
        """
        body = {**(options or {}), **_draft(name, kind, settings, credentials), "tag_ids": list(tag_ids)}
        return Source.model_validate_json(self._transport.call("POST", "/sources", json=body))

    def update_source(self, source_id: str, changes: Mapping[str, JsonValue]) -> Source:
        """Change some of the fields of `create_source`; the next run brings the documents up to date."""
        answer = self._transport.call("PUT", f"/sources/{segment(source_id)}", json=dict(changes))
        return Source.model_validate_json(answer)

    def delete_source(self, source_id: str, *, deletes_documents: bool = False) -> None:
        """Delete a source with its runs; its documents stay, unless `deletes_documents`."""
        query: Query = {"documents": "delete" if deletes_documents else None}
        self._transport.call("DELETE", f"/sources/{segment(source_id)}", query=query)

    def test_source(self, source_id: str) -> SourceCheck:
        """Test the settings of a source and list its first items."""
        return SourceCheck.model_validate_json(self._transport.call("POST", f"/sources/{segment(source_id)}/test"))

    def test_source_settings(
        self,
        kind: str,
        *,
        settings: Mapping[str, JsonValue] | None = None,
        credentials: Mapping[str, JsonValue] | None = None,
        filters: Mapping[str, JsonValue] | None = None,
    ) -> SourceCheck:
        """Test settings before a source is created, and list its first items. Nothing is stored.

        Args:
            kind: one of `source_kinds`.
            settings: by the kind's `settings_schema`.
            credentials: by its `credentials_schema`.
            filters: of items, such as `{"include": ["*.pdf"]}`.
        """
        # The API asks for the body of a new source; the test does not use the name.
        body: dict[str, Any] = {**_draft("Test", kind, settings, credentials), "filters": dict(filters or {})}
        answer = self._transport.call("POST", "/sources/test", json=body, is_repeatable=True)
        return SourceCheck.model_validate_json(answer)

    def source_inbound(self, source_id: str) -> SourceInbound:
        """Return the inbound address of a source.

        Raises:
            ProblemError: the source has none (`no_inbound_address`), or does not exist.
        """
        return SourceInbound.model_validate_json(self._transport.call("GET", f"/sources/{segment(source_id)}/inbound"))

    def open_source_inbound(
        self, source_id: str, *, secret: str | None = None, overlap_seconds: int = 86_400
    ) -> OpenedSourceInbound:
        """Open the inbound address of a source, or give an open one a further secret. The secret is shown once.

        Args:
            source_id: the source.
            secret: one that the service has made, such as Slack's signing secret; None: a new one.
            overlap_seconds: time for which the secrets before stay valid, up to seven days.
        """
        body = {"secret": secret, "overlap_seconds": overlap_seconds}
        answer = self._transport.call("POST", f"/sources/{segment(source_id)}/inbound", json=body)
        return OpenedSourceInbound.model_validate_json(answer)

    def close_source_inbound(self, source_id: str) -> None:
        """Close the inbound address of a source. Its documents stay; opened again, it has another address."""
        self._transport.call("DELETE", f"/sources/{segment(source_id)}/inbound")

    def export_source(self, source_id: str, file_format: str = "csv") -> Iterator[bytes]:
        """Yield a source's documents with text, address and metadata, as csv, json or ndjson."""
        return self._transport.blocks(f"/sources/{segment(source_id)}/export", query={"format": file_format})

    def source_items(self, source_id: str, *, name_search: str | None = None) -> Iterator[SourceItem]:
        """Yield all items of a source as its last runs found them."""
        query: Query = {"name_search": name_search}
        return self._all(f"/sources/{segment(source_id)}/items", "items", SourceItem, query)

    def run_source(
        self,
        source_id: str,
        *,
        dry_run: bool = False,
        accepts_losses: bool = False,
        full: bool = False,
        external_ids: Sequence[str] = (),
    ) -> SourceRun:
        """Start a run of a source, or of selected items; `wait_for_source_run` waits for its end.

        Args:
            source_id: the source.
            dry_run: list and compare, and change nothing.
            accepts_losses: remove missing items even if most are missing.
            full: list everything, although the source tells changes.
            external_ids: fetch these items again, and no others.
        """
        body = {
            "dry_run": dry_run,
            "accepts_losses": accepts_losses,
            "full": full,
            "external_ids": list(external_ids),
        }
        answer = self._transport.call("POST", f"/sources/{segment(source_id)}/runs", json=body)
        return SourceRun.model_validate_json(answer)

    def source_runs(self, source_id: str) -> Iterator[SourceRun]:
        """Yield all runs of a source, latest first."""
        return self._all(f"/sources/{segment(source_id)}/runs", "runs", SourceRun)

    def source_run(self, source_id: str, source_run_id: str) -> SourceRun:
        """Return a run with its counts so far and its log."""
        path = f"/sources/{segment(source_id)}/runs/{segment(source_run_id)}"
        return SourceRun.model_validate_json(self._transport.call("GET", path))

    def source_run_items(
        self, source_id: str, source_run_id: str, *, outcomes: Sequence[str] = ()
    ) -> Iterator[SourceRunItem]:
        """Yield the outcomes of a run's items with the reasons; outcomes: any of those of `SourceRunItem`."""
        path = f"/sources/{segment(source_id)}/runs/{segment(source_run_id)}/items"
        return self._all(path, "items", SourceRunItem, {"outcome": list(outcomes) or None})

    def cancel_source_run(self, source_id: str, source_run_id: str) -> SourceRun:
        """Cancel a run; 409 if it has ended."""
        path = f"/sources/{segment(source_id)}/runs/{segment(source_run_id)}/cancel"
        return SourceRun.model_validate_json(self._transport.call("POST", path))

    def wait_for_source_run(
        self,
        run: SourceRun,
        *,
        timeout_seconds: float = 3600.0,
        on_round: Callable[[SourceRun], None] | None = None,
    ) -> SourceRun:
        """Wait until a run has ended, and return it with its log; `on_round` is called with each state on the way.

        Raises:
            TransientError: it has not ended in time; it goes on.
        """
        deadline = time.monotonic() + timeout_seconds
        pause = FIRST_POLL_SECONDS
        while not (now := self.source_run(run.source_id, run.source_run_id)).is_over:
            if on_round is not None:
                on_round(now)
            if time.monotonic() > deadline:
                raise TransientError(
                    f"The run has not ended after {timeout_seconds:g} s. It goes on. Read its state with `source_run`."
                )
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
        return now


def _draft(
    name: str, kind: str, settings: Mapping[str, JsonValue] | None, credentials: Mapping[str, JsonValue] | None
) -> dict[str, Any]:
    return {"name": name, "kind": kind, "settings": dict(settings or {}), "credentials": dict(credentials or {})}
