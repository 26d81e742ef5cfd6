"""The commands of `analytiq`. Each imports what it needs when it runs, so that `--help` answers at once."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli import backup_commands, erase_commands
from analytiq.cli.console import errors_as_sentences, note
from analytiq.cli.options import DataDir
from analytiq.models.job import JobKind, JobState
from analytiq.models.upload import DuplicatePolicy

app = typer.Typer(
    name="analytiq",
    help="Documents with tags, knowledge bases that find passages in them, on MongoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

token_app = typer.Typer(help="Access tokens.", no_args_is_help=True)
kb_app = typer.Typer(help="Knowledge bases.", no_args_is_help=True)
jobs_app = typer.Typer(help="What waits, runs, or was given up.", no_args_is_help=True)
workers_app = typer.Typer(help="Worker processes, directly in the database.", no_args_is_help=True)
providers_app = typer.Typer(help="Providers of models, and the keys for them.", no_args_is_help=True)
app.add_typer(token_app, name="token")
app.add_typer(providers_app, name="providers")
app.add_typer(kb_app, name="kb")
app.add_typer(jobs_app, name="jobs")
app.add_typer(workers_app, name="workers")
quota_app = typer.Typer(help="How many SPUs an organization may use, directly in the database.", no_args_is_help=True)
app.add_typer(quota_app, name="quota")
app.add_typer(erase_commands.app, name="erase")
app.command()(backup_commands.backup)
app.command()(backup_commands.restore)

Host = Annotated[str | None, typer.Option(help="Address to listen on; the loopback unless told otherwise.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]


class SearchMode(StrEnum):
    """By what passages are found."""

    HYBRID = "hybrid"
    VECTOR = "vector"
    LEXICAL = "lexical"


JobId = Annotated[str, typer.Argument(metavar="JOB", help="As `jobs list` shows it.")]
ProviderName = Annotated[str, typer.Argument(metavar="PROVIDER", help="As LiteLLM names it: openai, cohere, …")]
OfKind = Annotated[JobKind | None, typer.Option("--kind", help="Only of this kind.")]
OfKnowledgeBase = Annotated[str | None, typer.Option("--kb", help="Only of this knowledge base: its name or id.")]
OfDocument = Annotated[str | None, typer.Option("--document", help="Only of this document: its id.")]
OfError = Annotated[str | None, typer.Option("--error", help="Only those whose last error has this code.")]


@app.command()
def up(
    *,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Worker processes.")] = 1,
) -> None:
    """Run everything: database, API, workers and reconciler, until Ctrl-C."""
    from analytiq.cli.platform import PlatformOptions
    from analytiq.cli.up import run_up
    from analytiq.settings import read_settings

    with errors_as_sentences():
        settings = read_settings()
        options = PlatformOptions(
            data_dir=data_dir or settings.data_dir,
            host=host or settings.api.host,
            port=settings.api.port if port is None else port,
            workers=workers,
            keeps_logs=False,
        )
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
) -> None:
    """Run everything with sample documents, ask three questions, and go on serving."""
    from analytiq.cli.demo import run_demo
    from analytiq.settings import read_settings

    with errors_as_sentences():
        is_right = run_demo(read_settings(), data_dir, host=host, port=port, stops_by_itself=stops_by_itself)
    raise typer.Exit(0 if is_right else 1)


@app.command()
def ingest(
    *,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH…", help="Files and directories, without hidden ones.")],
    tag: Annotated[list[str] | None, typer.Option(help="For all files; made if missing. May be repeated.")] = None,
    kb: Annotated[str | None, typer.Option(help="Name of a knowledge base for these tags; made if missing.")] = None,
    on_duplicate: Annotated[DuplicatePolicy, typer.Option(help="Where the name is there already.")] = (
        DuplicatePolicy.RETURN
    ),
    wait: Annotated[bool, typer.Option(help="Wait until the documents can be found.")] = True,
    data_dir: DataDir = None,
) -> None:
    """Upload files, and wait until they can be found. Exit code 1 if any failed."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.cli.files import files_below
    from analytiq.cli.ingest import run_ingest
    from analytiq.settings import read_settings

    with errors_as_sentences():
        files = files_below(paths)
        with connect_to_api(read_settings(), data_dir) as client:
            tags = [client.ensure_tag(name) for name in dict.fromkeys(tag or [])]
            if kb is not None:
                _, is_new = knowledge_bases.ensure(client, kb, tags)
                note(f"Made the knowledge base {kb!r}." if is_new else f"Into the knowledge base {kb!r}.")
            is_well = run_ingest(client, files, tags, on_duplicate, waits=wait)
    raise typer.Exit(0 if is_well else 1)


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
def mcp(data_dir: DataDir = None) -> None:
    """Serve the Model Context Protocol on standard input and output, for Claude Desktop, Cursor and others."""
    from analytiq.cli.mcp import run_mcp
    from analytiq.settings import read_settings

    with errors_as_sentences():
        run_mcp(read_settings(), data_dir)


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
    from analytiq.credentials.encryption import new_secret_key

    typer.echo(new_secret_key())


@token_app.command("create")
def token_create(
    *,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    in_database: Annotated[
        bool, typer.Option("--database", help="Without a token: directly in MONGODB_URI's database, or that of `up`.")
    ] = False,
    organization: Annotated[str | None, typer.Option(help="Its id, with --database; the oldest, if left out.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make an access token, and show its secret this once."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if in_database:
            tokens.create_in_database(read_settings(), data_dir, name, organization)
        else:
            tokens.create(read_settings(), data_dir, name)


@token_app.command("list")
def token_list(data_dir: DataDir = None) -> None:
    """List access tokens, without their secrets."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        tokens.print_table(read_settings(), data_dir)


@token_app.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(help="As `token list` shows it.")], data_dir: DataDir = None
) -> None:
    """Close an access token for good."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        tokens.revoke(read_settings(), data_dir, token_id)


@kb_app.command("list")
def kb_list(data_dir: DataDir = None) -> None:
    """List knowledge bases."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        knowledge_bases.print_table(client)


@kb_app.command("create")
def kb_create(
    *,
    name: Annotated[str, typer.Argument()],
    tag: Annotated[list[str], typer.Option(help="It gathers documents with any of these; made if missing.")],
    model: Annotated[str | None, typer.Option(help="Embedding model; the organization's default, if left out.")] = None,
    chunker: Annotated[str, typer.Option(help="How texts are cut.")] = "recursive",
    chunk_size: Annotated[int, typer.Option(min=1, max=8192, help="Tokens.")] = 512,
    chunk_overlap: Annotated[int, typer.Option(min=0, max=4096, help="Tokens.")] = 128,
    data_dir: DataDir = None,
) -> None:
    """Make a knowledge base."""
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        created = client.create_knowledge_base(
            name,
            tag_ids=[client.ensure_tag(each).tag_id for each in dict.fromkeys(tag)],
            embedding_model=model,
            chunker_type=chunker,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
        )
        typer.echo(created.kb_id)


@kb_app.command("delete")
def kb_delete(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME-OR-ID")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a knowledge base; its documents stay."""
    from analytiq.cli import knowledge_bases
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        found = knowledge_bases.choose(client, name)
        if not yes:
            typer.confirm(f"Delete {found.name!r} with {found.document_count} documents indexed?", abort=True)
        client.delete_knowledge_base(found.kb_id)
        note(f"{found.name!r} is deleted; its documents are still there.")


@jobs_app.command("list")
def jobs_list(
    *,
    state: Annotated[list[JobState] | None, typer.Option(help="Any of these. May be repeated.")] = None,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many to show at most.")] = 20,
    data_dir: DataDir = None,
) -> None:
    """List jobs, latest change first. `--state dead` shows those that were given up."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        states = [item.value for item in state or []]
        kinds = [kind.value] if kind else []
        jobs.print_table(client, states=states, kinds=kinds, kb=kb, document_id=document, error_code=error, limit=limit)


@jobs_app.command("show")
def jobs_show(job: JobId, data_dir: DataDir = None) -> None:
    """Show a job: why its last attempt failed, where, and what became of those before."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        jobs.print_one(client, job)


@jobs_app.command("replay")
def jobs_replay(
    *,
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="As `jobs list` shows it.")] = None,
    is_all: Annotated[bool, typer.Option("--all", help="Every job that was given up.")] = False,
    kind: OfKind = None,
    kb: OfKnowledgeBase = None,
    document: OfDocument = None,
    error: OfError = None,
    data_dir: DataDir = None,
) -> None:
    """Run jobs again that were given up, as if they had never been tried."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        of_kind = kind.value if kind else None
        jobs.replay(client, job, is_all=is_all, kind=of_kind, kb=kb, document_id=document, error_code=error)


@jobs_app.command("cancel")
def jobs_cancel(job: JobId, data_dir: DataDir = None) -> None:
    """Stop a job that waits or runs; it can be replayed."""
    from analytiq.cli import jobs
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        jobs.cancel(client, job)


@providers_app.command("list")
def providers_list(data_dir: DataDir = None) -> None:
    """List the providers that there is a key for; no key is shown."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.print_table(client)


@providers_app.command("put")
def providers_put(
    provider: ProviderName,
    api_base: Annotated[
        str | None, typer.Option(help="Address of a server of your own that speaks OpenAI's protocol, or of Azure's.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Store a key of the organization's own, typed when asked or piped in."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.put(client, provider, api_base)


@providers_app.command("delete")
def providers_delete(provider: ProviderName, data_dir: DataDir = None) -> None:
    """Forget the organization's own key."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        providers.delete(client, provider)


@providers_app.command("test")
def providers_test(
    provider: ProviderName,
    model: Annotated[str | None, typer.Option(help="An embedding model of the provider; its usual one.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Make one call with the key, and say what happened. Exit code 1 where it does not work."""
    from analytiq.cli import providers
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        is_working = providers.test(client, provider, model)
    raise typer.Exit(0 if is_working else 1)


@workers_app.command("list")
def workers_list(data_dir: DataDir = None) -> None:
    """List worker processes, and how many jobs each runs."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.print_table(read_settings(), data_dir)


@workers_app.command("set")
def workers_set(
    concurrency: Annotated[int, typer.Argument(min=1, max=256, help="Jobs at once, in each worker.")],
    data_dir: DataDir = None,
) -> None:
    """Let each worker run so many jobs at once, from now on and after restarts."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.set_concurrency(read_settings(), data_dir, concurrency)


@workers_app.command("reset")
def workers_reset(data_dir: DataDir = None) -> None:
    """Let each worker run as many jobs at once as its own settings say."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.set_concurrency(read_settings(), data_dir, None)


OfOrganization = Annotated[str | None, typer.Option("--organization", help="Its id; the oldest, if left out.")]
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


@quota_app.command("show")
def quota_show(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Show an organization's quota, and what of it is used."""
    from analytiq.cli.usage import show_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        show_quota(read_settings(), data_dir, organization)


@quota_app.command("set")
def quota_set(
    spus: Annotated[int, typer.Argument(min=0, help="In all, those used included.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Let an organization use so many SPUs in all; what waits for them goes on within seconds."""
    from analytiq.cli.usage import set_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, spus)


@quota_app.command("add")
def quota_add(
    spus: Annotated[int, typer.Argument(min=1, help="More than until now.")],
    organization: OfOrganization = None,
    data_dir: DataDir = None,
) -> None:
    """Raise an organization's quota; what waits for SPUs goes on within seconds."""
    from analytiq.cli.usage import top_up
    from analytiq.settings import read_settings

    with errors_as_sentences():
        top_up(read_settings(), data_dir, organization, spus)


@quota_app.command("lift")
def quota_lift(organization: OfOrganization = None, data_dir: DataDir = None) -> None:
    """Let an organization use as many SPUs as it wants."""
    from analytiq.cli.usage import set_quota
    from analytiq.settings import read_settings

    with errors_as_sentences():
        set_quota(read_settings(), data_dir, organization, None)


def run() -> None:
    """The console script."""
    app()
