"""`analytiq demo`: the platform, sample documents, and three questions with known answers."""

import asyncio
import importlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences, output
from analytiq.cli.options import Host, Port
from analytiq.cli.up import announce, run_platform, serve_until_given_up
from analytiq.errors import ConflictError
from analytiq.settings import Settings, read_settings
from analytiq.standalone.addresses import available_port, serves_pages
from analytiq.standalone.machine import plan_capacity, read_machine
from analytiq.standalone.platform import Platform, PlatformOptions

app = typer.Typer()

_DEMONSTRATION = "analytiq.cli.demonstration"


@app.command()
def demo(
    *,
    data_dir: Annotated[Path, typer.Option("--data-dir", help="Directory of the demo's data.")] = Path(
        ".analytiq/demo"
    ),
    host: Host = None,
    port: Port = None,
    stops_by_itself: Annotated[
        bool, typer.Option("--exit", envvar="DEMO_EXIT", help="Stop after the questions.")
    ] = False,
    pages_follow: Annotated[
        bool, typer.Option("--pages-follow", hidden=True, help="Build the management UI meanwhile.")
    ] = False,
) -> None:
    """Run everything with sample documents, ask three questions, and keep serving."""
    with errors_as_sentences():
        manner = DemoOptions(stops_by_itself=stops_by_itself, pages_follow=pages_follow)
        is_right = run_demo(read_settings(), data_dir, manner, host=host, port=port)
    raise typer.Exit(0 if is_right else 1)


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """Options of the demonstration: its end, and whether the management UI is still being built."""

    stops_by_itself: bool = False
    pages_follow: bool = False


def run_demo(settings: Settings, data_dir: Path, manner: DemoOptions, *, host: str | None, port: int | None) -> bool:
    """Start everything, ingest the samples, ask, and keep serving.

    Args:
        settings: read from the environment.
        data_dir: directory of the demonstration's data, which a second run reuses.
        manner: whether to end after the questions or serve until Ctrl-C, and whether the UI is being built.
        host: address of the API.
        port: its port; None takes the usual one or, if taken, a free one.

    Returns:
        True if all answers are right.

    Raises:
        AnalytiqError: the platform cannot start, or a sample cannot be ingested.
    """
    began = time.monotonic()
    listening = host or settings.api.host
    options = PlatformOptions(
        data_dir=data_dir,
        host=listening,
        port=_usual_or_free(listening, settings.api.port) if port is None else port,
        capacity=plan_capacity(read_machine(), settings, workers=1),
        keeps_logs=True,
    )
    is_right = False

    async def serve(platform: Platform, stopping: asyncio.Event) -> None:
        nonlocal is_right
        output.print("Starting the database, the API, a worker and the reconciler …")
        # The client takes a moment to import, in which the database starts.
        importing = asyncio.create_task(asyncio.to_thread(importlib.import_module, _DEMONSTRATION))
        ready = await platform.start()
        has_pages = await asyncio.to_thread(serves_pages, ready.connection.url)
        announce(ready, has_pages=has_pages or manner.pages_follow)
        demonstration = (await importing).Demonstration(ready.connection, began)
        try:
            is_right = await asyncio.to_thread(demonstration.run)
        finally:
            demonstration.give_up()
        if not manner.stops_by_itself:
            demonstration.say_how_to_go_on(data_dir)
            await serve_until_given_up(platform, ready)

    asyncio.run(run_platform(settings, options, serve))
    return is_right


def _usual_or_free(host: str, port: int) -> int:
    try:
        return available_port(host, port)
    except ConflictError:
        return 0
