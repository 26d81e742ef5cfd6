"""`analytiq ingest https://…`: a web source with these addresses, created or found, run and watched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import typer
from pydantic import JsonValue

from analytiq.cli.console import messages, note
from analytiq.cli.sources import show, summary
from analytiq.client import Client, Source, Tag
from analytiq.errors import InvalidInputError

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class WebWishes:
    """The options of an ingestion of web addresses. `pages`: most pages of each source; None: the kind's default."""

    tags: Sequence[Tag] = ()
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    pages: int | None = None
    waits: bool = True


def is_address(argument: str) -> bool:
    """Return True for a web address instead of a path."""
    return argument.lower().startswith(("https://", "http://"))


def require_no_options_of_files(given: Mapping[str, object]) -> None:
    """Refuse options that have no meaning for web addresses; `given` is by name.

    Raises:
        InvalidInputError: names them.
    """
    named = [name for name, value in given.items() if value]
    if named:
        raise InvalidInputError(f"{', '.join(named)} cannot be used with web addresses: only with files.")


def ingest_addresses(client: Client, addresses: Sequence[str], wishes: WebWishes) -> bool:
    """Crawl addresses as a source, and wait until the pages are searchable; return False if anything failed."""
    source = _source_of(client, addresses, wishes)
    run = client.run_source(source.source_id)
    if not wishes.waits:
        typer.echo(run.source_run_id)
        return True
    with messages.status("Reading the site…") as status:
        run = client.wait_for_source_run(run, on_round=lambda now: status.update(f"Reading the site: {summary(now)}"))
    show(client, run, lists_changes=False)
    changed = client.source_run_items(source.source_id, run.source_run_id, outcomes=("added", "changed"))
    ids = [item.document_id for item in changed if item.document_id is not None]
    failed = [document for document in client.wait_until_indexed(ids) if document.failures] if ids else []
    for document in failed:
        note(f"{document.document_name}: {document.failures[0]}")
    note(f"Searchable: {len(ids) - len(failed):,} documents of the source {source.name!r}.")
    return run.state == "succeeded" and not run.counts.failed and not failed


def _source_of(client: Client, addresses: Sequence[str], wishes: WebWishes) -> Source:
    """Return the source that begins at these addresses, with the tags and options added; create it if missing."""
    first, *others = addresses
    tag_ids = [tag.tag_id for tag in wishes.tags]
    known = [each for each in client.sources() if each.kind == "web" and each.settings.get("url") == first]
    settings: dict[str, JsonValue] = {"url": first, "more_urls": list(others)}
    if wishes.pages is not None:
        settings["max_pages"] = wishes.pages
    filters: dict[str, JsonValue] = {"include": list(wishes.include), "exclude": list(wishes.exclude)}
    if not known:
        name = _free_name(client, first)
        options: dict[str, JsonValue] = {"filters": filters, "metadata": dict(wishes.metadata)}
        made = client.create_source(name, "web", settings=settings, tag_ids=tag_ids, options=options)
        note(f"Created the source {made.name!r}.")
        return made
    source = known[0]
    changes: dict[str, JsonValue] = {}
    merged = {**source.settings, **settings} if others or wishes.pages is not None else source.settings
    if merged != source.settings:
        changes["settings"] = merged
    if not set(tag_ids) <= set(source.tag_ids):
        changes["tag_ids"] = list(dict.fromkeys([*source.tag_ids, *tag_ids]))
    if any(filters.values()):
        changes["filters"] = filters
    if wishes.metadata:
        changes["metadata"] = dict(wishes.metadata)
    note(f"Running the source {source.name!r} again.")
    return client.update_source(source.source_id, changes) if changes else source


def _free_name(client: Client, address: str) -> str:
    parts = urlsplit(address)
    name = f"{parts.netloc}{parts.path}".rstrip("/")[:LONGEST_NAME] or address[:LONGEST_NAME]
    taken = {each.name for each in client.sources()}
    number = 2
    free = name
    while free in taken:
        free = f"{name[: LONGEST_NAME - 8]} ({number})"
        number += 1
    return free
