"""The commands that talk to a running platform, and the client that they use."""

import json
import platform
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from analytiq.client import Client, DuplicatePolicy, ProblemError, UnreachableError
from tests.e2e.running_platform import Running, run_command
from tests.integration.zip_files import zip_of


@pytest.fixture
def name() -> str:
    """A name that no other test uses."""
    return f"n{uuid4().hex[:12]}"


@pytest.fixture
def files(tmp_path: Path, name: str) -> Path:
    """Two files, one of them in a folder below."""
    folder = tmp_path / f"files-{name}"
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
    assert f"2 files: 2 created. 2 can be found in the knowledge base '{name}'." in ingested.stdout

    found = command(running, "search", "When does the ferry leave?", "--kb", name, "--top-k", "1")
    assert f"1. files-{name}/below/{name}-ferry.md, page 1   relevance 0." in found.stdout
    assert "six in the morning" in found.stdout

    narrowed = command(
        *(running, "search", "When does the ferry leave?", "--kb", name, "--document", f"{name}-bridge.txt", "--json")
    )
    assert {hit["source"] for hit in json.loads(narrowed.stdout)["results"]} == {f"files-{name}/{name}-bridge.txt"}


def test_parts_of_an_archive_are_waited_for_listed_and_shown(running: Running, tmp_path: Path, name: str) -> None:
    inner = zip_of({"deep.txt": f"{name} Whales sing in the deep."})
    (tmp_path / f"{name}.zip").write_bytes(zip_of({"inner.zip": inner, "birds.txt": f"{name} Birds migrate."}))
    ingested = command(running, "ingest", str(tmp_path / f"{name}.zip"), "--tag", name, "--kb", name)
    counted = f"3 parts were found in them as documents of their own: 3 can be found in the knowledge base '{name}'."
    assert counted in ingested.stdout
    listed = command(running, "documents", "list", "--parent", f"{name}.zip").stdout.splitlines()[1:]
    assert sorted(line.split()[-1] for line in listed) == [f"{name}.zip/birds.txt", f"{name}.zip/inner.zip"]
    shown = command(running, "documents", "show", f"{name}.zip/inner.zip/deep.txt").stdout
    assert re.search(rf"found in +{name}\.zip/inner\.zip \([0-9a-f]{{24}}\), path deep\.txt", shown)
    assert re.search(r"parts +2\n", command(running, "documents", "show", f"{name}.zip").stdout)


def test_second_ingest_sends_nothing_and_adds_the_tag_that_is_missing(running: Running, files: Path, name: str) -> None:
    assert command(running, "ingest", str(files), "--tag", name).returncode == 0
    again = command(
        *(running, "ingest", str(files), "--tag", f"{name}-other", "--kb", f"{name}-new", "--metadata", "year=2024")
    )
    assert again.returncode == 0, again.stderr
    assert "Added missing tags or metadata to 2 documents" in again.stdout
    assert f"2 files: 2 already there. 2 can be found in the knowledge base '{name}-new'." in again.stdout
    with client_of(running) as client:
        tags = [client.ensure_tag(each).tag_id for each in (name, f"{name}-other")]
        found = list(client.documents(tag_ids=tags))
    assert [document.metadata for document in found] == [{"year": 2024}] * 2


def test_directory_that_changed_is_followed(running: Running, files: Path, name: str) -> None:
    assert command(running, "ingest", str(files), "--tag", name, "--kb", name).returncode == 0
    with client_of(running) as client:
        before = {item.document_name: item.document_id for item in client.documents(folder=files.name)}
        (by_hand,) = client.upload([files / f"{name}-bridge.txt"], root=files, folder=f"{files.name}/by hand").documents
    (files / f"{name}-bridge.txt").write_text(f"{name} The toll is nine crowns now.")
    (files / "below" / f"{name}-ferry.md").unlink()
    (files / "new.txt").write_text(f"{name} Another text.")

    again = command(running, "ingest", str(files), "--tag", name)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "2 files: 1 created, 1 replaced. " in again.stdout
    assert f"vanished  {files.name}/below/{name}-ferry.md" in again.stdout
    assert "1 is no longer in the directory; --delete removes them." in again.stdout
    found = command(running, "search", "What is the toll?", "--kb", name, "--json")
    assert "four crowns" not in found.stdout
    assert "nine crowns" in found.stdout

    last = command(running, "ingest", str(files), "--tag", name, "--delete")
    assert "2 files: 2 already there, 1 deleted." in last.stdout
    with client_of(running) as client:
        after = {item.document_name: item.document_id for item in client.documents(folder=files.name)}
    bridge = f"{files.name}/{name}-bridge.txt"
    assert after[bridge] == before[bridge]
    assert by_hand.document_id in after.values()  # nothing is deleted that was not ingested from here
    assert set(after) == {bridge, f"{files.name}/new.txt", f"{files.name}/by hand/{name}-bridge.txt"}


def test_directory_of_the_same_name_elsewhere_is_kept_apart(
    running: Running, files: Path, name: str, tmp_path: Path
) -> None:
    assert command(running, "ingest", str(files), "--no-wait").returncode == 0
    other = tmp_path / "other" / files.name
    other.mkdir(parents=True)
    (other / f"{name}-bridge.txt").write_text("Another bridge.")
    refused = command(running, "ingest", str(other), "--delete")
    assert refused.returncode == 1
    assert f"came from '{platform.node()}:{files}'" in refused.stderr
    apart = command(running, "ingest", str(other), "--as", f"{name}-apart", "--no-wait")
    assert apart.returncode == 0
    assert "1 file: 1 created." in apart.stdout
    moved = command(running, "ingest", str(other), "--as", files.name, "--delete", "--no-wait")
    assert "1 file: 1 replaced, 1 deleted." in moved.stdout


def test_file_that_cannot_be_read_fails_alone_and_ends_with_code_1(running: Running, files: Path, name: str) -> None:
    (files / f"{name}-broken.pdf").write_bytes(b"%PDF-1.7\nthis is no PDF at all")
    (files / f"{name}-empty.txt").write_bytes(b"")
    ingested = command(running, "ingest", str(files), str(files / f"{name}-empty.txt"), "--tag", name)
    assert ingested.returncode == 1
    assert f"failed  {files.name}/{name}-broken.pdf: " in ingested.stdout
    assert re.search(rf"skipped  \S*{name}-empty\.txt: empty", ingested.stdout)
    assert re.search(rf"failed  {name}-empty\.txt: ", ingested.stdout)
    assert "4 files: 4 created, 1 skipped. 0 can be found in a knowledge base, 2 failed." in ingested.stdout
    with client_of(running) as client:
        tag = client.ensure_tag(name)
        states = {item.document_name: item.state for item in client.documents(tag_ids=[tag.tag_id])}
    assert states[f"{files.name}/{name}-bridge.txt"] == "extracted"


def test_two_files_of_one_name_do_not_replace_each_other(running: Running, files: Path, name: str) -> None:
    (files / "below" / f"{name}-bridge.txt").write_text("Another bridge.")
    pair = [str(files / f"{name}-bridge.txt"), str(files / "below" / f"{name}-bridge.txt")]
    ingested = command(running, "ingest", *pair, "--on-duplicate", "replace")
    assert ingested.returncode == 1
    assert ingested.stdout.count("another of these files has the same name") == 2


def test_file_that_is_no_version_of_its_namesake_is_said_to_be_another(
    running: Running, files: Path, name: str
) -> None:
    bridge = files / f"{name}-bridge.txt"
    assert command(running, "ingest", str(bridge), "--no-wait").returncode == 0
    bridge.write_text("Another toll.")
    again = command(running, "ingest", str(bridge), "--no-wait")
    assert "another document has this name; --on-duplicate replace" in again.stdout


def test_file_of_an_item_replaces_the_items_document(running: Running, files: Path, name: str) -> None:
    bridge = files / f"{name}-bridge.txt"
    item = ["ingest", str(bridge), "--source", "wiki", "--external-id", name, "--no-wait"]
    assert "1 file: 1 created." in command(running, *item, "--external-version", "1").stdout
    bridge.write_text("Another toll.")
    assert "1 file: 1 already there." in command(running, *item, "--external-version", "1").stdout
    assert "1 file: 1 replaced." in command(running, *item, "--external-version", "2").stdout
    with client_of(running) as client:
        (document,) = client.documents(source="wiki", external_id=name)
    assert document.external_identity is not None
    assert document.external_identity.version == "2"
    refused = command(running, "ingest", str(files), "--source", "wiki", "--external-id", name)
    assert (refused.returncode, "Give one file" in refused.stderr) == (1, True)
    refused = command(running, "ingest", str(bridge), "--external-id", name)
    assert (refused.returncode, "Give --source and --external-id together" in refused.stderr) == (1, True)


def test_ctrl_c_says_what_goes_on_without_the_command(running: Running, files: Path, name: str) -> None:
    arguments = ["ingest", str(files), "--tag", name, "--watch", "--data-dir", str(running.data_dir)]
    process = subprocess.Popen(
        [sys.executable, "-m", "analytiq.cli", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert any("2 files: 2 created." in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. 2 documents are uploaded. Extraction and indexing continue without this command" in errors


def test_watched_directory_is_followed(running: Running, files: Path, name: str) -> None:
    arguments = ["ingest", str(files), "--tag", name, "--watch", "--delete", "--data-dir", str(running.data_dir)]
    process = subprocess.Popen(
        [sys.executable, "-m", "analytiq.cli", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert any("2 files: 2 created." in line for line in process.stdout)
        (files / f"{name}-bridge.txt").write_text("Nine crowns.")
        (files / "below" / f"{name}-ferry.md").unlink()
        assert any("1 file: 1 replaced, 1 deleted." in line for line in process.stdout)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_two_ingestions_that_make_one_knowledge_base_at_once_share_it(running: Running, files: Path, name: str) -> None:
    with ThreadPoolExecutor(2) as threads:
        arguments = (running, "ingest", str(files), "--tag", name, "--kb", name, "--no-wait")
        done = list(threads.map(lambda _: command(*arguments), range(2)))
    assert [item.returncode for item in done] == [0, 0], [item.stderr for item in done]
    with client_of(running) as client:
        assert [item.name for item in client.knowledge_bases(name_search=name)] == [name]


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
