"""`analytiq cache …`: the sharing and the size of the embedding cache."""

from pathlib import Path
from typing import Annotated

import typer

from analytiq.cli.connection import api_client
from analytiq.cli.console import errors_as_sentences, note, print_rows
from analytiq.cli.options import DataDir
from analytiq.client import Client
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.models.organization import CacheScope
from analytiq.settings import Settings, read_settings
from analytiq.standalone.local_database import on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.embedding_cache import CacheSize, EmbeddingCacheRepository

app = typer.Typer(help="Manage the embedding cache.", no_args_is_help=True)


@app.command("scope")
def cache_scope(
    scope: Annotated[
        CacheScope | None, typer.Argument(help="Share with all organizations, or none. Default: show the setting.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or change whether the organization shares embeddings with others."""
    with api_client(data_dir) as client:
        if scope is None:
            show_scope(client)
        else:
            set_scope(client, scope)


@app.command("size")
def cache_size(data_dir: DataDir = None) -> None:
    """Show the size of the cache of all organizations, directly from the database."""
    with errors_as_sentences():
        show_size(read_settings(), data_dir)


@app.command("evict")
def cache_evict(data_dir: DataDir = None) -> None:
    """Evict embeddings beyond the cache's bounds now, as the reconciler does at each pass."""
    with errors_as_sentences():
        evict(read_settings(), data_dir)


SAYS = {
    CacheScope.GLOBAL: "Embeddings are shared with all organizations that share theirs.",
    CacheScope.ORGANIZATION: "Embeddings are not shared.",
}


def show_scope(client: Client) -> None:
    """Print whether the organization shares embeddings."""
    note(SAYS[CacheScope(client.organization().cache_scope)])


def set_scope(client: Client, scope: CacheScope) -> None:
    """Share embeddings, or keep them private, from now on."""
    note(SAYS[CacheScope(client.set_cache_scope(scope.value).cache_scope)])


def show_size(settings: Settings, data_dir: Path | None) -> None:
    """Print the size of the cache of all organizations, and its bounds."""

    async def read(connection: MongoConnection) -> CacheSize:
        return await EmbeddingCacheRepository(connection).size()

    _print(on_database(settings, data_dir, read), settings)


def evict(settings: Settings, data_dir: Path | None) -> None:
    """Evict embeddings now, as the reconciler does at each pass."""

    async def run(connection: MongoConnection) -> CacheSize:
        cache = EmbeddingCacheRepository(connection)
        report = await CacheEviction(connection, cache, settings.embedding).run()
        note(f"{report.unused_rows} unused and {report.surplus_rows} surplus embeddings removed.")
        return report.left

    _print(on_database(settings, data_dir, run), settings)


def _print(size: CacheSize, settings: Settings) -> None:
    bound, days = settings.embedding.cache_max_bytes, settings.embedding.cache_unused_days
    bounds = (str(bound) if bound else "none", f"{days} days" if days else "for ever")
    print_rows(("embeddings", "bytes", "at most", "kept unused"), [(str(size.rows), str(size.bytes), *bounds)])
