"""Progress of an ingestion: bars on a terminal, occasional lines elsewhere."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn

from analytiq.cli.console import messages, output

LINE_SECONDS = 10.0
"""Seconds between two lines if the output is not a terminal, unless another tenth is done earlier."""


class UploadProgress:
    """Bytes sent, and a line for each file."""

    def __init__(self, files: Sequence[Path]) -> None:
        columns = (TextColumn("Uploading"), BarColumn(), DownloadColumn())
        self._progress = Progress(*columns, console=output, transient=True, disable=not output.is_terminal)
        self._task = self._progress.add_task("", total=sum(_size_bytes(file) for file in files))

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, count: int) -> None:
        """Count bytes."""
        self._progress.advance(self._task, count)

    def show(self, path: Path, outcome: str, name: str, remark: str | None) -> None:
        """Print the outcome of a file."""
        style = "red" if outcome == "failed" else "green"
        said = f": {escape(remark)}" if remark else ""
        self._progress.console.print(f"[{style}]{name}[/]  {escape(str(path))}{said}")


class WaitProgress:
    """Finished documents, of all those awaited."""

    def __init__(self, total: int) -> None:
        columns = (TextColumn("Extracted and indexed"), BarColumn(), MofNCompleteColumn())
        self._progress = Progress(*columns, console=output, transient=True, disable=not output.is_terminal)
        self._task = self._progress.add_task("", total=total)
        self._total = total
        self._done = 0
        self._told_done = 0
        self._told_at = time.monotonic()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self) -> None:
        """Count a finished document."""
        self._done += 1
        self._progress.advance(self._task)

    def tell(self) -> None:
        """Print the progress if there is no bar: after each tenth, and after some seconds."""
        if output.is_terminal or self._done == self._total:
            return
        is_tenth = self._done - self._told_done >= max(1, self._total // 10) and self._total > 1
        if is_tenth or time.monotonic() - self._told_at >= LINE_SECONDS:
            self._told_done, self._told_at = self._done, time.monotonic()
            messages.print(f"{self._done} of {self._total} extracted and indexed.")


def _size_bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # gone since it was found, as its upload reports
