"""The commands of `analytiq`. Each imports what it needs when it runs, so that `--help` answers at once."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences

app = typer.Typer(
    name="analytiq",
    help="Documents with tags, knowledge bases that find passages in them, on MongoDB.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Where everything is kept; ANALYTIQ_DATA_DIR, else ~/.local/share/analytiq."),
]


@app.command()
def up(
    data_dir: DataDir = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; the loopback unless told otherwise.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = None,
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


@app.command("secret-key")
def secret_key() -> None:
    """Print a fresh ANALYTIQ_SECRET_KEY, for installations whose processes you start yourself."""
    from analytiq.credentials.encryption import new_secret_key

    typer.echo(new_secret_key())


def run() -> None:
    """The console script."""
    app()
