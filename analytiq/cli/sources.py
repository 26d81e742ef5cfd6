"""`analytiq source …`: sources, whose items become documents, and their runs."""

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, cast

import typer
from pydantic import JsonValue

from analytiq.cli.connection import api_client
from analytiq.cli.console import fail, note, print_rows
from analytiq.cli.documents_by_name import is_id
from analytiq.cli.metadata_options import read_metadata
from analytiq.cli.options import DataDir, DryRun, Yes
from analytiq.client import Client, OpenedSourceInbound, ProblemError, Source, SourceInbound, SourceRun
from analytiq.errors import ConflictError, InvalidInputError, NotFoundError

app = typer.Typer(help="Manage sources, whose items become documents and stay up to date.", no_args_is_help=True)

SourceName = Annotated[str, typer.Argument(metavar="NAME-OR-ID")]
SHOWN_PROBLEMS = 20


class ExportFormat(StrEnum):
    """Formats of an export."""

    CSV = "csv"
    JSON = "json"
    NDJSON = "ndjson"


class InboundAction(StrEnum):
    """Changes of an inbound address."""

    OPEN = "open"
    ROTATE = "rotate"
    CLOSE = "close"


class Vanished(StrEnum):
    """Documents of vanished items."""

    DELETE = "delete"
    KEEP = "keep"
    TAG = "tag"


@app.command("kinds")
def source_kinds(data_dir: DataDir = None) -> None:
    """List the installed kinds of sources with their settings."""
    with api_client(data_dir) as client:
        rows: list[tuple[str, ...]] = []
        for kind in client.source_kinds():
            settings = ", ".join(kind.settings_schema.get("properties", {}))
            secrets = ", ".join(kind.credentials_schema.get("properties", {}))
            rows.append((kind.kind, settings, secrets, kind.description))
        print_rows(("KIND", "SETTINGS", "CREDENTIALS", "DESCRIPTION"), rows)


@app.command("add")
def source_add(
    *,
    kind: Annotated[str, typer.Argument(help="Kind from `source kinds`.")],
    name: Annotated[str, typer.Argument(help="Name of the source.")],
    setting: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE of the kind. Repeatable.")] = None,
    credentials: Annotated[
        Path | None, typer.Option(help="JSON file with the kind's credentials. `-` reads standard input.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Tag for its documents, created if missing. Repeatable.")
    ] = None,
    include: Annotated[list[str] | None, typer.Option(help="Take only items that match this. Repeatable.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Leave out items that match this. Repeatable.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(help="KEY=VALUE for each document, a text or JSON. Repeatable.")
    ] = None,
    map_field: Annotated[
        list[str] | None, typer.Option("--map", help="FIELD=KEY: an item's field to metadata. Repeatable.")
    ] = None,
    every: Annotated[int | None, typer.Option(min=60, help="Seconds between scheduled runs.")] = None,
    when_vanished: Annotated[
        Vanished, typer.Option(help="The treatment of documents whose item vanished.")
    ] = Vanished.DELETE,
    vanished_tag: Annotated[str | None, typer.Option(help="Tag for them, with `--when-vanished tag`.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Add a source, test its settings, and print its id. Nothing runs yet, except by `--every`."""
    with api_client(data_dir) as client:
        options: dict[str, JsonValue] = {
            "filters": {"include": list(include or ()), "exclude": list(exclude or ())},
            "metadata": read_metadata(metadata or ()) or {},
            "metadata_mapping": {key: str(value) for key, value in pairs(map_field or (), "--map").items()},
            "when_vanished": when_vanished.value,
            "vanished_tag_id": client.ensure_tag(vanished_tag).tag_id if vanished_tag else None,
            "interval_seconds": every,
        }
        made = client.create_source(
            name,
            kind,
            settings=pairs(setting or (), "--set"),
            credentials=secrets_of(credentials),
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag or [])],
            options=options,
        )
        typer.echo(made.source_id)
        checked = client.test_source(made.source_id)
        if checked.problem is not None:
            fail(f"The source was added, but its test failed. {checked.problem}")
            raise typer.Exit(1)
        note(f"The source answers. Its first items: {', '.join(item.name for item in checked.items) or 'none'}.")


@app.command("list")
def source_list(data_dir: DataDir = None) -> None:
    """List sources with their last runs."""
    with api_client(data_dir) as client:
        print_rows(
            ("ID", "NAME", "KIND", "EVERY", "LAST RUN", "ITEMS", "PROBLEM"),
            [
                (
                    source.source_id,
                    source.name,
                    source.kind,
                    f"{source.interval_seconds} s" if source.interval_seconds else "-",
                    source.last_run.state if source.last_run else "-",
                    summary(source.last_run) if source.last_run else "-",
                    source.problem.detail if source.problem else "-",
                )
                for source in client.sources()
            ],
        )


@app.command("test")
def source_test(name: SourceName, data_dir: DataDir = None) -> None:
    """Test a source and show its first items. Exit code 1 if it does not answer."""
    with api_client(data_dir) as client:
        checked = client.test_source(choose(client, name).source_id)
        if checked.problem is not None:
            fail(checked.problem)
            raise typer.Exit(1)
        rows = [(item.name, str(item.byte_size or "-"), item.problem or "") for item in checked.items]
        print_rows(("ITEM", "BYTES", "PROBLEM"), rows)


@app.command("run")
def source_run(
    *,
    name: SourceName,
    item: Annotated[
        list[str] | None, typer.Option(help="Fetch this item again, by its id or address, and no other. Repeatable.")
    ] = None,
    dry_run: DryRun = False,
    accept_losses: Annotated[
        bool, typer.Option("--accept-losses", help="Remove missing items even if most are missing.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="List everything, although the source tells its changes.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Wait for the end, and show the result.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Run a source now. Exit code 1 if the run or any item failed."""
    with api_client(data_dir) as client:
        run = client.run_source(
            choose(client, name).source_id,
            dry_run=dry_run,
            accepts_losses=accept_losses,
            full=full,
            external_ids=item or (),
        )
        if not wait:
            typer.echo(run.source_run_id)
            return
        run = client.wait_for_source_run(run)
        show(client, run, lists_changes=dry_run)
    raise typer.Exit(0 if run.state == "succeeded" and not run.counts.failed else 1)


@app.command("log")
def source_log(
    *,
    name: SourceName,
    run: Annotated[str | None, typer.Option("--run", help="Id of a run. Default: the last one.")] = None,
    runs: Annotated[bool, typer.Option("--runs", help="List the runs instead.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show the log of a run with every item that it added, changed, removed, skipped or failed to read."""
    with api_client(data_dir) as client:
        source = choose(client, name)
        if runs:
            rows = [
                (each.source_run_id, each.trigger, each.state, summary(each), each.created_at.isoformat(" ", "seconds"))
                for each in client.source_runs(source.source_id)
            ]
            print_rows(("RUN", "BY", "STATE", "ITEMS", "REQUESTED"), rows)
            return
        run_id = run or (source.last_run.source_run_id if source.last_run else None)
        if run_id is None:
            raise NotFoundError(f"The source {source.name!r} has not run yet. Start it with `source run`.")
        show(client, client.source_run(source.source_id, run_id), lists_changes=True)


@app.command("export")
def source_export(
    *,
    name: SourceName,
    file_format: Annotated[ExportFormat, typer.Option("--format", help="Format of the file.")] = ExportFormat.CSV,
    output: Annotated[Path | None, typer.Option(help="File to write. Default: standard output.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Write the text, address and metadata of a source's documents."""
    with api_client(data_dir) as client:
        blocks = client.export_source(choose(client, name).source_id, file_format.value)
        if output is None:
            for block in blocks:
                sys.stdout.buffer.write(block)
            return
        with output.open("wb") as file:
            file.writelines(blocks)
        note(f"Written to {output}.")


@app.command("inbound")
def source_inbound(
    *,
    name: SourceName,
    action: Annotated[InboundAction | None, typer.Argument(help="Change it. Default: show it.")] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="File with the service's own secret, such as Slack's. `-` reads standard input."),
    ] = None,
    overlap: Annotated[
        int, typer.Option(min=0, max=604_800, help="With `rotate`: seconds for which the earlier secrets stay valid.")
    ] = 86_400,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Show, open, rotate or close the inbound address of a source. A new secret is shown once."""
    with api_client(data_dir) as client:
        source = choose(client, name)
        if action is InboundAction.CLOSE:
            if not yes and not typer.confirm(f"Close the inbound address of {source.name!r}?"):
                raise typer.Exit(1)
            client.close_source_inbound(source.source_id)
            note("Closed. Opened again, the source has another address.")
            return
        address = inbound_of(client, source)
        if action is InboundAction.OPEN and address is not None:
            raise ConflictError(f"The inbound address of {source.name!r} is open. `rotate` makes a new secret.")
        if address is None and action is not InboundAction.OPEN:
            raise NotFoundError(f"The source {source.name!r} has no inbound address. Open it with `open`.")
        if action is not None:
            own = text_of(secret).strip() if secret is not None else None
            address = client.open_source_inbound(source.source_id, secret=own, overlap_seconds=overlap)
        assert address is not None  # noqa: S101  # narrowed above
        show_inbound(client, address, is_secret_made=secret is None)


@app.command("cancel")
def source_cancel(name: SourceName, data_dir: DataDir = None) -> None:
    """Cancel the unfinished run of a source."""
    with api_client(data_dir) as client:
        source = choose(client, name)
        if source.last_run is None:
            raise NotFoundError(f"The source {source.name!r} has not run yet.")
        client.cancel_source_run(source.source_id, source.last_run.source_run_id)
        note("Cancelled.")


@app.command("remove")
def source_remove(
    *,
    name: SourceName,
    documents: Annotated[bool, typer.Option("--documents", help="Delete its documents too.")] = False,
    yes: Yes = False,
    data_dir: DataDir = None,
) -> None:
    """Remove a source with its runs. Its documents stay, unless `--documents`."""
    with api_client(data_dir) as client:
        source = choose(client, name)
        what = "and all its documents" if documents else "and keep its documents"
        if not yes and not typer.confirm(f"Remove the source {source.name!r} {what}?"):
            raise typer.Exit(1)
        client.delete_source(source.source_id, deletes_documents=documents)
        note(f"Removed {source.name!r}.")


def choose(client: Client, name: str) -> Source:
    """Return the source of this name or id.

    Raises:
        NotFoundError: the organization has no such source.
    """
    found = client.find_source(name)
    if found is not None:
        return found
    if is_id(name):
        return client.source(name)
    raise NotFoundError(f"No source is named {name!r}. `analytiq source list` shows all.")


def inbound_of(client: Client, source: Source) -> SourceInbound | None:
    """Return the inbound address of a source; None if it has none."""
    try:
        return client.source_inbound(source.source_id)
    except ProblemError as error:
        if error.code != "no_inbound_address":
            raise
        return None


def show_inbound(client: Client, address: SourceInbound, *, is_secret_made: bool) -> None:
    """Print an address, with its secret if that was made now."""
    url = f"{client.url.rstrip('/')}{address.url}" if address.url.startswith("/") else address.url
    rows = [("Address", url)]
    if isinstance(address, OpenedSourceInbound) and is_secret_made:
        rows.append(("Secret", address.secret))
        note("The secret is shown once. Store it now.")
    else:
        last = address.last_push_at.isoformat(" ", "seconds") if address.last_push_at else "-"
        rows += [("Secrets", str(address.secret_count)), ("Last push", last)]
    if address.learned_secret is not None:
        rows.append(("Verification token", address.learned_secret))
    print_rows(("FIELD", "VALUE"), rows)


def summary(run: SourceRun) -> str:
    """Return the counts of a run that are not 0."""
    counts = run.counts.model_dump()
    return ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items() if number) or "none"


def show(client: Client, run: SourceRun, *, lists_changes: bool) -> None:
    """Print a run's log, its problems, and the changed items if wanted."""
    for line in run.log:
        note(f"{line.at.isoformat(' ', 'seconds')}  {line.text}")
    outcomes = ["failed", "skipped", *(("added", "changed", "removed") if lists_changes else ())]
    rows: list[tuple[str, ...]] = []
    for entry in client.source_run_items(run.source_id, run.source_run_id, outcomes=outcomes):
        rows.append((entry.outcome, entry.name, entry.reason or ""))
        if len(rows) == SHOWN_PROBLEMS and not lists_changes:
            note(f"The first {SHOWN_PROBLEMS} problems; `analytiq source log` shows all.")
            break
    if rows:
        print_rows(("OUTCOME", "ITEM", "REASON"), rows)
    if run.error is not None:
        fail(run.error.detail)
    typer.echo(f"{'dry run, ' if run.is_dry_run else ''}{run.state}: {summary(run)}")


def pairs(given: Sequence[str], option: str) -> dict[str, JsonValue]:
    """Return NAME=VALUE pairs; a value that is JSON counts as such.

    Raises:
        InvalidInputError: a pair has no `=`.
    """
    found: dict[str, JsonValue] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInputError(f"{option} {pair!r} has no value. Write NAME=VALUE.")
        try:
            found[name] = cast("JsonValue", json.loads(value))
        except ValueError:
            found[name] = value
    return found


def secrets_of(path: Path | None) -> dict[str, JsonValue]:
    """Return the credentials in a JSON file.

    Raises:
        InvalidInputError: the file is no JSON object; the message has nothing of it.
    """
    if path is None:
        return {}
    try:
        found: object = json.loads(text_of(path))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInputError(f"{path} is not a readable JSON object. Write the credentials as one.")
    return cast("dict[str, JsonValue]", found)


def text_of(path: Path) -> str:
    """Return the text of a file, of standard input for `-`.

    Raises:
        InvalidInputError: the file cannot be read; the message has nothing of it.
    """
    try:
        return typer.get_text_stream("stdin").read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise InvalidInputError(f"{path} cannot be read as text. Name a file, or `-` for standard input.") from None
