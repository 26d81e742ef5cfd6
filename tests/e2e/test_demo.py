"""`analytiq demo`: the first thing that anybody sees."""

import re
from pathlib import Path

from tests.e2e.running_platform import run_command


def test_demo_answers_all_questions_at_the_first_and_at_the_second_run(tmp_path: Path) -> None:
    arguments = ("demo", "--data-dir", str(tmp_path / "demo"), "--port", "0")
    first = run_command(*arguments, environment={"DEMO_EXIT": "1"})
    assert first.returncode == 0, first.stdout + first.stderr
    assert "3 of 3 answers are right." in first.stdout
    # The passage may begin on the page before: pages end within paragraphs.
    assert re.search(r"service-agreement\.pdf, pages? (\d–)?3", first.stdout)
    assert "created  service-agreement.pdf" in first.stdout

    second = run_command(*arguments, "--exit")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "3 of 3 answers are right." in second.stdout
    assert "already there  service-agreement.pdf" in second.stdout


def test_demo_without_ocr_data_says_so_and_asks_something_else(tmp_path: Path) -> None:
    finished = run_command(
        *("demo", "--data-dir", str(tmp_path / "demo"), "--port", "0", "--exit"),
        environment={"ANALYTIQ_EXTRACTION__OCR_LANGUAGES": '["zzz"]'},
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "scanned-letter.png was not read" in finished.stderr
    assert "tesseract-ocr-zzz" in finished.stderr
    assert "What may a hotel room cost per night?" in finished.stdout
    assert "3 of 3 answers are right." in finished.stdout
