"""`analytiq up`: the platform in the foreground, until Ctrl-C or SIGTERM."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape

from analytiq.cli.console import errors_as_sentences, messages, note, output
from analytiq.cli.options import DataDir, Host, Port
from analytiq.cli.state_line import show_state
from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.rights.kernel import forbid_memory_reads
from analytiq.settings import Settings, read_settings
from analytiq.standalone.addresses import serves_pages
from analytiq.standalone.data_directory import keep_files_private
from analytiq.standalone.machine import plan_capacity, read_machine
from analytiq.standalone.platform import Platform, PlatformOptions, Ready
from analytiq.telemetry import logs

app = typer.Typer()


@app.command()
def up(
    *,
    data_dir: DataDir = None,
    host: Host = None,
    port: Port = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Number of worker processes. Default: as many as fit the machine.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print the processes' logs here, instead of writing files.")
    ] = False,
) -> None:
    """Run everything: database, API, workers and reconciler, until Ctrl-C."""
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


Result = TypeVar("Result")

CANCEL_AGAIN_SECONDS = 0.5

Serve = Callable[[Platform, asyncio.Event], Awaitable[Result]]
"""The work with a running platform, until the event is set, as by a signal."""


def run_up(settings: Settings, options: PlatformOptions) -> None:
    """Start everything, print its address, and serve until told to stop.

    Raises:
        AnalytiqError: it cannot start, or the database ended for good.
    """
    asyncio.run(run_platform(settings, options, _serve))


async def run_platform(settings: Settings, options: PlatformOptions, serve: Serve[Result]) -> Result | None:
    """Work with a platform, and stop it in order whatever happens; return None if a signal came first."""
    if not settings.debuggable:
        forbid_memory_reads()  # it creates and holds the passwords of all other processes
    keep_files_private()
    logs.configure(as_json=settings.log_json, level="ERROR" if options.keeps_logs else settings.log_level, process="up")
    stopping = asyncio.Event()
    async with Platform(settings, options, report=note) as platform:
        _stop_on_signals(platform, stopping)
        serving = asyncio.ensure_future(serve(platform, stopping))
        signalled = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait((serving, signalled), return_when=asyncio.FIRST_COMPLETED)
            return serving.result() if serving.done() else None
        finally:
            await _end(signalled)
            await _end(serving)
            if stopping.is_set():
                note("Stopping; press Ctrl-C again to end unfinished jobs at once.")


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancel a task until it has ended.

    A single request is not enough: a database call that completes in the same turn of the event loop swallows it.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait((task,), timeout=CANCEL_AGAIN_SECONDS)
    if not task.cancelled():
        task.exception()  # its error was raised, or no longer matters


async def _serve(platform: Platform, _: asyncio.Event) -> None:
    ready = await platform.start()
    has_pages = await asyncio.to_thread(serves_pages, ready.connection.url)
    announce(ready, has_pages=has_pages)
    await asyncio.to_thread(announce_models, ready)
    await serve_until_given_up(platform, ready)


async def serve_until_given_up(platform: Platform, ready: Ready) -> None:
    """Show the state line until the platform ends.

    Raises:
        AnalytiqError: the database ended for good.
    """
    showing = asyncio.create_task(show_state(ready.connection))
    try:
        await platform.wait_given_up()
    finally:
        await _end(showing)


def announce(ready: Ready, *, has_pages: bool) -> None:
    """Print the address, the place of the logs and, for a new organization, its credentials.

    Args:
        ready: the started platform.
        has_pages: True if the API serves the management UI; else a sign-in link would lead nowhere.
    """
    connection, access = ready.connection, ready.access
    if access.is_new_token:
        output.print(f"Organization:  {escape(access.organization_name)} ({access.organization_id})")
        if output.is_terminal:
            output.print(f"Access token:  {access.token.get_secret_value()}")
            output.print("               (new, shown only now; connection.json in the data directory keeps it)")
        else:  # a log, which others may read and which is kept
            output.print("Access token:  new; connection.json in the data directory keeps it")
    if not has_pages:
        output.print("Pages:         none: this installation has no management UI. In a checkout, `make ui` builds it.")
    elif access.owner_invitation is not None:
        if output.is_terminal:
            output.print(f"Sign in:       {connection.url}/invite/#{access.owner_invitation.get_secret_value()}")
            output.print(
                "               (the first person to follow it is the owner; `analytiq user invite` creates another)"
            )
        else:
            output.print("Sign in:       `analytiq user invite` creates the link of the first owner")
    if ready.logs is not None:
        output.print(f"Logs:          {escape(str(ready.logs))}")
    output.print(f"Analytiq is ready: [bold]{connection.url}[/]   (Ctrl-C stops it)")


def announce_models(ready: Ready) -> None:
    """Print the default models and the recipients of their texts."""
    # Imported once the platform is up: the client takes a moment.
    from analytiq.client import Client

    connection = ready.connection
    with (
        contextlib.suppress(AnalytiqError),
        Client(connection.url, connection.organization_id, connection.token.get_secret_value()) as client,
    ):
        models = client.default_models()
        output.print(f"Embedding:     {escape(models.embedding.sentence)}")
        chat = models.chat.sentence if models.chat is not None else "no model is configured."
        output.print(f"Chat:          {escape(chat)}")


def _stop_on_signals(platform: Platform, stopping: asyncio.Event) -> None:
    def on_signal() -> None:
        if stopping.is_set():
            messages.print("Stopping at once.")
            platform.kill_processes()
        stopping.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal)
