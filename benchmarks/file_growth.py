"""Growth of each step from a file to its keyword index, with the size of the file.

    python -m benchmarks.file_growth [--short] [--files pdf,docx] [--sizes 0.1 1 5 20] [--seconds 200]

Made files of each format (`growing_files`), ordinary and costly ones, in steps: `parse` (the parser with its text and
blocks), `join` (the pages), `chunk` (the chunker `auto`, with tokens), `context` (of each chunk), `index` (keywords).
Cells are seconds of processor time in a process of its own for each file. `growth` is the factor of the time for each
doubling of the size between the two largest sizes: 2.0 in proportion to the size, 4.0 by its square.
"""

import argparse
import asyncio
import json
import math
import os
import resource
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

from analytiq.errors import AnalytiqError
from analytiq.ingestion.chunking.context import ChunkContexts
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.child import load_parser
from analytiq.ingestion.parsing.formats import detect_content_type
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.sanitize import sanitize_document
from analytiq.models.text import join_pages, unstructured
from analytiq.retrieval.backends.local.keywords.index import FORMAT, State, WordIndex
from analytiq.storage.repositories.index_contents import ChunkText
from benchmarks import report
from benchmarks.growing_files import SHAPES

STEPS = ("parse", "join", "chunk", "context", "index")
MEGABYTE = 1_000_000
MEMORY_BYTES = 3 * 1024**3
NOTABLE_SECONDS = 0.3
"""Shorter times are mostly noise, so their growth is not told."""
GROWTH_TOLD = 2.6
"""Growth from which a step is listed as one that grows faster than its input."""


@dataclass(slots=True)
class Measured:
    """The steps of one file: seconds, or the reason for the end."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    ended_by: str = ""
    mebibytes: int = 0


def measure(name: str, size: int, chunker: str) -> Measured:
    """Take all steps with one file in this process."""
    measured = Measured()
    with tempfile.TemporaryDirectory(prefix="analytiq-growth-") as directory:
        path = Path(directory) / name.replace(" ", "-")
        path.write_bytes(SHAPES[name](size))
        try:
            _take_steps(path, chunker, measured)
        except (AnalytiqError, RecursionError, MemoryError) as error:
            measured.ended_by = getattr(error, "code", type(error).__name__)
    measured.mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return measured


def _take_steps(path: Path, chunker: str, measured: Measured) -> None:
    begin = process_time()

    def end_step(step: str) -> None:
        nonlocal begin
        now = process_time()
        measured.seconds[step] = now - begin
        begin = now

    content_type = detect_content_type(path)
    parser = load_parser(default_registry().entry_for(content_type).reference)
    begin = process_time()
    parsed = sanitize_document(parser.parse(path, ParseOptions(), lambda done, total: None))
    end_step("parse")
    text = join_pages(parsed.pages, title=parsed.title)
    end_step("join")
    cut = create_chunker(chunker, chunk_size=512, chunk_overlap=64, embed_texts=None)
    chunks = cut.chunk(text)
    end_step("chunk")
    contexts = ChunkContexts(text, path.name)
    said = [contexts.of(chunk.start, chunk.end, chunk.token_count) for chunk in chunks]
    end_step("context")
    index = WordIndex.created(None)
    rows = [
        ChunkText("0" * 24, "0" * 24, chunk.chunk_index, 1, 1, chunk.text, context.text)
        for chunk, context in zip(chunks, said, strict=True)
    ]
    index.add(rows, {})
    index.commit(State(FORMAT, "", "", "", 1, ""))
    end_step("index")


def measure_apart(name: str, size: int, options: argparse.Namespace) -> Measured:
    """Measure in a process of its own, which is ended at the limit of time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        measured = measure(name, size, options.chunker)
        os.write(writing, json.dumps([measured.seconds, measured.ended_by, measured.mebibytes]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(child, 0)
    if not content:
        code = os.waitstatus_to_exitcode(status)
        return Measured(ended_by="time" if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"exit {code}")
    return Measured(*json.loads(content))


def growth_of(earlier: float, later: float, ratio: float) -> float:
    """Return the factor of the time for each doubling of the size."""
    return 2 ** (math.log(max(later, 1e-6) / max(earlier, 1e-6)) / math.log(ratio))


def rows_of(name: str, sizes: Sequence[float], options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Measure a shape in all sizes; return its row, and the steps that grow faster than it."""
    found = [measure_apart(name, int(size * MEGABYTE), options) for size in sizes]
    cells: list[str] = []
    for measured in found:
        total = sum(measured.seconds.values())
        ended = f" {measured.ended_by}" if measured.ended_by else ""
        cells.append(f"{total:.2f}{ended}")
    fast: list[str] = []
    growth = ""
    if len(found) > 1 and not found[-1].ended_by and not found[-2].ended_by:
        before, after, ratio = found[-2].seconds, found[-1].seconds, sizes[-1] / sizes[-2]
        total = sum(after.values())
        if total >= NOTABLE_SECONDS:
            growth = f"{growth_of(sum(before.values()), total, ratio):.1f}"
        fast += [
            f"{name}: {step} {before[step]:.2f} → {after[step]:.2f} s"
            for step in STEPS
            if after[step] >= NOTABLE_SECONDS and growth_of(before[step], after[step], ratio) >= GROWTH_TOLD
        ]
    fast += [f"{name}: {sizes[at]:g} MB ended by {one.ended_by}" for at, one in enumerate(found) if one.ended_by]
    costliest = max(found[-1].seconds, key=lambda step: found[-1].seconds[step], default="")
    return [name, *cells, growth, costliest, str(max(one.mebibytes for one in found))], fast


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    report.print_heading("Growth with the size of a file, processor seconds")
    # Imports the tokenizer and the chunkers, which the processes share.
    create_chunker(options.chunker, chunk_size=512, chunk_overlap=64, embed_texts=None).chunk(unstructured("a word"))
    wanted = [part for part in options.files.split(",") if part]
    names = [name for name in SHAPES if not wanted or any(part in name for part in wanted)]
    rows: list[list[str]] = []
    fast: list[str] = []
    for name in names:
        row, found = rows_of(name, options.sizes, options)
        rows.append(row)
        fast += found
        print(" | ".join(row), flush=True)
    print()
    report.print_table(["file", *(f"{size:g} MB" for size in options.sizes), "growth", "costliest", "MiB"], rows)
    print("\nFaster than the size, or ended:" if fast else "\nNo step grows faster than its input.")
    print("\n".join(f"- {line}" for line in fast))


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("What becomes slower as a file grows.", repeats=1)
    parser.add_argument("--files", default="", help="parts of names of files, separated by commas; empty: all")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.1, 1, 5, 20], help="in MB")
    parser.add_argument("--seconds", type=int, default=200, help="most processor time of a file")
    parser.add_argument("--chunker", default="auto")
    options = parser.parse_args(argv)
    if options.short:
        options.sizes = [0.1, 1]
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
