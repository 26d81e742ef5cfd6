import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from analytiq.errors import (
    CorruptFileError,
    EmptyDocumentError,
    LimitExceededError,
    ParserUnavailableError,
    TransientError,
    UnsupportedFormatError,
)
from analytiq.ingestion.parsing import servers
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.isolation import BEST_EFFORT, Isolation
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.sandbox import parse_in_child
from analytiq.models.text import ParsedDocument

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("misbehaving_parsers")]

LIMITS = ParseLimits(memory_bytes=512 * 1024 * 1024, cpu_seconds=60, wall_seconds=60.0)


async def parse(
    path: Path,
    kind: str,
    *,
    limits: ParseLimits = LIMITS,
    isolation: Isolation = BEST_EFFORT,
    on_progress: ReportProgress | None = None,
) -> ParsedDocument:
    return await parse_in_child(
        path, content_type=kind, options=ParseOptions(), limits=limits, isolation=isolation, on_progress=on_progress
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "document"
    path.write_text("anything")
    return path


class Pids:
    """The process ids that a parser tells as its progress."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def __call__(self, pid: int, _total: int) -> None:
        self.told.append(pid)

    async def next(self, count: int = 1) -> list[int]:
        await until(lambda: len(self.told) >= count)
        return self.told


async def test_child_that_never_ends_is_killed_at_the_time_limit(
    document: Path, is_alive: Callable[[int], bool]
) -> None:
    pids = Pids()
    with pytest.raises(LimitExceededError, match="within 1 seconds"):
        await parse(document, "application/x-endless", limits=replace(LIMITS, wall_seconds=1.0), on_progress=pids)
    (pid,) = await pids.next()
    await until(lambda: not is_alive(pid))


async def test_cancelling_the_waiting_task_kills_the_child(document: Path, is_alive: Callable[[int], bool]) -> None:
    pids = Pids()
    task = asyncio.create_task(parse(document, "application/x-endless", on_progress=pids))
    (pid,) = await pids.next()
    assert is_alive(pid)
    assert os.getpgid(pid) == pid
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not is_alive(pid))


async def test_child_can_start_no_process(document: Path) -> None:
    with pytest.raises(CorruptFileError, match="Operation not permitted"):
        await parse(document, "application/x-breeding")


async def test_processes_that_an_unbound_child_started_die_with_it_although_they_left_its_group(
    document: Path, is_alive: Callable[[int], bool]
) -> None:
    pids = Pids()
    task = asyncio.create_task(
        parse(document, "application/x-breeding", isolation=Isolation(mode="off"), on_progress=pids)
    )
    started = await pids.next(2)
    assert all(map(is_alive, started))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not any(map(is_alive, started)))


async def test_child_dies_with_a_caller_that_is_killed(document: Path, is_alive: Callable[[int], bool]) -> None:
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from analytiq.ingestion.parsing.base import ParseOptions\n"
        "from analytiq.ingestion.parsing.limits import ParseLimits\n"
        "from analytiq.ingestion.parsing.sandbox import parse_in_child\n"
        "asyncio.run(parse_in_child(Path(sys.argv[1]), content_type='application/x-endless',\n"
        "    options=ParseOptions(), limits=ParseLimits(), on_progress=lambda pid, _: print(pid, flush=True)))\n"
    )
    caller = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        str(document),
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert caller.stdout is not None
    try:
        async with asyncio.timeout(60):
            pid = int(await caller.stdout.readline())
    finally:
        caller.kill()
        await caller.wait()
    await until(lambda: not is_alive(pid))


async def test_document_that_wants_too_much_memory_exceeds_a_limit(document: Path) -> None:
    with pytest.raises(LimitExceededError, match="memory"):
        await parse(document, "application/x-hungry")


async def test_document_that_computes_too_long_exceeds_a_limit(document: Path) -> None:
    with pytest.raises(LimitExceededError, match="1 seconds of processor time"):
        await parse(document, "application/x-busy", limits=replace(LIMITS, cpu_seconds=1))


async def test_text_beyond_the_output_limit_exceeds_a_limit(document: Path) -> None:
    with pytest.raises(LimitExceededError, match="larger than a text may be"):
        await parse(document, "application/x-talkative", limits=replace(LIMITS, output_bytes=1024 * 1024))


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL"])
async def test_crash_of_the_parser_is_a_corrupt_file_and_names_the_signal(document: Path, name: str) -> None:
    document.write_text(name)
    with pytest.raises(CorruptFileError, match=name):
        await parse(document, "application/x-crashing")


async def test_child_killed_by_the_system_exceeds_a_limit(document: Path) -> None:
    document.write_text("SIGKILL")
    with pytest.raises(LimitExceededError, match="memory runs out"):
        await parse(document, "application/x-crashing")


async def test_child_stopped_from_outside_is_worth_another_try(document: Path) -> None:
    document.write_text("SIGTERM")
    with pytest.raises(TransientError):
        await parse(document, "application/x-crashing")


async def test_panic_that_is_no_exception_is_a_corrupt_file(document: Path) -> None:
    with pytest.raises(CorruptFileError, match="Panic: called unwrap"):
        await parse(document, "application/x-panicking")


async def test_child_without_an_outcome_is_worth_another_try(document: Path) -> None:
    with pytest.raises(TransientError, match="no whole result"):
        await parse(document, "application/x-vanishing")


async def test_document_without_pages_is_a_corrupt_file(document: Path) -> None:
    with pytest.raises(CorruptFileError, match="no page"):
        await parse(document, "application/x-pageless")


async def test_nul_and_lone_surrogates_never_leave_the_child(document: Path) -> None:
    parsed = await parse(document, "application/x-dirty")
    assert parsed.pages[0].text == "nul surrogate\ufffd bell line\nend"


async def test_progress_arrives_in_order_and_ends_with_the_last_page(document: Path) -> None:
    reports: list[tuple[int, int]] = []
    await parse(document, "application/x-progressing", on_progress=lambda done, total: reports.append((done, total)))
    assert reports == sorted(reports)
    assert reports[-1] == (1000, 1000)


async def test_failing_progress_callback_ends_the_child_and_is_not_hidden(
    document: Path,
) -> None:
    def fail(_done: int, _total: int) -> None:
        raise LookupError("the job is gone")

    with pytest.raises(LookupError, match="the job is gone"):
        await parse(document, "application/x-progressing", on_progress=fail)


async def test_child_sees_no_secret_and_writes_no_core_files(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    text = (await parse(document, "application/x-confessing")).pages[0].text
    assert "OPENAI_API_KEY" not in text
    assert "OMP_THREAD_LIMIT" in text
    assert "core=(0, 0) ocr=('eng',)" in text


async def test_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    with pytest.raises(EmptyDocumentError):
        await parse(path, "text/plain")


async def test_unknown_content_type_lists_what_can_be_read(document: Path) -> None:
    with pytest.raises(UnsupportedFormatError, match=r"application/x-nothing.*\.pdf"):
        await parse(document, "application/x-nothing")


async def test_relative_path_is_refused_because_the_child_works_elsewhere() -> None:
    with pytest.raises(ValueError, match="must be absolute"):
        await parse(Path("document.txt"), "text/plain")


async def test_killed_server_fails_its_documents_for_now_and_is_started_again(
    document: Path, is_alive: Callable[[int], bool], tmp_path: Path
) -> None:
    pids = Pids()
    task = asyncio.create_task(parse(document, "application/x-endless", on_progress=pids))
    (pid,) = await pids.next()
    server = servers.running_server()
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(TransientError, match="started again"):
        await task
    await until(lambda: not is_alive(pid))
    text_file = tmp_path / "after.txt"
    text_file.write_text("still here")
    assert (await parse(text_file, "text/plain")).pages[0].text == "still here"


async def test_hundred_documents_at_once_keep_their_own_texts(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(100)]
    for path in paths:
        path.write_text(f"text of {path.name}")
    gate = asyncio.Semaphore(8)

    async def one(path: Path) -> str:
        async with gate:
            return (await parse(path, "text/plain")).pages[0].text

    assert await asyncio.gather(*map(one, paths)) == [f"text of {path.name}" for path in paths]


async def test_stopped_server_is_started_by_the_next_document(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("words")
    await parse(path, "text/plain")
    before = servers.running_server().pid
    servers.stop_server()
    assert (await parse(path, "text/plain")).pages[0].text == "words"
    assert servers.running_server().pid != before


@pytest.fixture
def broken_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Replaces markdown-it, which reads Markdown, by a module of the given code, for a new server."""

    def replace_by(code: str) -> None:
        site = tmp_path / "site"
        site.mkdir()
        (site / "markdown_it.py").write_text(code)
        monkeypatch.syspath_prepend(str(site))
        servers.stop_server()

    yield replace_by
    servers.stop_server()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text("name,city\nAnna,Ulm\n")
    return path


async def test_parser_that_cannot_be_imported_fails_its_own_documents_for_good_and_no_others(
    document: Path, table: Path, broken_library: Callable[[str], None]
) -> None:
    broken_library("raise ImportError('linkify_it is now a separate project linkify-it-py')")
    with pytest.raises(ParserUnavailableError, match=r"markdown:MarkdownParser.*linkify-it-py.*`analytiq doctor`"):
        await parse(document, "text/markdown")
    assert "Anna" in (await parse(table, "text/csv")).pages[0].text


async def test_library_that_kills_its_importer_stops_no_other_format(
    document: Path, table: Path, broken_library: Callable[[str], None]
) -> None:
    broken_library("import os; os.abort()")
    with pytest.raises(TransientError, match="started again"):
        await parse(table, "text/csv")
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(TransientError):  # the dying server may still take a document
                assert "Anna" in (await parse(table, "text/csv")).pages[0].text
                break
    with pytest.raises(CorruptFileError, match="SIGABRT"):
        await parse(document, "text/markdown")


@pytest.mark.parametrize("content_type", ["application/pdf", "image/png"])
async def test_error_names_no_path_of_the_machine(tmp_path: Path, content_type: str) -> None:
    path = tmp_path / "original"
    path.write_bytes(b"%PDF-1.7 and then nothing of the kind")
    with pytest.raises(CorruptFileError) as error:
        await parse(path, content_type)
    assert str(tmp_path) not in error.value.detail
    assert "upload an undamaged copy" in error.value.detail
