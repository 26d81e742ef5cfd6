"""docs/examples, run as they stand there, by their own languages, against a running platform."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from analytiq.settings import child_environment
from tests.e2e.driving import accepted, make_knowledge_base, make_tag, unique, upload, wait_until_indexed
from tests.e2e.running_platform import Running, client_of, make_organization
from tests.fakes.chat_server import ChatServer, Fail, Say

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
COMMANDS = {".sh": ["sh"], ".py": [sys.executable], ".mjs": ["node"]}
SEARCHES = ("search.sh", "search.py", "search.mjs")
CHATS = ("chat.sh", "chat.py", "chat.mjs")
MODEL = "hosted_vllm/fake-chat"
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
    assert files == {*SEARCHES, *CHATS}
    assert all(f"]({name})" in readme for name in files)


@pytest.mark.parametrize("name", SEARCHES)
def test_example_finds_the_answer_with_its_citation(running: Running, agreement: Path, name: str) -> None:
    finished = run_example(running, name, str(agreement), QUESTION)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout.startswith(f"{agreement.name}, page 1: Either party")
    assert "ninety days" in finished.stdout


@pytest.mark.parametrize("name", SEARCHES)
def test_example_fails_with_what_the_api_says(running: Running, agreement: Path, name: str) -> None:
    finished = run_example(running, name, str(agreement), QUESTION, token="aq_wrong")
    assert finished.returncode != 0
    assert "token" in finished.stdout + finished.stderr


@dataclass(frozen=True, slots=True)
class Room:
    """An organization with a chat model (a fake, over real HTTP) and a knowledge base of one document."""

    running: Running
    server: ChatServer
    kb_id: str


@pytest.fixture(scope="module")
def room(running: Running) -> Iterator[Room]:
    """The organization of the examples that chat."""
    organization_id, token = make_organization(running, "Examples that chat")
    with ChatServer() as server, client_of(running.url, organization_id, token) as client:
        key = {"api_key": server.api_key, "api_base": server.url}
        accepted(client.put("/llm-providers/hosted_vllm", json=key))
        tag = make_tag(client)
        kb = make_knowledge_base(client, [tag])
        text = b"Either party may end this agreement with ninety days' written notice."
        wait_until_indexed(client, upload(client, "agreement.txt", text, tag_ids=[tag])["document_id"])
        yield Room(replace(running, organization_id=organization_id, token=token), server, kb)


@pytest.mark.parametrize("name", CHATS)
def test_example_prints_the_answer_and_what_it_cites(room: Room, name: str) -> None:
    room.server.script(Say('Ninety days,\nin "writing" – é [1].'))
    finished = run_example(room.running, name, room.kb_id, 'How much "notice"?', MODEL)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert finished.stdout == (
        'Ninety days,\nin "writing" – é [1].\n'
        "[1] agreement.txt, page 1: Either party may end this agreement with ninety days' written notice.\n"
    )
    assert 'How much "notice"?' in room.server.requests[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("name", CHATS)
def test_example_that_chats_fails_with_the_reason(room: Room, name: str) -> None:
    finished = run_example(room.running, name, "f" * 24, QUESTION, MODEL)
    assert finished.returncode != 0
    assert "No knowledge base has the id" in finished.stderr
    room.server.script(Fail(400, "on holiday"))
    finished = run_example(room.running, name, room.kb_id, QUESTION, MODEL)
    assert finished.returncode != 0
    assert "refuse" in finished.stderr
