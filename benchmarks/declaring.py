"""Declaration of a metadata type over existing documents.

    python -m benchmarks.declaring [--short] [--documents 1000 20000]

Each document has a number, and a date in another notation. `number` declares a field whose values all fit unchanged:
they are read. `date` declares one whose values are all rewritten. `again` declares both once more.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from typing import Any

from bson import ObjectId

from analytiq.models.metadata_field import FieldType, MisfitPolicy
from benchmarks import report
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.swapping import Swapping

INSERT_SIZE = 2000

Row = dict[str, Any]


async def build(target: Platform, documents: int) -> None:
    """Insert rows of `docs` alone."""
    base = await target.create_knowledge_base(model="local/all-minilm-l6-v2")
    await Swapping(target, base).create_document("document", {"year": 2024, "due": "2024-01-31"})
    collection = target.services.connection.database["docs"]
    template: Row = await collection.find_one({}) or {}
    for first in range(1, documents, INSERT_SIZE):
        ids = [str(number) for number in range(first, min(first + INSERT_SIZE, documents))]
        await collection.insert_many(
            [{**template, "_id": ObjectId(), "identity": name, "document_name": name} for name in ids], ordered=False
        )


async def declare(target: Platform, types: dict[str, FieldType]) -> tuple[float, int]:
    """Declare a field; return the seconds and the number of rewritten documents."""
    begin = time.perf_counter()
    done = await target.services.ingestion.metadata_fields.declare(
        target.organization.id, types, on_misfit=MisfitPolicy.REFUSE
    )
    return time.perf_counter() - begin, done.documents_rewritten


async def measure_size(server: Server, documents: int) -> list[str]:
    """Measure a row of the table."""
    async with platform(server, f"declaring_{documents}") as target:
        await build(target, documents)
        both = {"year": FieldType.NUMBER, "due": FieldType.DATE}
        number, _ = await declare(target, {"year": FieldType.NUMBER})
        date, rewritten = await declare(target, both)
        again, _ = await declare(target, both)
    if rewritten != documents:
        raise SystemExit(f"{rewritten} of {documents} documents were rewritten; what was measured is worth nothing")
    return [f"{documents:,}", f"{number:.2f}", f"{date:.2f}", f"{again:.2f}"]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        report.print_heading("Declaring fields, seconds")
        rows = [await measure_size(server, documents) for documents in options.documents]
    report.print_table(["documents", "number", "date", "again"], rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Declaring types of metadata.", repeats=1)
    parser.add_argument("--documents", type=int, nargs="+", default=[1000, 20_000])
    options = parser.parse_args(argv)
    if options.short:
        options.documents = [500]
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
