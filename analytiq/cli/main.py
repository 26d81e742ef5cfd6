"""The command line. Each module below holds the commands of one noun and is imported when one of them runs."""

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from analytiq.cli.console import INTERRUPTED, fail, make_output_printable, note, silence_logs
from analytiq.cli.lazy_group import LazyGroup
from analytiq.errors import AnalytiqError


class Commands(LazyGroup):
    """All commands; a test compares the summaries with those of the commands themselves."""

    command_modules: Mapping[str, tuple[str, str]] = {
        "ingest": (
            "analytiq.cli.ingest",
            "Upload files, and wait until they are searchable. Exit code 1 if any failed.",
        ),
        "backup": (
            "analytiq.cli.backup",
            "Write an archive of an organization, or of everything, while the system runs; or verify one.",
        ),
        "restore": (
            "analytiq.cli.backup",
            "Restore an archive while the system runs. The archive is verified before anything is changed.",
        ),
        "reconcile": (
            "analytiq.cli.reconcile",
            "Check consistency now and repair the findings. Exit code 1 if the run failed.",
        ),
        "reports": ("analytiq.cli.reconcile", "List the latest runs, and passes with findings; or show one."),
        "up": ("analytiq.cli.up", "Run everything: database, API, workers and reconciler, until Ctrl-C."),
        "demo": ("analytiq.cli.demo", "Run everything with sample documents, ask three questions, and keep serving."),
        "search": ("analytiq.cli.search", "Find passages, with file, page and relevance."),
        "chat": ("analytiq.cli.chat", "Ask questions that a chat model answers from the documents, with citations."),
        "explain": ("analytiq.cli.search", "Explain why a search finds a document, or why not."),
        "mcp": (
            "analytiq.cli.mcp",
            "Serve the Model Context Protocol on standard input and output, for Claude Desktop, Cursor and others.",
        ),
        "status": ("analytiq.cli.status", "Show the running processes, the stored data, and the remaining work."),
        "doctor": (
            "analytiq.cli.doctor",
            "Check this machine for problems and print their remedies. Exit code 1 if there are any.",
        ),
        "rotate-secret-key": (
            "analytiq.cli.secret_keys",
            "Encrypt stored secrets again, under a fresh key or under the one in ANALYTIQ_SECRET_KEY.",
        ),
        "secret-key": (
            "analytiq.cli.secret_keys",
            "Print a fresh ANALYTIQ_SECRET_KEY, for installations whose processes you start yourself.",
        ),
        "usage": (
            "analytiq.cli.usage",
            "Show the SPUs charged to the organization, and those saved by the cache.",
        ),
        "chunk-preview": (
            "analytiq.cli.chunk_preview",
            "Show the chunks that settings would make of a document.",
        ),
        "extract": ("analytiq.cli.extract", "Extract a document's text again, a PDF's pages by OCR if you choose it."),
        "forecast": ("analytiq.cli.forecast", "Show what a knowledge base would cost before you create it."),
    }
    group_modules: Mapping[str, tuple[str, str]] = {
        "token": ("analytiq.cli.tokens", "Manage access tokens."),
        "providers": ("analytiq.cli.providers", "Manage model providers and their keys."),
        "kb": ("analytiq.cli.knowledge_bases", "Manage knowledge bases."),
        "prompt": ("analytiq.cli.prompts", "Manage prompts, their runs and results."),
        "source": ("analytiq.cli.sources", "Manage sources, whose items become documents and stay up to date."),
        "tables": ("analytiq.cli.tables", "List the tables of spreadsheets, and ask them in SQL."),
        "webhook": ("analytiq.cli.webhooks", "Manage webhooks: endpoints that receive events."),
        "documents": ("analytiq.cli.documents", "List and show documents, and open encrypted ones."),
        "jobs": ("analytiq.cli.jobs", "Show, replay and cancel jobs."),
        "workers": ("analytiq.cli.workers", "Manage worker processes, directly in the database."),
        "quota": ("analytiq.cli.quota", "Manage an organization's quota of SPUs, directly in the database."),
        "storage": (
            "analytiq.cli.storage",
            "Manage an organization's storage quota, directly in the database; for operators.",
        ),
        "settings": (
            "analytiq.cli.organization_settings",
            "Manage the organization's OCR languages, rate limits, vision model and skipped text.",
        ),
        "user": ("analytiq.cli.users", "Manage accounts of people, directly in the database."),
        "erase": ("analytiq.cli.erase", "Delete permanently, with a report. Works directly on the database."),
        "cache": ("analytiq.cli.cache", "Manage the embedding cache."),
        "fields": ("analytiq.cli.metadata_fields", "Manage the declared types of documents' metadata."),
    }


app = typer.Typer(
    name="analytiq",
    cls=Commands,
    help="Ingest, search and question documents on MongoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(is_asked: bool) -> None:  # noqa: FBT001  # the signature of typer's callbacks
    if is_asked:
        import importlib.metadata  # takes a tenth of the time of `--help`

        typer.echo(f"analytiq {importlib.metadata.version('analytiq')}")
        raise typer.Exit


@app.callback()
def prepare(
    *,
    is_version_asked: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Prepare every command."""
    del is_version_asked
    silence_logs()


def run() -> None:
    """Run the console script."""
    make_output_printable()
    try:
        app()
    except KeyboardInterrupt:
        note("Stopped.")
        sys.exit(INTERRUPTED)
    except AnalytiqError as error:
        # Raised before a command has opened its connection, such as for options that exclude each other.
        fail(error.detail)
        sys.exit(1)
