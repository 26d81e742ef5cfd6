"""Ingestion beside other frameworks, on the same files in the same run.

    make bench-peers [PEER_DOCUMENTS=2000] [BENCH_ARGUMENTS="--corpus corpus.jsonl"]
    python -m benchmarks.ingest_peers --peers .venv-benchmarks/bin/python [--short] [--documents N] [--repeats N]

A table of processor seconds: the floor of plain Python and MongoDB (`benchmarks.floor`), the platform, and each
framework of `benchmarks.ingestion_frameworks`, with an embedder that costs nothing. Three phases: first ingestion, the
same files again, and again with one file in a hundred changed. Every repeat measures all of them one after the
other, so that other work on the machine affects each. Frameworks run in a process for each phase, without their
imports; the platform's and the floor's seconds include mongod's.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.corpus import TextFile, append_sentence, write_corpus
from benchmarks.ingest import Phase, measure_floor, measure_platform
from benchmarks.ingestion_frameworks import FRAMEWORKS
from benchmarks.platform_under_test import Server, platform, running_server

FLOOR, PLATFORM = "floor", "platform"
PHASE_COUNT = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """One phase of one pipeline."""

    wall_seconds: float
    processor_seconds: float
    embedded: int


Run = tuple[Measured, ...]
"""The three phases."""


def measure_framework(python: Path, name: str, files: Path, change: Callable[[], None]) -> Run:
    """Measure the three phases of a framework, each in a process of its own.

    Raises:
        SystemExit: it fails, or its packages are missing.
    """
    phases: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="analytiq-peers-") as store:
        for phase in range(PHASE_COUNT):
            if phase == PHASE_COUNT - 1:
                change()
            done = subprocess.run(
                [str(python), "-m", "benchmarks.ingestion_frameworks", name, str(files), store],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            answer: dict[str, Any] = {"missing": "see above"}
            if done.returncode == 0:
                answer = json.loads(done.stdout.splitlines()[-1])
            if "missing" in answer:
                raise SystemExit(f"{name} cannot be measured: {answer['missing']}. Run `make bench-peers`.")
            phases.append(Measured(**answer))
    return tuple(phases)


def of_phases(phases: Sequence[Phase]) -> Run:
    """Convert what `benchmarks.ingest` measured."""
    return tuple(Measured(phase.spent.wall_seconds, phase.spent.processor.total, phase.embedded) for phase in phases)


async def measure_all(server: Server, options: argparse.Namespace) -> dict[str, list[Run]]:
    """Measure every pipeline `options.repeats` times, each on newly written files."""
    runs: dict[str, list[Run]] = {}
    for _ in range(options.repeats):
        for name in (FLOOR, PLATFORM, *FRAMEWORKS):
            with tempfile.TemporaryDirectory(prefix="analytiq-benchmark-") as directory:
                files = write_corpus(Path(directory), options.documents, options.corpus)

                def change(files: list[TextFile] = files) -> None:
                    append_sentence(files[:: max(1, len(files) // max(1, len(files) // 100))])

                if name == PLATFORM:
                    run = of_phases(await measure_platform(server, files, change))
                elif name == FLOOR:
                    run = of_phases(await asyncio.to_thread(measure_floor, server, files, change))
                else:
                    run = await asyncio.to_thread(measure_framework, options.peers, name, Path(directory), change)
            runs.setdefault(name, []).append(run)
            spent = " ".join(f"{phase.processor_seconds:.2f}" for phase in run)
            print(f"{name}: {spent} CPU-s", file=sys.stderr, flush=True)
    return runs


def row_of(name: str, runs: Sequence[Run], floors: Sequence[Run], documents: int) -> list[str]:
    """Return a row of the table, of medians."""
    seconds = [report.median([run[phase].processor_seconds for run in runs]) for phase in range(PHASE_COUNT)]
    first_of_floor = report.median([run[0].processor_seconds for run in floors])
    wall = report.median([run[0].wall_seconds for run in runs])
    return [
        name,
        *(f"{value:.2f}" for value in seconds),
        f"{seconds[0] / documents * 1000:.2f}",
        f"{seconds[0] / first_of_floor:.1f}x",
        f"{documents / wall:.0f}",
        ", ".join(str(max(run[phase].embedded for run in runs)) for phase in range(PHASE_COUNT)),
    ]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        async with platform(server, "version") as target:
            version = target.services.connection.server_version
        report.print_heading("Ingestion beside other frameworks", mongod=version)
        runs = await measure_all(server, options)
    print(f"Zero-cost embedder, {options.documents} files, n = {options.repeats}, processor seconds")
    report.print_table(
        ("pipeline", "first", "unchanged", "1 % changed", "ms a document", "first to floor", "documents/s", "embedded"),
        [row_of(name, each, runs[FLOOR], options.documents) for name, each in runs.items()],
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Ingestion beside other frameworks.", repeats=3)
    parser.add_argument("--peers", type=Path, required=True, help="the Python of the environment of `make bench-peers`")
    parser.add_argument("--corpus", type=Path, default=None, help="BEIR corpus.jsonl; without it made-up texts")
    parser.add_argument("--documents", type=int, default=2000, help="files")
    options = parser.parse_args(argv)
    if options.short:
        options.documents, options.repeats = 200, 1
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
