"""`python -m benchmarks.memory`: memory of an idle `analytiq up` by process, and the wait for the first answer.

Memory is the proportional set size (PSS): a page that processes share counts once in all. The demonstration runs
first, so that each process has done its work: documents of six formats, their vectors, three questions.
"""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from analytiq.standalone.process_table import RunningProcess, processes_of
from benchmarks import report

MEGABYTE = 1_000_000
IDLE_SECONDS = 30.0
POLL_SECONDS = 0.02
FIRST_ANSWER = "The first answer came"
LAST_LINE = "The platform keeps running"


def run(directory: Path, idle_seconds: float) -> tuple[float, list[RunningProcess]]:
    """Return the seconds from the command's start to the first answer, and the processes of the then idle platform."""
    log = directory / "output"
    with log.open("wb") as output:
        program = Path(sys.executable).with_name("analytiq")
        command = [str(program), "demo", "--data-dir", str(directory / "data"), "--port=0"]
        began = time.monotonic()
        up = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _await(FIRST_ANSWER, log, up)
        seconds = time.monotonic() - began
        _await(LAST_LINE, log, up)
        time.sleep(idle_seconds)
        return seconds, processes_of(up.pid)
    finally:
        up.send_signal(signal.SIGINT)
        up.wait()


def _await(words: str, log: Path, up: "subprocess.Popen[bytes]") -> None:
    while words not in (said := log.read_text(encoding="utf-8")):
        if up.poll() is not None or LAST_LINE in said:
            raise SystemExit(f"the demonstration has not said {words!r}:\n{said}")
        time.sleep(POLL_SECONDS)


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = report.arguments(__doc__ or "", repeats=3)
    options = parser.parse_args(given)
    repeats = 1 if options.short else options.repeats
    report.print_heading("Memory of an idle platform after the demonstration")
    waits: list[float] = []
    sizes: dict[str, list[float]] = {}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="analytiq-memory-") as directory:
            wait, processes = run(Path(directory), IDLE_SECONDS)
        waits.append(wait)
        for process in processes:
            sizes.setdefault(process.name, []).append(process.memory_bytes / MEGABYTE)
        sizes.setdefault("all", []).append(sum(process.memory_bytes for process in processes) / MEGABYTE)
    rows = [(name, f"{report.median(values):.0f}") for name, values in sizes.items()]
    report.print_table(("process", "MB of PSS"), rows)
    print(f"\nFirst answer after {report.median(waits):.1f} s (median of {repeats}).")


if __name__ == "__main__":
    main()
