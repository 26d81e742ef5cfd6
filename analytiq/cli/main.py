"""The commands of `analytiq`. Each imports what it needs when it runs, so that `--help` answers at once."""

import sys
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli import (
    access_commands,
    backup_commands,
    cache_commands,
    erase_commands,
    ingest_commands,
    job_commands,
    knowledge_base_commands,
    metadata_field_commands,
    prompt_commands,
    provider_commands,
    quota_commands,
    reconcile_commands,
    settings_commands,
    storage_commands,
    user_commands,
    worker_commands,
)
from analytiq.cli.console import errors_as_sentences, make_output_printable, note, silence_logs
from analytiq.cli.ingest_commands import INTERRUPTED
from analytiq.cli.options import DataDir

app = typer.Typer(
    name="analytiq",
    help="Documents with tags, knowledge bases that find passages in them, on MongoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

app.add_typer(access_commands.app, name="token")
app.add_typer(provider_commands.app, name="providers")
app.add_typer(knowledge_base_commands.app, name="kb")
app.add_typer(prompt_commands.app, name="prompt")
app.add_typer(job_commands.app, name="jobs")
app.add_typer(worker_commands.app, name="workers")
app.add_typer(quota_commands.app, name="quota")
app.add_typer(storage_commands.app, name="storage")
app.add_typer(settings_commands.app, name="settings")
app.add_typer(user_commands.app, name="user")
app.add_typer(erase_commands.app, name="erase")
app.add_typer(cache_commands.app, name="cache")
app.add_typer(metadata_field_commands.app, name="fields")
app.command()(ingest_commands.ingest)
app.command()(backup_commands.backup)
app.command()(backup_commands.restore)
app.command()(reconcile_commands.reconcile)
app.command()(reconcile_commands.reports)

Host = Annotated[str | None, typer.Option(help="Address to listen on; the loopback unless told otherwise.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]


class SearchMode(StrEnum):
    """By what passages are found."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


@app.command()
def up(
    *,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Worker processes; as many as fit the machine unless set.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the processes' logs here, instead of to files.")
    ] = False,
) -> None:
    """Run everything: database, API, workers and reconciler, until Ctrl-C."""
    from analytiq.cli.up import run_up
    from analytiq.settings import read_settings
    from analytiq.standalone.machine import plan_capacity, read_machine
    from analytiq.standalone.platform import PlatformOptions

    with errors_as_sentences():
        settings = read_settings()
        machine = read_machine()
        capacity = plan_capacity(machine, settings, workers=workers)
        options = PlatformOptions(
            data_dir=data_dir or settings.data_dir,
            host=host or settings.api.host,
            port=settings.api.port if port is None else port,
            capacity=capacity,
            keeps_logs=not verbose,
        )
        note(capacity.describe(machine))
        run_up(settings, options)


@app.command()
def demo(
    *,
    data_dir: Annotated[Path, typer.Option("--data-dir", help="Where its data are kept.")] = Path(".analytiq/demo"),
    host: Host = None,
    port: Port = None,
    stops_by_itself: Annotated[
        bool, typer.Option("--exit", envvar="DEMO_EXIT", help="Stop after the questions.")
    ] = False,
    pages_follow: Annotated[
        bool, typer.Option("--pages-follow", hidden=True, help="The management UI is being built meanwhile.")
    ] = False,
) -> None:
    """Run everything with sample documents, ask three questions, and go on serving."""
    from analytiq.cli.demo import DemoOptions, run_demo
    from analytiq.settings import read_settings

    with errors_as_sentences():
        manner = DemoOptions(stops_by_itself=stops_by_itself, pages_follow=pages_follow)
        is_right = run_demo(read_settings(), data_dir, manner, host=host, port=port)
    raise typer.Exit(0 if is_right else 1)


@app.command()
def search(
    *,
    query: Annotated[str, typer.Argument(help="What is asked.")],
    kb: Annotated[str | None, typer.Option(help="Name or id; not needed for the only one.")] = None,
    top_k: Annotated[int, typer.Option(min=1, max=100, help="How many passages.")] = 5,
    document: Annotated[list[str] | None, typer.Option(help="Only in this document. May be repeated.")] = None,
    mode: Annotated[SearchMode | None, typer.Option(help="Find by both, by vector, or by words.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What the API answers.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Find passages, with file, page and relevance."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.searching import run_search
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        run_search(client, query, kb=kb, top_k=top_k, documents=document or [], mode=mode, as_json=as_json)


@app.command()
def chat(
    *,
    question: Annotated[str | None, typer.Argument(help="The only question; left out: a conversation.")] = None,
    kb: Annotated[list[str] | None, typer.Option(help="Name or id; may be repeated, not needed for the only one.")] = (
        None
    ),
    thread: Annotated[str | None, typer.Option(help="Go on with this thread: its id.")] = None,
    model: Annotated[str | None, typer.Option(help="Chat model; the organization's default, if left out.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Ask questions that a chat model answers from the documents, with citations."""
    from analytiq.cli.chatting import run_chat
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        is_well = run_chat(client, question, kbs=kb or [], thread_id=thread, model=model)
    raise typer.Exit(0 if is_well else 1)


@app.command()
def explain(
    *,
    query: Annotated[str, typer.Argument(help="What is asked.")],
    document: Annotated[str, typer.Argument(help="Name or id of the document.")],
    kb: Annotated[str | None, typer.Option(help="Name or id; not needed for the only one.")] = None,
    mode: Annotated[SearchMode | None, typer.Option(help="Find by both, by vector, or by words.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="What the API answers.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Say why a document is found for a question, or why not."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.searching import run_explain
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        run_explain(client, query, document, kb=kb, mode=mode, as_json=as_json)


@app.command()
def mcp(
    *,
    files: Annotated[
        list[Path] | None,
        typer.Option("--files", help="A folder whose files may be uploaded by their path. May be repeated."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the Model Context Protocol on standard input and output, for Claude Desktop, Cursor and others."""
    from analytiq.cli.mcp import run_mcp
    from analytiq.settings import read_settings

    with errors_as_sentences():
        run_mcp(read_settings(), data_dir, files or [])


@app.command()
def status(data_dir: DataDir = None) -> None:
    """Show what runs, what it holds, and what it still has to do."""
    from analytiq.cli.status import print_status
    from analytiq.settings import read_settings

    with errors_as_sentences():
        print_status(read_settings(), data_dir)


@app.command()
def doctor(data_dir: DataDir = None) -> None:
    """Look for what is wrong on this machine, and say what mends it. Exit code 1 if anything is."""
    from analytiq.cli.doctor import run_doctor
    from analytiq.settings import read_settings

    with errors_as_sentences():
        is_well = run_doctor(read_settings(), data_dir)
    raise typer.Exit(0 if is_well else 1)


@app.command("rotate-secret-key")
def rotate_secret_key(data_dir: DataDir = None) -> None:
    """Encrypt everything that is kept encrypted anew, under a fresh key or under the one in ANALYTIQ_SECRET_KEY."""
    from analytiq.cli.secret_keys import rotate
    from analytiq.settings import read_settings

    with errors_as_sentences():
        is_complete = rotate(read_settings(), data_dir)
    raise typer.Exit(0 if is_complete else 1)


@app.command("secret-key")
def secret_key() -> None:
    """Print a fresh ANALYTIQ_SECRET_KEY, for installations whose processes you start yourself."""
    from analytiq.inference.credentials.encryption import new_secret_key

    typer.echo(new_secret_key())


Moment = Annotated[datetime | None, typer.Option(help="In UTC: 2026-01-31, or 2026-01-31T12:00:00.")]


@app.command()
def usage(
    *,
    since: Moment = None,
    until: Moment = None,
    by_day: Annotated[bool, typer.Option("--by-day", help="Tell the days (UTC) apart.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show the SPUs that the organization was charged, and those that the cache saved."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.usage import print_usage
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        print_usage(client, since=since, until=until, by_day=by_day)


@app.command()
def forecast(
    *,
    tag: Annotated[list[str], typer.Option(help="It would gather documents with any of these.")],
    model: Annotated[str | None, typer.Option(help="Embedding model; the organization's default, if left out.")] = None,
    chunker: Annotated[str, typer.Option(help="How texts are cut.")] = "recursive",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[
        int | None, typer.Option(min=0, max=4096, help="Tokens; 128 or a quarter of the chunk, if left out.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show what a knowledge base would cost, before it is made."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.forecast import print_forecast
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        print_forecast(client, tag, chunker=chunker, chunk_size=chunk_size, chunk_overlap=chunk_overlap, model=model)


def run() -> None:
    """The console script."""
    make_output_printable()
    silence_logs()
    try:
        app()
    except KeyboardInterrupt:
        note("Stopped.")
        sys.exit(INTERRUPTED)
