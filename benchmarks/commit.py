"""The swap: staging, commit and sweep by number of chunks, beside one transaction that deletes and inserts.

    python -m benchmarks.commit [--short] [--chunks 100 1000 …] [--dimensions 384 1536] [--repeats N]

One transaction is the obvious alternative (docs/decisions/0003). It is measured with the same BinData vectors, and with
arrays of doubles; if it fails, the table names the error.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from bson.binary import Binary
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import OperationFailure, PyMongoError

from analytiq.models.vector import VectorRow
from analytiq.storage.repositories.vectors import VECTOR_INDEXES, to_bindata
from benchmarks import report
from benchmarks.hash_embedder import MODEL, HashEmbedder, every_model_is
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.swapping import Swapping, random_vectors, rows_of

ERROR_NAMES = {112: "WriteConflict", 251: "NoSuchTransaction", 388: "TransactionTooLargeForCache"}
"""Names of errors that bulk writes report as numbers."""

Encode = Callable[[VectorRow], Binary | list[float]]


@dataclass(slots=True)
class Milliseconds:
    """One list entry for each repetition."""

    stage: list[float] = field(default_factory=list[float])
    commit: list[float] = field(default_factory=list[float])
    sweep: list[float] = field(default_factory=list[float])


async def _timed(work: Awaitable[Any], into: list[float]) -> Any:
    begin = perf_counter()
    result = await work
    into.append((perf_counter() - begin) * 1000)
    return result


async def measure_swap(target: Platform, chunks: int, dimensions: int, repeats: int) -> Milliseconds:
    """Measure `repeats` replacements of a document's vectors."""
    knowledge_base = await target.create_knowledge_base(model=MODEL)
    swapping = Swapping(target, knowledge_base)
    document = await swapping.create_document(f"document of {chunks} chunks", {})
    rows = rows_of(random_vectors(chunks, dimensions, seed=1))
    spent = Milliseconds()
    for repetition in range(repeats + 1):
        running = await swapping.claim_sync(document)
        measured = spent if repetition else Milliseconds()  # the first has nothing to replace
        generation = await _timed(swapping.stage(running, document, rows), measured.stage)
        await _timed(swapping.commit(running, document, generation), measured.commit)
        if repetition:
            await _timed(swapping.sweep(), measured.sweep)
    await target.services.connection.database.drop_collection(f"kb_vectors_{knowledge_base.id}")
    return spent


async def measure_one_transaction(target: Platform, chunks: int, dimensions: int, repeats: int, encode: Encode) -> str:
    """Delete and insert within one transaction; return the median in milliseconds, or the error's name."""
    connection = target.services.connection
    collection = connection.database["one_transaction"]
    await collection.create_indexes(VECTOR_INDEXES)
    rows = rows_of(random_vectors(chunks, dimensions, seed=2))
    documents = [
        {
            "organization_id": target.organization.id,
            "document_id": "document",
            "generation_id": "generation",
            "chunk_index": row.chunk_index,
            "chunk_hash": row.chunk_hash,
            "chunk_text": row.chunk_text,
            "embedding": encode(row),
        }
        for row in rows
    ]

    async def replace(session: AsyncClientSession) -> None:
        async with await session.start_transaction():
            await collection.delete_many({"document_id": "document"}, session=session)
            for document in documents:
                document.pop("_id", None)
            await collection.insert_many(documents, session=session)

    spent: list[float] = []
    try:
        async with connection.client.start_session() as session:
            for repetition in range(repeats + 1):
                await _timed(replace(session), spent if repetition else [])
    except PyMongoError as error:
        return f"fails: {_name_of(error)}"
    finally:
        await collection.drop()
    return f"{report.median(spent):.0f}"


def _name_of(error: PyMongoError) -> str:
    """Return the server's name of the error; for a bulk write, of its first error."""
    details: dict[str, Any] = dict((error.details or {}) if isinstance(error, OperationFailure) else {})
    first: dict[str, Any] = (details.get("writeErrors") or [details])[0]
    name = first.get("codeName") or ERROR_NAMES.get(first.get("code", 0))
    return str(name or f"{type(error).__name__} {first.get('code', '')}").strip()


async def measure_row(server: Server, chunks: int, dimensions: int, repeats: int) -> list[str]:
    """Measure a row of the table."""
    with every_model_is(HashEmbedder(dimensions)):
        async with platform(server, "commit") as target:
            swap = await measure_swap(target, chunks, dimensions, repeats)
            bindata = await measure_one_transaction(
                target, chunks, dimensions, repeats, lambda row: to_bindata(row.embedding)
            )
            arrays = await measure_one_transaction(
                target, chunks, dimensions, repeats, lambda row: row.embedding.astype(float).tolist()
            )
    return [
        str(dimensions),
        f"{chunks:,}",
        f"{report.median(swap.commit):.1f}",
        f"{report.median(swap.stage):.0f}",
        f"{report.median(swap.sweep):.0f}",
        bindata,
        arrays,
    ]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        async with platform(server, "version") as target:
            version = target.services.connection.server_version
        report.print_heading(f"The swap, milliseconds of wall time, n = {options.repeats}", mongod=version)
        rows = [
            await measure_row(server, chunks, dimensions, options.repeats)
            for dimensions in options.dimensions
            for chunks in options.chunks
        ]
        header = (
            "dimensions",
            "chunks",
            "commit",
            "stage",
            "sweep",
            "one transaction, BinData",
            "one transaction, arrays",
        )
        report.print_table(header, rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("The swap beside one transaction.", repeats=5)
    parser.add_argument("--chunks", type=int, nargs="+", default=[100, 1000, 4000, 20_000])
    parser.add_argument("--dimensions", type=int, nargs="+", default=[384, 1536])
    options = parser.parse_args(argv)
    if options.short:
        options.chunks, options.dimensions, options.repeats = [100, 1000], [384], 3
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
