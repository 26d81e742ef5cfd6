"""The line at the foot of a terminal that shows the platform's activity."""

import asyncio
import contextlib

from rich.live import Live
from rich.text import Text

from analytiq.cli.console import messages
from analytiq.client import Client
from analytiq.errors import AnalytiqError
from analytiq.standalone.data_directory import ConnectionFile

REFRESH_SECONDS = 5.0


async def show_state(connection: ConnectionFile) -> None:
    """Keep the line up to date until cancelled; do nothing without a terminal."""
    if not messages.is_terminal:
        await asyncio.Event().wait()
    token = connection.token.get_secret_value()
    with (
        Client(connection.url, connection.organization_id, token) as client,
        # Refreshed only with news: an animated line costs a terminal over a slow connection more than it tells.
        Live(console=messages, auto_refresh=False, transient=True) as line,
    ):
        while True:
            with contextlib.suppress(AnalytiqError):
                line.update(Text.from_markup(await asyncio.to_thread(_describe, client)), refresh=True)
            await asyncio.sleep(REFRESH_SECONDS)


def _describe(client: Client) -> str:
    documents = client.documents_page(limit=1).total_count
    jobs = client.job_counts()
    work = f"{jobs.running} jobs running, {jobs.waiting} waiting" if jobs.running or jobs.waiting else "no work waiting"
    failed = f", [red]{jobs.dead} failed (analytiq jobs)[/]" if jobs.dead else ""
    return f"{documents} {'document' if documents == 1 else 'documents'}, {work}{failed}"
