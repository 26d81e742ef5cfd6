from pathlib import Path

import pytest

from analytiq.standalone import log_files
from analytiq.standalone.log_files import LogFiles, is_error


@pytest.fixture
def reported() -> list[str]:
    return []


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.log"


def append(log: Path, text: str) -> None:
    with log.open("a") as stream:
        stream.write(text)


def test_errors_are_reported_once_with_the_file_and_other_lines_are_not(log: Path, reported: list[str]) -> None:
    files = LogFiles([log], report=reported.append)
    files.read(log)  # it is not there yet
    append(log, "2026-11-28T23:00:00Z [info     ] workers.started\n2026-11-28T23:00:01Z [error    ] queue.broken\n")
    files.read(log)
    files.read(log)
    assert reported == [f"worker: 2026-11-28T23:00:01Z [error    ] queue.broken   (more in {log})"]


def test_line_that_is_still_being_written_is_reported_once_it_is_whole(log: Path, reported: list[str]) -> None:
    files = LogFiles([log], report=reported.append)
    append(log, '{"level": "error", "event": "queue')
    files.read(log)
    assert reported == []
    append(log, '.broken"}\n')
    files.read(log)
    assert reported == [f'worker: {{"level": "error", "event": "queue.broken"}}   (more in {log})']


def test_line_without_an_end_does_not_stop_the_reading(
    log: Path, reported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "MAX_READ_BYTES", 64)
    files = LogFiles([log], report=reported.append)
    append(log, "x" * 200 + "\n[error    ] after.it\n")
    for _ in range(5):
        files.read(log)
    assert len(reported) == 1
    assert "after.it" in reported[0]


def test_file_that_grows_too_large_is_kept_once_and_begun_again(
    log: Path, reported: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_files, "MAX_LOG_BYTES", 100)
    files = LogFiles([log], report=reported.append)
    append(log, "a line of no interest\n" * 6)
    files.read(log)
    assert log.stat().st_size == 0
    assert log.with_name("worker.log.1").read_text().count("a line") == 6
    append(log, "[critical ] the.next\n")
    files.read(log)
    assert len(reported) == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2026-11-28T23:00:00Z [error    ] api.internal_error", True),
        ('{"event": "x", "level":"critical"}', True),
        ("ERROR asyncio Task exception was never retrieved", True),
        ("2026-11-28T23:00:00Z [warning  ] search.degraded code=error", False),
        ("2026-11-28T23:00:00Z [info     ] api.request path=/v0/errors", False),
    ],
)
def test_lines_of_errors_are_known(line: str, expected: bool) -> None:
    assert is_error(line) is expected
