"""`analytiq up`, as a person or a service manager sees it: start, damage, stop."""

import contextlib
import json
import os
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from analytiq.standalone.key_files import OLD_KEYS_FILE
from analytiq.standalone.secret_keys import replace_key_of
from tests.e2e.running_platform import Running, run_command, start_platform, stop_platform

WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A platform of this module's own, whose processes may be killed."""
    started = start_platform(tmp_path_factory.mktemp("up") / "data")
    yield started
    assert stop_platform(started) == 0, started.log[-4000:]


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come true within a minute"
        time.sleep(0.02)


def child_called(running: Running, name: str) -> psutil.Process | None:
    """The process of `up` that runs the module `name`."""
    for child in psutil.Process(running.process.pid).children(recursive=True):
        try:
            if child.cmdline()[-1:] == [name]:
                return child
        except psutil.Error:
            continue
    return None


def process_called(running: Running, name: str) -> psutil.Process:
    found = child_called(running, name)
    assert found is not None, f"no process called {name}"
    return found


def all_processes(running: Running) -> list[psutil.Process]:
    process = psutil.Process(running.process.pid)
    return [process, *process.children(recursive=True)]


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def upload(client: httpx.Client, name: str, text: str) -> str:
    answer = client.post("/documents", files={"files": (name, text.encode(), "text/plain")})
    assert answer.status_code in (200, 201), answer.text
    return str(answer.json()["documents"][0]["document_id"])


def state_of(client: httpx.Client, document_id: str) -> str:
    return str(client.get(f"/documents/{document_id}").json()["state"])


def test_what_is_secret_is_readable_by_its_owner_alone(platform: Running) -> None:
    assert mode_of(platform.data_dir) == 0o700
    for name in ("connection.json", "secret.key", "lock", "mongod.password"):
        assert mode_of(platform.data_dir / name) == 0o600, name


def test_everything_in_the_data_directory_is_readable_by_its_owner_alone(platform: Running) -> None:
    with platform.client() as client:
        answer = client.post("/tags", json={"name": "private"})
        body = {"name": "Private", "tag_ids": [answer.json()["tag_id"]], "embedding_model": "local/all-minilm-l6-v2"}
        kb_id = client.post("/knowledge-bases", json=body).json()["kb_id"]
        assert client.post(f"/knowledge-bases/{kb_id}/search", json={"query": "x"}).status_code == 200
    for directory, _, names in os.walk(platform.data_dir):
        for path in (Path(directory), *(Path(directory) / name for name in names)):
            with contextlib.suppress(FileNotFoundError):
                assert mode_of(path) & 0o077 == 0, path


def test_secrets_are_in_no_log(platform: Running) -> None:
    token = json.loads((platform.data_dir / "connection.json").read_text())["token"]
    password = (platform.data_dir / "mongod.application").read_text().strip()
    for log in (platform.data_dir.with_name(f"{platform.data_dir.name}.log"), *platform.data_dir.rglob("*.log")):
        text = log.read_text(errors="replace")
        assert token not in text
        assert password not in text
        assert "/invite/#" not in text


def test_connection_file_opens_the_api(platform: Running) -> None:
    connection = json.loads((platform.data_dir / "connection.json").read_text())
    assert set(connection) == {"url", "organization_id", "token"}
    answer = httpx.get(
        f"{connection['url']}/v0/orgs/{connection['organization_id']}",
        headers={"Authorization": f"Bearer {connection['token']}"},
    )
    assert answer.json()["organization_id"] == connection["organization_id"]


def test_second_up_on_the_same_directory_says_who_holds_it(platform: Running) -> None:
    second = run_command("up", "--data-dir", str(platform.data_dir), "--port", "0")
    assert second.returncode == 1
    assert f"held by process {platform.process.pid}" in second.stderr
    assert platform.url in second.stderr
    assert "Traceback" not in second.stderr


def test_port_that_is_taken_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = run_command("up", "--data-dir", str(tmp_path / "data"), "--port", str(port))
    assert refused.returncode == 1
    assert f"127.0.0.1:{port} is not available" in refused.stderr
    assert not (tmp_path / "data" / "mongodb").exists()


def test_metrics_are_those_of_all_processes(platform: Running) -> None:
    metrics = httpx.get(f"{platform.url}/metrics").text
    assert "kb_indexing_queue_depth" in metrics
    assert list((platform.data_dir / "metrics").glob("*.db"))


def test_worker_that_is_killed_is_restarted_and_goes_on(platform: Running) -> None:
    killed = process_called(platform, "workers")
    killed.kill()
    with platform.client() as client:
        document_id = upload(client, "after-the-kill.txt", "The worker was killed before this was uploaded.")
        eventually(lambda: state_of(client, document_id) == "extracted")
    assert process_called(platform, "workers").pid != killed.pid
    assert f"worker (process {killed.pid}) ended with SIGKILL; restarted at once." in platform.log


def test_api_that_is_killed_comes_back_at_the_same_address(platform: Running) -> None:
    killed = process_called(platform, "api")
    killed.kill()

    def answers() -> bool:
        try:
            return httpx.get(f"{platform.url}/ready").status_code == 200
        except httpx.TransportError:
            return False

    eventually(lambda: child_called(platform, "api") not in (None, killed))
    eventually(answers)


def test_start_after_a_kill_finds_the_data_and_takes_the_same_token(tmp_path: Path) -> None:
    first = start_platform(tmp_path / "data")
    with first.client() as client:
        document_id = upload(client, "kept.txt", "This text outlives the process that took it.")
    # The database is not among them: its guardian ends it cleanly, or the next start adopts it.
    children = [process_called(first, name) for name in ("api", "workers", "reconciler")]
    first.process.kill()
    first.process.wait()
    _, alive = psutil.wait_procs(children, WAIT_SECONDS)
    assert alive == []

    second = start_platform(tmp_path / "data")
    try:
        assert second.token == first.token
        assert "Access token" not in second.log
        with second.client() as client:
            eventually(lambda: state_of(client, document_id) == "extracted")
    finally:
        assert stop_platform(second) == 0


def test_ctrl_c_ends_every_process(tmp_path: Path) -> None:
    running = start_platform(tmp_path / "data", "--workers", "2")
    processes = all_processes(running)
    assert len([process for process in processes if process.cmdline()[-1:] == ["workers"]]) == 2
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(WAIT_SECONDS) == 0
    _, alive = psutil.wait_procs(processes, timeout=WAIT_SECONDS)
    assert alive == []
    assert "Traceback" not in running.log


def test_lost_connection_file_gives_a_new_token_for_the_same_organization(tmp_path: Path) -> None:
    first = start_platform(tmp_path / "data")
    assert "Access token:  new; connection.json" in first.log
    assert stop_platform(first) == 0
    (tmp_path / "data" / "connection.json").unlink()

    second = start_platform(tmp_path / "data")
    try:
        assert second.token != first.token
        assert "Access token:  new; connection.json" in second.log
        assert second.organization_id == first.organization_id
    finally:
        assert stop_platform(second) == 0


def test_terminal_has_the_address_and_errors_and_the_logs_go_to_private_files(tmp_path: Path) -> None:
    running = start_platform(tmp_path / "data", prints_logs=False)
    try:
        with running.client() as client:
            upload(client, "note.txt", "Nothing of a request is printed to the terminal.")
        logs = tmp_path / "data" / "logs"
        assert sorted(file.name for file in logs.iterdir()) == ["api.log", "reconciler.log", "worker.log"]
        assert {mode_of(file) for file in logs.iterdir()} == {0o600}
        eventually(lambda: "api.request" in (logs / "api.log").read_text())
        with (logs / "worker.log").open("a") as log:
            log.write("2026-11-28T23:00:00Z [error    ] a.made_up_error\n")
        eventually(lambda: "a.made_up_error" in running.log)
        lines = running.log.splitlines()
        assert not [line for line in lines if "[info" in line], running.log
        assert [line for line in lines if line.startswith(("Running 1 worker", "Running 2 workers"))]
        assert f"Logs:          {logs}" in running.log
    finally:
        assert stop_platform(running) == 0


def test_stop_during_the_start_leaves_nothing_behind(tmp_path: Path) -> None:
    running = start_platform(tmp_path / "data", until="embedded_mongod.started")
    processes = all_processes(running)
    assert stop_platform(running) == 0
    _, alive = psutil.wait_procs(processes, timeout=WAIT_SECONDS)
    assert alive == []
    assert "Traceback" not in running.log


def test_secret_key_that_opens_no_stored_key_is_told_by_up_and_by_doctor(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    first = start_platform(data_dir)
    with first.client() as client:
        assert client.put("/llm-providers/cohere", json={"api_key": "sk-the-key-of-cohere"}).status_code == 200
    well = run_command("doctor", "--data-dir", str(data_dir))
    assert "it opens all 1 stored provider keys" in " ".join(well.stdout.split())
    assert stop_platform(first) == 0
    assert "another secret key" not in first.log
    replace_key_of(data_dir)
    (data_dir / OLD_KEYS_FILE).unlink()

    second = start_platform(data_dir)
    try:
        told = "1 of 1 stored provider keys (cohere) were encrypted with another secret key than this one"
        assert told in " ".join(second.log.split())
        doctor = run_command("doctor", "--data-dir", str(data_dir))
        assert doctor.returncode == 1
        assert told in " ".join(doctor.stdout.split())
        assert "ANALYTIQ_OLD_SECRET_KEYS" in doctor.stdout
    finally:
        assert stop_platform(second) == 0
