"""Operations on sources and their runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from analytiq.client.calls import all_items, blocks, delete, first, get, post, put
from analytiq.client.operations import Calls, listing, operation
from analytiq.client.paths import segment
from analytiq.client.source_models import (
    OpenedSourceInbound,
    Source,
    SourceCheck,
    SourceInbound,
    SourceItem,
    SourceKind,
    SourceKinds,
    SourceRun,
    SourceRunItem,
    SourceSignIn,
)
from analytiq.client.steps import Flow, Items
from analytiq.client.waiting import Waiting


class SourceCalls(Calls):
    """Sources and what they hold."""

    @operation
    def source_kinds(self) -> Flow[list[SourceKind]]:
        """Return the installed kinds of sources, by name."""
        return (yield from get("/source-kinds", SourceKinds)).kinds

    @listing
    def sources(self, *, name_search: str | None = None) -> Items[Source]:
        """Yield all sources, by name, each with its last run."""
        return all_items("/sources", "sources", Source, {"name_search": name_search})

    @operation
    def source(self, source_id: str) -> Flow[Source]:
        """Return a source with its last run."""
        return get(_path(source_id), Source)

    @operation
    def find_source(self, name: str) -> Flow[Source | None]:
        """Return the source of exactly this name."""
        wanted = name.strip()
        return (yield from first(self.sources(name_search=wanted), lambda item: item.name == wanted))

    @operation
    def create_source(
        self,
        name: str,
        kind: str,
        *,
        settings: Mapping[str, JsonValue] | None = None,
        credentials: Mapping[str, JsonValue] | None = None,
        tag_ids: Sequence[str] = (),
        options: Mapping[str, JsonValue] | None = None,
    ) -> Flow[Source]:
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
        return post("/sources", Source, body)

    @operation
    def update_source(self, source_id: str, changes: Mapping[str, JsonValue]) -> Flow[Source]:
        """Change some of the fields of `create_source`; the next run brings the documents up to date."""
        return put(_path(source_id), Source, dict(changes))

    @operation
    def delete_source(self, source_id: str, *, deletes_documents: bool = False) -> Flow[None]:
        """Delete a source with its runs; its documents stay, unless `deletes_documents`."""
        return delete(_path(source_id), {"documents": "delete" if deletes_documents else None})

    @operation
    def test_source(self, source_id: str) -> Flow[SourceCheck]:
        """Test the settings of a source and list its first items."""
        return post(f"{_path(source_id)}/test", SourceCheck)

    @operation
    def test_source_settings(
        self,
        kind: str,
        *,
        settings: Mapping[str, JsonValue] | None = None,
        credentials: Mapping[str, JsonValue] | None = None,
        filters: Mapping[str, JsonValue] | None = None,
    ) -> Flow[SourceCheck]:
        """Test settings before a source is created, and list its first items. Nothing is stored.

        Args:
            kind: one of `source_kinds`.
            settings: by the kind's `settings_schema`.
            credentials: by its `credentials_schema`.
            filters: of items, such as `{"include": ["*.pdf"]}`.
        """
        # The API asks for the body of a new source; the test does not use the name.
        body: dict[str, Any] = {**_draft("Test", kind, settings, credentials), "filters": dict(filters or {})}
        return post("/sources/test", SourceCheck, body, changes=False)

    @operation
    def begin_source_sign_in(self, source_id: str) -> Flow[SourceSignIn]:
        """Return the address at which a person allows the source to read a service."""
        return post(f"{_path(source_id)}/authorization", SourceSignIn)

    @operation
    def source_inbound(self, source_id: str) -> Flow[SourceInbound]:
        """Return the inbound address of a source.

        Raises:
            ProblemError: the source has none (`no_inbound_address`), or does not exist.
        """
        return get(f"{_path(source_id)}/inbound", SourceInbound)

    @operation
    def open_source_inbound(
        self, source_id: str, *, secret: str | None = None, overlap_seconds: int = 86_400
    ) -> Flow[OpenedSourceInbound]:
        """Open the inbound address of a source, or give an open one a further secret. The secret is shown once.

        Args:
            source_id: the source.
            secret: one that the service has made, such as Slack's signing secret; None: a new one.
            overlap_seconds: time for which the secrets before stay valid, up to seven days.
        """
        body = {"secret": secret, "overlap_seconds": overlap_seconds}
        return post(f"{_path(source_id)}/inbound", OpenedSourceInbound, body)

    @operation
    def close_source_inbound(self, source_id: str) -> Flow[None]:
        """Close the inbound address of a source. Its documents stay; opened again, it has another address."""
        return delete(f"{_path(source_id)}/inbound")

    @listing
    def export_source(self, source_id: str, file_format: str = "csv") -> Items[bytes]:
        """Yield a source's documents with text, address and metadata, as csv, json or ndjson."""
        return blocks(f"{_path(source_id)}/export", {"format": file_format})

    @listing
    def source_items(
        self, source_id: str, *, name_search: str | None = None, has_problem: bool | None = None
    ) -> Items[SourceItem]:
        """Yield all items of a source as its last runs found them; or only those with, or without, a problem."""
        query = {"name_search": name_search, "has_problem": has_problem}
        return all_items(f"{_path(source_id)}/items", "items", SourceItem, query)


class SourceRunCalls(Calls):
    """Runs of sources."""

    @operation
    def run_source(
        self,
        source_id: str,
        *,
        dry_run: bool = False,
        accepts_losses: bool = False,
        full: bool = False,
        external_ids: Sequence[str] = (),
    ) -> Flow[SourceRun]:
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
        return post(f"{_path(source_id)}/runs", SourceRun, body)

    @listing
    def source_runs(self, source_id: str) -> Items[SourceRun]:
        """Yield all runs of a source, latest first."""
        return all_items(f"{_path(source_id)}/runs", "runs", SourceRun)

    @operation
    def source_run(self, source_id: str, source_run_id: str) -> Flow[SourceRun]:
        """Return a run with its counts so far and its log."""
        return get(_run_path(source_id, source_run_id), SourceRun)

    @listing
    def source_run_items(
        self, source_id: str, source_run_id: str, *, outcomes: Sequence[str] = ()
    ) -> Items[SourceRunItem]:
        """Yield the outcomes of a run's items with the reasons; outcomes: any of those of `SourceRunItem`."""
        query = {"outcome": list(outcomes) or None}
        return all_items(f"{_run_path(source_id, source_run_id)}/items", "items", SourceRunItem, query)

    @operation
    def cancel_source_run(self, source_id: str, source_run_id: str) -> Flow[SourceRun]:
        """Cancel a run; 409 if it has ended."""
        return post(f"{_run_path(source_id, source_run_id)}/cancel", SourceRun)

    @operation
    def wait_for_source_run(
        self,
        run: SourceRun,
        *,
        timeout_seconds: float = 3600.0,
        on_round: Callable[[SourceRun], None] | None = None,
    ) -> Flow[SourceRun]:
        """Wait until a run has ended, and return it with its log; `on_round` is called with each state on the way.

        Raises:
            TransientError: it has not ended in time; it goes on.
        """
        waiting = Waiting(timeout_seconds)
        while not (now := (yield from self.source_run(run.source_id, run.source_run_id))).is_over:
            if on_round is not None:
                on_round(now)
            yield waiting.pause(
                f"The run has not ended after {timeout_seconds:g} s. It goes on. Read its state with `source_run`."
            )
        return now


def _path(source_id: str) -> str:
    return f"/sources/{segment(source_id)}"


def _run_path(source_id: str, source_run_id: str) -> str:
    return f"{_path(source_id)}/runs/{segment(source_run_id)}"


def _draft(
    name: str, kind: str, settings: Mapping[str, JsonValue] | None, credentials: Mapping[str, JsonValue] | None
) -> dict[str, Any]:
    return {"name": name, "kind": kind, "settings": dict(settings or {}), "credentials": dict(credentials or {})}
