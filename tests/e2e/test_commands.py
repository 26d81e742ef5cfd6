"""The commands that talk to a running platform, and the client that they use."""

import json
import re
import socket
import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from analytiq.client import Client, ProblemError, UnreachableError
from analytiq.models.upload import DuplicatePolicy
from tests.e2e.running_platform import Running, run_command


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"n{uuid4().hex[:12]}"


@pytest.fixture
def files(tmp_path: Path, name: str) -> Path:
    """Two files, one of them in a folder below."""
    folder = tmp_path / "files"
    (folder / "below").mkdir(parents=True)
    (folder / f"{name}-bridge.txt").write_text(f"{name} The toll for the bridge is four crowns for a cart.")
    (folder / "below" / f"{name}-ferry.md").write_text(f"# {name} Ferry\n\nThe ferry leaves at six in the morning.")
    return folder


def command(running: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, "--data-dir", str(running.data_dir))


def client_of(running: Running) -> Client:
    return Client(running.url, running.organization_id, running.token)


def test_ingested_directory_can_be_searched(running: Running, files: Path, name: str) -> None:
    ingested = command(running, "ingest", str(files), "--tag", name, "--kb", name)
    assert ingested.returncode == 0, ingested.stdout + ingested.stderr
    assert "2 files: 2 created. 2 can be found in a knowledge base." in ingested.stdout

    found = command(running, "search", "When does the ferry leave?", "--kb", name, "--top-k", "1")
    assert f"1. {name}-ferry.md, page 1   relevance 0." in found.stdout
    assert "six in the morning" in found.stdout

    narrowed = command(
        *(running, "search", "When does the ferry leave?", "--kb", name, "--document", f"{name}-bridge.txt", "--json")
    )
    assert {hit["source"] for hit in json.loads(narrowed.stdout)["results"]} == {f"{name}-bridge.txt"}


def test_second_ingest_says_what_is_there_already_and_which_tag_it_lacks(
    running: Running, files: Path, name: str
) -> None:
    assert command(running, "ingest", str(files), "--tag", name).returncode == 0
    again = command(running, "ingest", str(files), "--tag", f"{name}-other")
    assert again.returncode == 0
    assert "2 files: 2 already there" in again.stdout
    assert f"it does not have the tag '{name}-other'" in again.stdout

    replaced = command(running, "ingest", str(files), "--tag", f"{name}-other", "--on-duplicate", "replace")
    assert "2 files: 2 replaced" in replaced.stdout
    with client_of(running) as client:
        tag = client.ensure_tag(f"{name}-other")
        assert len(list(client.documents(tag_ids=[tag.tag_id]))) == 2


def test_file_that_cannot_be_read_fails_alone_and_ends_with_code_1(running: Running, files: Path, name: str) -> None:
    (files / f"{name}-broken.pdf").write_bytes(b"%PDF-1.7\nthis is no PDF at all")
    (files / f"{name}-empty.txt").write_bytes(b"")
    ingested = command(running, "ingest", str(files), "--tag", name)
    assert ingested.returncode == 1
    assert f"failed  {name}-broken.pdf: " in ingested.stdout
    assert re.search(rf"failed  \S*{name}-empty\.txt: ", ingested.stdout)
    with client_of(running) as client:
        tag = client.ensure_tag(name)
        states = {item.document_name: item.state for item in client.documents(tag_ids=[tag.tag_id])}
    assert states[f"{name}-bridge.txt"] == "extracted"


def test_two_files_of_one_name_do_not_replace_each_other(running: Running, files: Path, name: str) -> None:
    (files / "below" / f"{name}-bridge.txt").write_text("Another bridge.")
    ingested = command(running, "ingest", str(files), "--on-duplicate", "replace")
    assert ingested.returncode == 1
    assert ingested.stdout.count("another of these files has the same name") == 2


def test_knowledge_base_that_would_not_get_the_files_is_refused(running: Running, files: Path, name: str) -> None:
    assert command(running, "kb", "create", name, "--tag", name).returncode == 0
    refused = command(running, "ingest", str(files), "--tag", f"{name}-other", "--kb", name)
    assert refused.returncode == 1
    assert f"gathers documents tagged '{name}'" in refused.stderr
    assert command(running, "kb", "delete", name, "--yes").returncode == 0
    assert name not in command(running, "kb", "list").stdout


def test_search_in_an_unknown_knowledge_base_names_those_that_exist(running: Running, name: str) -> None:
    assert command(running, "kb", "create", name, "--tag", name).returncode == 0
    refused = command(running, "search", "anything", "--kb", "no such thing")
    assert refused.returncode == 1
    assert f"'{name}'" in refused.stderr


def test_status_shows_processes_documents_and_jobs(running: Running, files: Path, name: str) -> None:
    assert command(running, "ingest", str(files), "--tag", name, "--kb", name).returncode == 0
    status = command(running, "status")
    assert status.returncode == 0, status.stderr
    assert f"{running.url}, ready" in status.stdout
    for process in ("api", "workers", "reconciler", "mongod", "together"):
        assert re.search(rf"  {process} +\d+ MB", status.stdout), process
    assert re.search(r"Documents +\d+: \d+", status.stdout)
    assert re.search(r"Jobs +\d+ waiting", status.stdout)
    assert re.search(rf"{name} .* active +2 ", status.stdout)


def test_doctor_finds_nothing_wrong_with_a_running_platform(running: Running) -> None:
    examined = command(running, "doctor")
    assert examined.returncode == 0, examined.stdout
    assert "problem" not in examined.stdout
    assert "the token opens" in examined.stdout


def test_token_opens_the_api_until_it_is_revoked(running: Running, name: str) -> None:
    created = command(running, "token", "create", name)
    secret = created.stdout.strip()
    with Client(running.url, running.organization_id, secret) as client:
        token_id = next(token.token_id for token in client.tokens() if token.name == name)
    assert command(running, "token", "revoke", token_id).returncode == 0
    assert re.search(rf"{name} +{token_id} .*revoked", command(running, "token", "list").stdout)
    with Client(running.url, running.organization_id, secret) as client, pytest.raises(ProblemError) as refused:
        client.organization()
    assert (refused.value.status, refused.value.code) == (401, "unauthenticated")


def test_token_made_in_the_database_opens_the_api(running: Running, name: str) -> None:
    created = command(running, "token", "create", name, "--database")
    with Client(running.url, running.organization_id, created.stdout.strip()) as client:
        assert client.organization().organization_id == running.organization_id


def test_command_without_a_platform_says_to_start_one(tmp_path: Path) -> None:
    for arguments in (("status",), ("search", "anything"), ("kb", "list"), ("token", "create", "x", "--database")):
        refused = run_command(*arguments, "--data-dir", str(tmp_path))
        assert refused.returncode == 1
        assert "`analytiq up`" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_wrong_setting_is_named_without_a_traceback(running: Running) -> None:
    refused = run_command("status", environment={"ANALYTIQ_API__PORT": "eight thousand"})
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: The environment has settings that cannot be read: ANALYTIQ_API__PORT")


def test_client_names_the_wrong_fields(running: Running, name: str) -> None:
    with client_of(running) as client, pytest.raises(ProblemError) as refused:
        client.create_knowledge_base(name, chunk_size=0)
    assert refused.value.status == 400
    assert [problem.field for problem in refused.value.errors] == ["chunk_size"]
    assert refused.value.request_id


def test_client_says_that_nothing_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", "f" * 24, "aq_x") as client:
        assert not client.is_ready()
        with pytest.raises(UnreachableError, match="`analytiq up`"):
            client.organization()


def test_client_lists_across_pages(running: Running, name: str) -> None:
    with client_of(running) as client:
        for number in range(103):
            client.create_tag(f"{name}-{number:03}")
        assert [tag.name for tag in client.tags(name_search=name)] == [f"{name}-{number:03}" for number in range(103)]


def test_client_takes_a_document_through_its_life(running: Running, files: Path, name: str) -> None:
    path = files / f"{name}-bridge.txt"
    with client_of(running) as client:
        tag = client.ensure_tag(name)
        sent: list[int] = []
        uploaded = client.upload([path], tag_ids=[tag.tag_id], metadata={"year": 1702}, on_bytes=sent.append)
        assert sum(sent) == path.stat().st_size
        document_id = uploaded.documents[0].document_id
        assert document_id is not None
        (settled,) = client.wait_until_indexed([document_id])
        assert settled.metadata == {"year": 1702}
        assert client.document_text(document_id).pages[0].text == path.read_text()

        again = client.upload([path], on_duplicate=DuplicatePolicy.CREATE)
        assert again.created == 1
        changed = client.update_document(document_id, document_name=f"{name}-renamed.txt")
        assert changed.document_name == f"{name}-renamed.txt"
        client.delete_document(document_id)
        with pytest.raises(ProblemError, match=document_id):
            client.document(document_id)
