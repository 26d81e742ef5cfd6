"""`analytiq token …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir
from analytiq.models.account import TokenScope

app = typer.Typer(help="Access tokens.", no_args_is_help=True)


@app.command("create")
def token_create(
    *,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[TokenScope, typer.Option(help="What it may do; `admin`: everything.")] = TokenScope.ADMIN,
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
            tokens.create_in_database(read_settings(), data_dir, name, scope, organization)
        else:
            tokens.create(read_settings(), data_dir, name, scope)


@app.command("list")
def token_list(data_dir: DataDir = None) -> None:
    """List access tokens, without their secrets."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        tokens.print_table(read_settings(), data_dir)


@app.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(help="As `token list` shows it.")], data_dir: DataDir = None
) -> None:
    """Close an access token for good."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        tokens.revoke(read_settings(), data_dir, token_id)


@app.command("take-over")
def token_take_over(
    *,
    token_id: Annotated[str, typer.Argument(help="As `token list` shows it.")],
    in_database: Annotated[
        bool, typer.Option("--database", help="Without a token: directly in MONGODB_URI's database, or that of `up`.")
    ] = False,
    organization: Annotated[str | None, typer.Option(help="Its id, with --database; the oldest, if left out.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Become the maker of an access token, so that it no longer ends with whoever made it."""
    from analytiq.cli import tokens
    from analytiq.settings import read_settings

    with errors_as_sentences():
        if in_database:
            tokens.take_over_in_database(read_settings(), data_dir, token_id, organization)
        else:
            tokens.take_over(read_settings(), data_dir, token_id)
