"""`analytiq cache …`: whom embeddings are shared with, and how much is cached."""

from pathlib import Path

from analytiq.cli.console import note, print_rows
from analytiq.client import Client
from analytiq.inference.embedding.eviction import CacheEviction
from analytiq.models.organization import CacheScope
from analytiq.settings import Settings
from analytiq.standalone.local_database import address_of_database, run_on_database
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.embedding_cache import CacheSize, EmbeddingCacheRepository

SAYS = {
    CacheScope.GLOBAL: "Embeddings are shared with all organizations that share theirs.",
    CacheScope.ORGANIZATION: "Embeddings are shared with nobody.",
}


def show_scope(client: Client) -> None:
    """Say whom the organization shares embeddings with."""
    note(SAYS[CacheScope(client.organization().cache_scope)])


def set_scope(client: Client, scope: CacheScope) -> None:
    """Share embeddings, or keep them, from now on."""
    note(SAYS[CacheScope(client.set_cache_scope(scope.value).cache_scope)])


def show_size(settings: Settings, data_dir: Path | None) -> None:
    """Print how much is cached, of all organizations, and the bounds."""

    async def read(connection: MongoConnection) -> CacheSize:
        return await EmbeddingCacheRepository(connection).size()

    _print(run_on_database(address_of_database(settings, data_dir), settings.mongo.database, read), settings)


def evict(settings: Settings, data_dir: Path | None) -> None:
    """Do now what the reconciler does at each of its passes."""

    async def run(connection: MongoConnection) -> CacheSize:
        cache = EmbeddingCacheRepository(connection)
        report = await CacheEviction(connection, cache, settings.embedding).run()
        note(f"{report.unused_rows} unused and {report.surplus_rows} surplus embeddings are gone.")
        return report.left

    _print(run_on_database(address_of_database(settings, data_dir), settings.mongo.database, run), settings)


def _print(size: CacheSize, settings: Settings) -> None:
    bound, days = settings.embedding.cache_max_bytes, settings.embedding.cache_unused_days
    bounds = (str(bound) if bound else "none", f"{days} days" if days else "for ever")
    print_rows(("embeddings", "bytes", "at most", "kept unused"), [(str(size.rows), str(size.bytes), *bounds)])
