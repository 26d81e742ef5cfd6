"""Growth of each step from a file to its search results, with the size of the file.

    python -m benchmarks.file_growth [--short] [--files .pdf,.docx] [--sizes 0.1 1 5 20] [--chunkers auto,row]
        [--until chunk]

Made files of each format (`growing_files`), ordinary and costly ones, in the steps of `growing_steps`. Cells are
seconds of processor time in a process of its own for each file. `exponent` is that of the time as a power of the size,
between the two largest sizes: 1.0 in proportion to the size, 2.0 by its square. `parser MiB` is the most memory until
the end of the parser, which has the product's limits; `MiB` that of all steps.
"""

import argparse
import json
import math
import os
import resource
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.models.text import unstructured
from benchmarks import report
from benchmarks.growing_files import SHAPES
from benchmarks.growing_steps import STEPS, Measured, take_steps

MEGABYTE = 1_000_000
MEMORY_BYTES = 6 * 1024**3
NOTABLE_SECONDS = 0.3
"""Shorter times are mostly noise, so their growth is not told."""
EXPONENT_TOLD = 1.15
"""Exponent from which a step is listed as one that grows faster than its input."""


def measure(name: str, size: int, options: argparse.Namespace) -> Measured:
    """Take the steps with one file in this process."""
    with tempfile.TemporaryDirectory(prefix="analytiq-growth-") as directory:
        path = Path(directory) / name.replace(" ", "-")
        path.write_bytes(SHAPES[name](size))
        return take_steps(path, chunkers=options.chunkers.split(","), until=options.until)


def measure_apart(name: str, size: int, options: argparse.Namespace) -> Measured:
    """Measure in a process of its own, which is ended at the limit of time."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (options.seconds, options.seconds + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            measured = measure(name, size, options)
            os.write(writing, json.dumps(astuple(measured)).encode())
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        content = answer.read()
    _, status = os.waitpid(child, 0)
    if not content:
        code = os.waitstatus_to_exitcode(status)
        return Measured(ended_by="time" if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"exit {code}")
    return Measured(*json.loads(content))


def exponent_of(earlier: float, later: float, ratio: float) -> float:
    """Return the exponent of the time as a power of the size."""
    return math.log(max(later, 1e-6) / max(earlier, 1e-6)) / math.log(ratio)


def rows_of(name: str, sizes: Sequence[float], options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Measure a shape in all sizes; return its row, and the steps that grow faster than it."""
    found = [measure_apart(name, int(size * MEGABYTE), options) for size in sizes]
    cells = [f"{sum(one.seconds.values()):.2f} {one.ended_by}".strip() for one in found]
    fast = [f"{name}: {sizes[at]:g} MB ended by {one.ended_by}" for at, one in enumerate(found) if one.ended_by]
    exponent = ""
    if len(found) > 1:
        before, after, ratio = found[-2].seconds, found[-1].seconds, sizes[-1] / sizes[-2]
        shared = [step for step in after if step in before]
        total = sum(after[step] for step in shared)
        if total >= NOTABLE_SECONDS:
            exponent = f"{exponent_of(sum(before[step] for step in shared), total, ratio):.2f}"
        fast += [
            f"{name}: {step} {before[step]:.2f} → {after[step]:.2f} s, exponent {grown:.2f}"
            for step in shared
            if after[step] >= NOTABLE_SECONDS
            and (grown := exponent_of(before[step], after[step], ratio)) > EXPONENT_TOLD
        ]
    costliest = sorted(found[-1].seconds.items(), key=lambda item: -item[1])[:2]
    told = ", ".join(f"{step} {seconds:.2f}" for step, seconds in costliest)
    memory = [str(max(one.parser_mebibytes for one in found)), str(max(one.mebibytes for one in found))]
    return [name, *cells, exponent, told, *memory], fast


def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    report.print_heading("Growth with the size of a file, processor seconds")
    # Imports the tokenizer and the chunkers, which the processes share.
    create_chunker("auto", chunk_size=512, chunk_overlap=64, embed_texts=None).chunk(unstructured("a word"))
    wanted = [part for part in options.files.split(",") if part]
    names = [name for name in SHAPES if not wanted or any(part in name for part in wanted)]
    rows: list[list[str]] = []
    fast: list[str] = []
    for name in names:
        row, found = rows_of(name, options.sizes, options)
        rows.append(row)
        fast += found
        print(" | ".join(row), flush=True)
        print("".join(f"    ! {line}\n" for line in found), end="", flush=True)
    print()
    report.print_table(
        ["file", *(f"{size:g} MB" for size in options.sizes), "exponent", "costliest", "parser MiB", "MiB"], rows
    )
    print("\nFaster than the size, or ended:" if fast else "\nNo step grows faster than its input.")
    print("\n".join(f"- {line}" for line in fast))


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("What becomes slower as a file grows.", repeats=1)
    parser.add_argument("--files", default="", help="parts of names of files, separated by commas; empty: all")
    parser.add_argument("--sizes", type=float, nargs="+", default=[0.1, 1, 5, 20], help="in MB")
    parser.add_argument("--seconds", type=int, default=200, help="most processor time of a file")
    parser.add_argument("--chunkers", default="auto", help="separated by commas; the steps after go by the first")
    parser.add_argument("--until", default=STEPS[-1], choices=STEPS, help="the last step")
    options = parser.parse_args(argv)
    if options.short:
        options.sizes = [0.1, 1]
    run(options)


if __name__ == "__main__":
    main()
