"""The log files of a platform's processes: bounded in size, and read for errors."""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

MAX_LOG_BYTES = 16 * 1024 * 1024
"""About 100,000 lines. A larger file becomes `NAME.log.1`, which replaces the previous one."""

POLL_SECONDS = 0.5
MAX_READ_BYTES = 256 * 1024

_ERROR = re.compile(r'\[(?:error|critical)\s*\]|"level": ?"(?:error|critical)"|^(?:ERROR|CRITICAL) ')


class LogFiles:
    """Follows log files as they grow; the processes write to them with O_APPEND."""

    def __init__(self, files: Sequence[Path], *, report: Callable[[str], None]) -> None:
        """Prepare; nothing is read before `follow`.

        Args:
            files: the files to follow; missing ones are awaited.
            report: called with a sentence for each logged error.
        """
        self._positions = dict.fromkeys(files, 0)
        self._report = report

    async def follow(self) -> None:
        """Report errors and bound the files, until cancelled."""
        while True:
            for file in self._positions:
                await asyncio.to_thread(self.read, file)
            await asyncio.sleep(POLL_SECONDS)

    def read(self, file: Path) -> None:
        """Report the errors among a file's new lines, and rotate the file if it is too large."""
        try:
            with file.open("rb") as stream:
                stream.seek(self._positions[file])
                content = stream.read(MAX_READ_BYTES)
                is_at_end = stream.tell() == os.fstat(stream.fileno()).st_size
        except FileNotFoundError:
            return
        whole = content[: content.rfind(b"\n") + 1] or (content if len(content) == MAX_READ_BYTES else b"")
        self._positions[file] += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            if is_error(line):
                self._report(f"{file.stem}: {line.strip()}   (more in {file})")
        if is_at_end and self._positions[file] > MAX_LOG_BYTES:
            # Lines that a process writes between copy and truncation are lost, as with logrotate's copytruncate.
            shutil.copyfile(file, file.with_name(f"{file.name}.1"))
            os.truncate(file, 0)
            self._positions[file] = 0


def is_error(line: str) -> bool:
    """Return whether a line of a structured or plain log is an error."""
    return _ERROR.search(line) is not None
