"""Progress of an ingestion where the output is no terminal."""

import pytest

from analytiq.cli import ingest_progress
from analytiq.cli.ingest_progress import LINE_SECONDS, WaitProgress


def test_line_is_printed_after_each_tenth_and_after_some_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(ingest_progress.time, "monotonic", lambda: now[0])
    with WaitProgress(100) as progress:
        for done in range(1, 25):
            progress.advance()
            progress.tell()
            if done == 12:
                now[0] += LINE_SECONDS
                progress.tell()
        for _ in range(76):
            progress.advance()
        progress.tell()
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"{done} of 100 extracted and indexed." for done in (10, 12, 22)]
