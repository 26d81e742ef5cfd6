"""The output of a benchmark: the machine, the versions, and a table of medians."""

import argparse
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import psutil

PACKAGES = ("analytiq", "pymongo", "numpy", "pydantic", "chonkie", "onnxruntime")
GIBIBYTE = 1024**3


def print_heading(title: str, *, mongod: Sequence[int] | None = None) -> None:
    """Print the subject, the machine, and its present load."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    server = f"; mongod {'.'.join(map(str, mongod))}" if mongod else ""
    memory = psutil.virtual_memory().total / GIBIBYTE
    print(f"\n{title}")
    print(f"  {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB; {platform.system()} {platform.release()}")
    print(f"  Python {platform.python_version()}; {packages}{server}")
    print(f"  load average {' '.join(f'{load:.2f}' for load in os.getloadavg())} at the start\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table with aligned columns, ready for the documentation."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    for line in lines:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |")
    sys.stdout.flush()


def median(values: Sequence[float]) -> float:
    """Return the median; of an even count, the mean of the two in the middle."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def arguments(description: str, *, repeats: int) -> argparse.ArgumentParser:
    """Return the parser with the options of every benchmark."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a smaller run, for a first impression")
    parser.add_argument("--repeats", type=int, default=repeats, help="runs; cells are their medians")
    return parser


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
