"""The fork server: it imports the processes' code once, and its processes behave as interpreters of their own."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from analytiq.settings import child_environment
from analytiq.standalone.forked_processes import ForkedProcess, ForkServer
from analytiq.standalone.process_plans import MODULES, shared_environment

pytestmark = pytest.mark.slow

PROGRAM = """
import os, signal, sys
def main():
    print(os.environ["WORD"], os.environ.get("GONE"), os.getsid(0) == os.getpid(), sys.argv, flush=True)
    if os.environ["WORD"] == "wait":
        signal.pause()
    return 7
"""


class Bench:
    """A fork server beside a program of the test."""

    def __init__(self, server: ForkServer, directory: Path, life_line: int) -> None:
        self.server = server
        self.output = directory / "output"
        self._life_line = life_line

    async def fork(self, word: str) -> ForkedProcess:
        output = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            return await self.server.fork("forkable", {"WORD": word}, standard_input=self._life_line, output=output)
        finally:
            os.close(output)

    async def until_printed(self) -> None:
        async with asyncio.timeout(60):
            while not self.output.read_text().endswith("\n"):
                await asyncio.sleep(0.01)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    package = tmp_path / "forkable"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(PROGRAM)
    reading, writing = os.pipe()
    server = await ForkServer.start(child_environment({"PYTHONPATH": str(tmp_path), "GONE": "1"}), ["forkable"])
    try:
        yield Bench(server, tmp_path, reading)
    finally:
        await server.stop()
        os.close(reading)
        os.close(writing)


async def ended(process: ForkedProcess) -> int:
    async with asyncio.timeout(60):
        return await process.wait()


async def test_forked_process_has_its_own_environment_session_and_output(bench: Bench) -> None:
    process = await bench.fork("once")
    assert await ended(process) == 7
    assert bench.output.read_text() == "once None True ['forkable']\n"
    with pytest.raises(ProcessLookupError):
        process.send_signal(signal.SIGTERM)


async def test_forked_process_is_listed_by_its_name_and_ends_by_a_signal(bench: Bench) -> None:
    process = await bench.fork("wait")
    await bench.until_printed()
    line = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    assert line[-3].endswith(b"/bound_process.py")
    assert line[-2:] == [b"forkable", b""]
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == -signal.SIGTERM


async def test_processes_end_with_their_fork_server_and_the_next_fork_is_refused(bench: Bench) -> None:
    process = await bench.fork("wait")
    await bench.until_printed()
    os.kill(bench.server.pid, signal.SIGKILL)
    assert await ended(process) == -signal.SIGKILL
    with pytest.raises(OSError, match=r".+"):
        await bench.fork("once")


async def test_fork_server_has_one_thread_after_the_imports_of_the_platform(tmp_path: Path) -> None:
    server = await ForkServer.start(shared_environment(tmp_path), MODULES)
    try:
        with Path(os.devnull).open("rb") as nothing:  # its end of file ends the process
            process = await server.fork("api", {}, standard_input=nothing.fileno(), output=None)
        assert len(list(Path(f"/proc/{server.pid}/task").iterdir())) == 1
        assert await ended(process) == -signal.SIGKILL
    finally:
        await server.stop()
