"""`analytiq workers …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir

app = typer.Typer(help="Worker processes, directly in the database.", no_args_is_help=True)


@app.command("list")
def workers_list(data_dir: DataDir = None) -> None:
    """List worker processes, and how many jobs each runs."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.print_table(read_settings(), data_dir)


@app.command("set")
def workers_set(
    concurrency: Annotated[int, typer.Argument(min=1, max=256, help="Jobs at once, in each worker.")],
    data_dir: DataDir = None,
) -> None:
    """Let each worker run so many jobs at once, from now on and after restarts."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.set_concurrency(read_settings(), data_dir, concurrency)


@app.command("reset")
def workers_reset(data_dir: DataDir = None) -> None:
    """Let each worker run as many jobs at once as its own settings say."""
    from analytiq.cli import workers
    from analytiq.settings import read_settings

    with errors_as_sentences():
        workers.set_concurrency(read_settings(), data_dir, None)
