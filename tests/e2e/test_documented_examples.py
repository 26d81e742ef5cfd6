"""docs/examples, run as they stand there, by their own languages, against a running platform."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analytiq.settings import child_environment
from tests.e2e.driving import unique
from tests.e2e.running_platform import Running

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
COMMANDS = {".sh": ["sh"], ".py": [sys.executable], ".mjs": ["node"]}
QUESTION = "How much notice is needed?"


def run_example(
    running: Running, name: str, *arguments: str, token: str | None = None
) -> "subprocess.CompletedProcess[str]":
    command = COMMANDS[Path(name).suffix]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run(
        [*command, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=child_environment(
            {
                "ANALYTIQ_URL": running.url,
                "ANALYTIQ_ORGANIZATION_ID": running.organization_id,
                "ANALYTIQ_TOKEN": token or running.token,
                "PYTHONPATH": str(ROOT),
            }
        ),
    )


@pytest.fixture
def agreement(tmp_path: Path) -> Path:
    """A document that answers the question."""
    path = tmp_path / unique("agreement.txt")
    path.write_text("Either party may end this agreement with ninety days' written notice.\n", encoding="utf-8")
    return path


def test_every_example_is_run_here_and_is_in_the_readme() -> None:
    files = {path.name for path in EXAMPLES.iterdir() if path.suffix in COMMANDS}
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert files == {"search.sh", "search.py", "search.mjs"}
    assert all(f"]({name})" in readme for name in files)


@pytest.mark.parametrize("name", ["search.sh", "search.py", "search.mjs"])
def test_example_finds_the_answer_with_its_citation(running: Running, agreement: Path, name: str) -> None:
    finished = run_example(running, name, str(agreement), QUESTION)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.startswith(f"{agreement.name}, page 1: Either party")
    assert "ninety days" in finished.stdout


@pytest.mark.parametrize("name", ["search.sh", "search.py", "search.mjs"])
def test_example_fails_with_what_the_api_says(running: Running, agreement: Path, name: str) -> None:
    finished = run_example(running, name, str(agreement), QUESTION, token="aq_wrong")
    assert finished.returncode != 0
    assert "token" in finished.stdout + finished.stderr
