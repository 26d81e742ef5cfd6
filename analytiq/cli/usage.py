"""`analytiq usage`: SPUs charged to the organization and saved by the cache."""

from datetime import datetime
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import note, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import Client

app = typer.Typer()

Moment = Annotated[datetime | None, typer.Option(help="In UTC: 2026-01-31, or 2026-01-31T12:00:00.")]


@app.command()
def usage(
    *,
    since: Moment = None,
    until: Moment = None,
    by_day: Annotated[bool, typer.Option("--by-day", help="Show each day (UTC).")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show the SPUs charged to the organization, and those saved by the cache."""
    with api_client(data_dir) as client:
        print_usage(client, since=since, until=until, by_day=by_day)


def print_usage(client: Client, *, since: datetime | None, until: datetime | None, by_day: bool) -> None:
    """Print the charged SPUs, the cache's savings, and the quota."""
    usage = client.usage(since=since, until=until, by_day=by_day)
    names = {kb.kb_id: kb.name for kb in client.knowledge_bases()}
    headings = ("day", "knowledge base", "operation", "model", "SPUs", "saved", "unconfirmed")
    rows = [
        (
            item.day or "-",
            names.get(item.kb_id or "", item.kb_id or "-"),
            item.operation,
            item.embedding_model,
            *map(str, (item.spus, item.saved_spus, item.unconfirmed_spus)),
        )
        for item in usage.items
    ]
    total = tuple(map(str, (usage.total_spus, usage.total_saved_spus, usage.total_unconfirmed_spus)))
    print_rows(headings, [*rows, ("all", "", "", "", *total)])
    quota = client.quota()
    if quota.quota is None:
        note(f"{quota.used_spus} SPUs used in all. There is no quota.")
    else:
        note(f"{quota.used_spus} of {quota.quota} SPUs are used, {quota.reserved_spus} more reserved by current calls.")
