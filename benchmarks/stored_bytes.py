"""Bytes that a chunk takes in MongoDB, by collection.

    python -m benchmarks.stored_bytes [--documents 1000] [--dimensions 384 1536]

Abstracts pass the whole way from upload to searchable, in chunks of 256 tokens. The sizes are those of `collStats`:
compressed rows with their indexes, and free space of the file. Vectors of the hash embedder hardly compress.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from analytiq.models.upload import DuplicatePolicy
from benchmarks import report
from benchmarks.corpus import write_corpus
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.ingest import upload
from benchmarks.platform_under_test import Server, platform, running_server, working

GROUPS = ("vectors", "embedding_cache", "texts", "files", "others")


def group_of(collection: str) -> str:
    """Return the column that counts a collection."""
    if collection.startswith("kb_vectors_"):
        return "vectors"
    if collection.startswith("document_text"):
        return "texts"
    if collection.startswith("fs."):
        return "files"
    return collection if collection == "embedding_cache" else "others"


async def measure_dimensions(server: Server, documents: int, dimensions: int) -> list[str]:
    """Measure a row of the table."""
    with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
        files = write_corpus(Path(directory), documents, None)
        with every_model_is(HashEmbedder(dimensions)):
            async with platform(server, f"stored_{dimensions}", is_limited=False) as target:
                knowledge_base = await target.create_knowledge_base(model=MODEL)
                async with working(target.services):
                    await upload(target, files, DuplicatePolicy.RETURN)
                    await target.until_idle()
                database = target.services.connection.database
                chunks = await database[f"kb_vectors_{knowledge_base.id}"].count_documents({})
                stored: dict[str, int] = dict.fromkeys(GROUPS, 0)
                for name in await database.list_collection_names():
                    statistics = await database.command("collStats", name)
                    stored[group_of(name)] += int(statistics["storageSize"]) + int(statistics["totalIndexSize"])
    by_chunk = [f"{size / chunks:,.0f}" for size in stored.values()]
    return [f"{dimensions:,}", f"{chunks:,}", *by_chunk, f"{sum(stored.values()) / chunks:,.0f}"]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        report.print_heading("Bytes a chunk in MongoDB")
        rows = [await measure_dimensions(server, options.documents, each) for each in options.dimensions]
    report.print_table(["dimensions", "chunks", *GROUPS, "all"], rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[384, 1536])
    asyncio.run(run(parser.parse_args(argv)))


if __name__ == "__main__":
    main()
