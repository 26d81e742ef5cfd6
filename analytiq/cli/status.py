"""`analytiq status`."""

from pathlib import Path

import typer

from analytiq.cli import knowledge_bases
from analytiq.cli.connection import find_connection
from analytiq.cli.console import errors_as_sentences, output
from analytiq.cli.options import DataDir
from analytiq.client import Client
from analytiq.errors import AnalytiqError
from analytiq.settings import Settings, read_settings
from analytiq.standalone.process_table import holder_of, processes_of

app = typer.Typer()


@app.command()
def status(data_dir: DataDir = None) -> None:
    """Show the running processes, the stored data, and the remaining work."""
    with errors_as_sentences():
        print_status(read_settings(), data_dir)


DOCUMENT_STATES = ("uploaded", "extracting", "extracted", "failed")
JOB_STATES = {"available": "waiting", "running": "running", "dead": "given up"}
MEBIBYTE = 1024 * 1024


def print_status(settings: Settings, data_dir: Path | None) -> None:
    """Print the running processes, the stored data, and the remaining work.

    Raises:
        UnreachableError: no API answers.
        ProblemError: the token is refused.
    """
    connection = find_connection(settings, data_dir)
    with Client(connection.url, connection.organization_id, connection.token.get_secret_value()) as client:
        organization = client.organization()
        health = "ready" if client.is_ready() else "[red]its database does not answer[/]"
        output.print(f"API            {client.url}, {health}")
        output.print(f"Organization   {organization.name} ({organization.organization_id})")
        _print_processes(data_dir or settings.data_dir, connection.url)
        _print_documents(client)
        _print_jobs(settings, data_dir, organization.organization_id)
        output.print(f"SPUs           {_spus(client)}")
        output.print()
        knowledge_bases.print_table(client)


def _print_processes(data_dir: Path, url: str) -> None:
    """Print the processes on this machine, if the data directory's platform has answered."""
    holder = holder_of(data_dir)
    if holder is None or holder.url != url:
        return
    processes = processes_of(holder.pid)
    for process in processes:
        output.print(f"  {process.name:<22} {process.memory_bytes // MEBIBYTE:>5} MB   process {process.pid}")
    output.print(f"  {'together':<22} {sum(process.memory_bytes for process in processes) // MEBIBYTE:>5} MB")


def _print_documents(client: Client) -> None:
    counts = {state: client.documents_page(states=[state], limit=1).total_count for state in DOCUMENT_STATES}
    named = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    output.print(f"Documents      {sum(counts.values())}{f': {named}' if named else ''}")


def _print_jobs(settings: Settings, data_dir: Path | None, organization_id: str) -> None:
    """Print the jobs, unless the database is unreachable from here: the API does not count them."""
    # Imported here: the database's driver would delay every other line.
    from analytiq.standalone.local_database import address_of_database, count_jobs

    try:
        uri = address_of_database(settings, data_dir)
        counts = count_jobs(uri, settings.mongo.database, organization_id)
    except AnalytiqError:
        return
    parts: list[str] = []
    for state, name in JOB_STATES.items():
        kinds = {kind: count for (kind, its_state), count in counts.items() if its_state == state}
        details = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        parts.append(f"{sum(kinds.values())} {name}{f' ({details})' if details else ''}")
    output.print(f"Jobs           {', '.join(parts)}")


def _spus(client: Client) -> str:
    usage = client.usage()
    by_operation = ", ".join(f"{count} {operation}" for operation, count in sorted(usage.by_operation.items()))
    return f"{usage.total_spus}{f': {by_operation}' if by_operation else ''}"
