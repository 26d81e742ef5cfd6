import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from analytiq.errors import PermanentError
from analytiq.settings import child_environment
from analytiq.standalone.supervision import ManagedProcess, ProcessPlan

pytestmark = pytest.mark.slow

# Writes its process id once it is ready to be signalled, then does what its name says.
PROGRAMS = {
    "polite": "import signal, pathlib; pathlib.Path('PIDS').open('a').write('x'); signal.pause()",
    "stubborn": (
        "import signal, pathlib; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        " pathlib.Path('PIDS').open('a').write('x')\nwhile True: signal.pause()"
    ),
    "failing": "import sys; sys.exit('the port is taken')",
}


class Bench:
    """Programs in a directory of their own, and what their keeper reports."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.reports: list[str] = []
        self.life_line, self.writing_end = os.pipe()
        self.started: list[ManagedProcess] = []

    def process(self, program: str) -> ManagedProcess:
        source = PROGRAMS[program].replace("PIDS", str(self.directory / "starts"))
        (self.directory / f"{program}.py").write_text(source)
        environment = child_environment({"PYTHONPATH": str(self.directory)})
        plan = ProcessPlan(program, program, environment, log_file=self.directory / "log")
        managed = ManagedProcess(plan, life_line=self.life_line, report=self.reports.append)
        self.started.append(managed)
        return managed

    def starts(self) -> int:
        file = self.directory / "starts"
        return len(file.read_text()) if file.exists() else 0


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    opened = Bench(tmp_path)
    yield opened
    for managed in opened.started:
        await managed.stop(drain_seconds=0)
    os.close(opened.life_line)
    if opened.writing_end >= 0:
        os.close(opened.writing_end)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def within_half_a_minute(awaitable: Awaitable[None]) -> None:
    async with asyncio.timeout(30):
        await awaitable


async def test_process_that_is_killed_is_started_again(bench: Bench) -> None:
    process = bench.process("polite")
    await process.start()
    await until(lambda: bench.starts() == 1)
    killed = process.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    await until(lambda: bench.starts() == 2)
    assert process.pid not in (None, killed)
    assert bench.reports == [f"polite (process {killed}) ended with SIGKILL; restarted at once."]


async def test_process_that_is_stopped_stays_stopped(bench: Bench) -> None:
    process = bench.process("polite")
    await process.start()
    await until(lambda: bench.starts() == 1)
    await process.stop(drain_seconds=30)
    assert process.pid is None
    assert bench.starts() == 1
    assert bench.reports == []


async def test_process_that_does_not_end_is_killed(bench: Bench) -> None:
    process = bench.process("stubborn")
    await process.start()
    await until(lambda: bench.starts() == 1)
    await within_half_a_minute(process.stop(drain_seconds=0.1))
    assert process.pid is None
    assert bench.reports == ["stubborn did not end within 0.1 s and was killed."]


async def test_process_that_fails_at_start_is_given_up_with_its_last_words(bench: Bench) -> None:
    process = bench.process("failing")
    await process.start()
    with pytest.raises(PermanentError, match=r"failing ended 3 times .* Its last words: the port is taken"):
        await within_half_a_minute(process.wait_given_up())


async def test_process_that_fails_later_is_restarted_however_often(bench: Bench) -> None:
    process = bench.process("failing")
    process.settle()
    await process.start()
    await until(lambda: len(bench.reports) == 4)
    assert "restarted in 4 s" in bench.reports[3]


async def test_process_ends_when_the_one_that_started_it_is_gone(bench: Bench) -> None:
    process = bench.process("stubborn")
    await process.start()
    await until(lambda: bench.starts() == 1)
    first = process.pid
    os.close(bench.writing_end)
    bench.writing_end = -1
    await until(lambda: bool(bench.reports))
    assert bench.reports[0].startswith(f"stubborn (process {first}) ended with SIGKILL")
