"""`analytiq cache …`: its commands and their options."""

from typing import Annotated

import typer

from analytiq.cli.console import errors_as_sentences
from analytiq.cli.options import DataDir
from analytiq.models.organization import CacheScope

app = typer.Typer(help="The cache of embeddings.", no_args_is_help=True)


@app.command("scope")
def cache_scope(
    scope: Annotated[
        CacheScope | None, typer.Argument(help="Shared with all, or with none; shown, if left out.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or change whom the organization shares embeddings with."""
    from analytiq.cli.cache import set_scope, show_scope
    from analytiq.cli.connection import connect_to_api
    from analytiq.settings import read_settings

    with errors_as_sentences(), connect_to_api(read_settings(), data_dir) as client:
        if scope is None:
            show_scope(client)
        else:
            set_scope(client, scope)


@app.command("size")
def cache_size(data_dir: DataDir = None) -> None:
    """Show how much is cached, of all organizations together, directly from the database."""
    from analytiq.cli.cache import show_size
    from analytiq.settings import read_settings

    with errors_as_sentences():
        show_size(read_settings(), data_dir)


@app.command("evict")
def cache_evict(data_dir: DataDir = None) -> None:
    """Remove now what is beyond the cache's bounds, as the reconciler does at each of its passes."""
    from analytiq.cli.cache import evict
    from analytiq.settings import read_settings

    with errors_as_sentences():
        evict(read_settings(), data_dir)
