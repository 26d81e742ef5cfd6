"""`analytiq fields …`: the declared types of documents' metadata."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir

app = typer.Typer(help="Types of documents' metadata.", no_args_is_help=True)


@app.command("list")
def list_fields(data_dir: DataDir = None) -> None:
    """List the fields whose type is declared."""
    from analytiq.cli import metadata_fields
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        metadata_fields.print_table(client)


@app.command("declare")
def declare(
    *,
    field: Annotated[list[str], typer.Argument(metavar="NAME=TYPE", help="string, number, boolean or date.")],
    removes_misfits: Annotated[
        bool, typer.Option("--remove-misfits", help="Take values of another type out of the documents' metadata.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Declare fields beside those that are declared already, or with another type than before."""
    from analytiq.cli import metadata_fields
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        metadata_fields.declare(client, field, removes_misfits=removes_misfits)


@app.command("drop")
def drop(
    *, name: Annotated[list[str], typer.Argument(help="As `fields list` shows it.")], data_dir: DataDir = None
) -> None:
    """Declare fields no longer; the documents' values stay, and may be anything from now on."""
    from analytiq.cli import metadata_fields
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        metadata_fields.drop(client, name)
