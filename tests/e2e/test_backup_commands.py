"""`analytiq backup`, `restore` and `erase`, as an operator types them, beside a platform that runs."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from analytiq.settings import child_environment
from tests.e2e.driving import (
    Body,
    accepted,
    database_of,
    eventually,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    upload,
    wait_until_active,
    wait_until_indexed,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command

NO_PATIENCE = {"ANALYTIQ_ERASURE__QUIET_SECONDS": "0"}
TEXT = b"The lighthouse keeper counts ships at night."


@dataclass(frozen=True, slots=True)
class House:
    """An organization with a document that can be found."""

    running: Running
    client: httpx.Client
    organization_id: str
    kb_id: str
    document_id: str

    @property
    def url(self) -> str:
        """The organization's own, without the slash that a client puts behind it."""
        return str(self.client.base_url).rstrip("/")

    def types(self, *arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return run_command(
            *arguments, "--data-dir", str(self.running.data_dir), environment={**NO_PATIENCE, **(environment or {})}
        )

    def sees(self, *arguments: str) -> str:
        """Run a command that succeeds, and return its output."""
        finished = self.types(*arguments)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout + finished.stderr

    def fails(self, *arguments: str) -> str:
        """The sentence of a command that fails."""
        finished = self.types(*arguments)
        assert finished.returncode == 1, finished.stdout
        assert "Traceback" not in finished.stderr
        return finished.stderr

    def is_gone(self) -> bool:
        with database_of(self.running.data_dir) as database:
            return not database["docs"].count_documents({"organization_id": self.organization_id})


@pytest.fixture
def house(running: Running) -> Iterator[House]:
    organization_id, token = make_organization(running, "Lighthouse")
    with client_of(running.url, organization_id, token) as client:
        tag = make_tag(client)
        kb_id = make_knowledge_base(client, [tag])
        document = upload(client, "keeper.txt", TEXT, tag_ids=[tag], metadata='{"uploader": "anna"}')["document_id"]
        wait_until_indexed(client, document)
        wait_until_active(client, kb_id)
        yield House(running, client, organization_id, kb_id, document)


def found(client: httpx.Client, kb_id: str) -> list[str]:
    return [item["content"] for item in search(client, kb_id, "Who counts ships?")["results"]]


def test_backup_is_checked_erased_and_brought_back(house: House, tmp_path: Path) -> None:
    path = tmp_path / "lighthouse.analytiq"
    made = house.sees("backup", "--to", str(path), "--organization", house.organization_id)
    assert "Lighthouse" in made
    (record,) = accepted(house.client.get("/backups"))["backups"]
    assert (record["kind"], record["outcome"], record["command"]) == ("backup", "done", "analytiq backup")
    assert record["sha256"] in made
    assert (record["byte_size"], record["has_secrets"]) == (path.stat().st_size, False)
    assert {"collection": "docs", "rows": 1} in record["contents"]
    assert "It contains no access tokens" in made
    checked = run_command("backup", "--check", str(path))
    assert checked.returncode == 0, checked.stderr
    assert re.search(r"^docs +1 +0\.0$", checked.stdout, re.MULTILINE), checked.stdout
    before = found(house.client, house.kb_id)
    assert "already exists" in house.fails("restore", str(path))
    erased = house.sees("erase", "organization", house.organization_id, "--yes", "--ledger", "delete")
    assert "a search of every collection afterwards found nothing" in erased
    assert house.client.get(house.url).status_code == 401
    assert "was erased after this archive was made" in house.fails("restore", str(path))
    dry = house.sees("restore", str(path), "--even-if-erased", "--dry-run")
    assert "Nothing was changed" in dry
    assert house.is_gone()
    restored = house.types("restore", str(path), "--even-if-erased")
    assert restored.stdout.split()[-1] == house.organization_id, restored.stderr
    token = house.sees("token", "create", "back", "--database", "--organization", house.organization_id).split()
    secret = next(word for word in token if word.startswith("aq_"))
    with client_of(house.running.url, house.organization_id, secret) as client:
        assert [item["command"] for item in accepted(client.get("/backups"))["backups"]] == ["analytiq restore"]
        assert found(client, house.kb_id) == before
        assert client.get(f"/documents/{house.document_id}/original").content == TEXT


def test_restore_instead_of_what_is_there_keeps_its_tokens(house: House, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    house.sees("backup", "--to", str(path), "--organization", house.organization_id)
    later = upload(house.client, "later.txt", b"This came later.")["document_id"]
    dry = house.sees("restore", str(path), "--replace", "--dry-run")
    assert "would be erased first" in dry
    assert accepted(house.client.get(f"/documents/{later}"))
    assert (
        "Erase the organization's present data" in house.types("restore", str(path), "--replace").stdout
    )  # it asks, nobody answers
    assert accepted(house.client.get(f"/documents/{later}"))
    house.sees("restore", str(path), "--replace", "--yes")
    assert house.client.get(f"/documents/{later}").status_code == 404
    assert any("lighthouse" in text for text in found(house.client, house.kb_id))


def test_copy_is_made_through_a_pipe(house: House) -> None:
    command = [sys.executable, "-m", "analytiq.cli"]
    data_dir = ["--data-dir", str(house.running.data_dir)]
    environment = child_environment({"ANALYTIQ_LOG_LEVEL": "INFO"})
    backup = [*command, "backup", "--to", "-", "--organization", house.organization_id, *data_dir]
    made = subprocess.run(backup, capture_output=True, check=False, timeout=120, env=environment)
    assert made.returncode == 0, made.stderr.decode()
    restore = [*command, "restore", "-", "--as-new", "--name", "Copy", *data_dir]
    restored = subprocess.run(
        restore, input=made.stdout, capture_output=True, check=False, timeout=120, env=environment
    )
    assert restored.returncode == 0, restored.stderr.decode()
    copy_id = restored.stdout.decode().split()[-1]
    assert copy_id != house.organization_id
    with database_of(house.running.data_dir) as database:
        organization = database["organizations"].find_one({"name": "Copy"})
        assert organization is not None
        assert str(organization["_id"]) == copy_id
        assert database["docs"].count_documents({"organization_id": copy_id}) == 1


def test_several_organizations_must_be_chosen_from(house: House, tmp_path: Path) -> None:
    refused = house.fails("backup", "--to", str(tmp_path / "archive"))
    # The first of them are named, by their ids.
    assert re.search(r"There are \d+ organizations\. Choose one .* [0-9a-f]{24} \(", refused), refused
    assert "not both" in house.fails("backup", "--to", str(tmp_path / "a"), "--everything", "--organization", "x")
    assert "--to FILE" in house.fails("backup")
    assert not list(tmp_path.iterdir())


def test_everything_says_that_the_key_is_needed(house: House, tmp_path: Path) -> None:
    path = tmp_path / "everything"
    assert "ANALYTIQ_SECRET_KEY" in house.sees("backup", "--to", str(path), "--everything")
    checked = run_command("backup", "--check", str(path))
    assert "with access tokens and encrypted keys" in checked.stderr


def test_damaged_archive_is_refused_with_a_sentence(house: House, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    house.sees("backup", "--to", str(path), "--organization", house.organization_id)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert "is damaged at byte" in house.fails("restore", str(path), "--as-new")
    path.write_bytes(content[:100])
    assert "is incomplete" in house.fails("restore", str(path), "--as-new")
    path.write_text("something else")
    assert "not an archive of Analytiq" in house.fails("restore", str(path), "--as-new")
    assert "cannot be read" in house.fails("restore", str(tmp_path / "none"), "--as-new")


def test_documents_erased_since_the_backup_do_not_come_back_for_good(house: House, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    house.sees("backup", "--to", str(path), "--organization", house.organization_id)
    dry = house.sees("erase", "documents", house.organization_id, "--metadata", "uploader=anna", "--dry-run")
    assert "a dry run: nothing was erased" in dry
    done = house.sees("erase", "documents", house.organization_id, "--metadata", "uploader=anna", "--yes")
    assert "a search of every collection afterwards found nothing" in done
    assert found(house.client, house.kb_id) == []
    restored = house.sees("restore", str(path), "--replace", "--yes")
    assert "1 documents erased since the backup are being erased again" in restored
    eventually(lambda: house.client.get(f"/documents/{house.document_id}").status_code == 404)
    listed = house.sees("erase", "list", "--organization", house.organization_id)
    assert listed.count("documents") == 3
    erasure_id = re.findall(r"^([0-9a-f]{24}) +documents +", listed, re.MULTILINE)[0]
    shown = eventually(lambda: report_if_done(house, erasure_id))
    assert "by restore" in shown


def report_if_done(house: House, erasure_id: str) -> str | None:
    shown = house.sees("erase", "show", erasure_id)
    return shown if re.search(r"^state +done$", shown, re.MULTILINE) else None


def test_wrong_calls_of_erase_are_sentences(house: House) -> None:
    assert "No organization has the id" in house.fails("erase", "organization", "f" * 24, "--yes")
    assert "Say which documents" in house.fails("erase", "documents", house.organization_id, "--yes")
    assert "no tag named 'none'" in house.fails("erase", "documents", house.organization_id, "--tag", "none", "--yes")
    assert "KEY=VALUE" in house.fails("erase", "documents", house.organization_id, "--metadata", "x", "--yes")
    assert "No erasure has the id" in house.fails("erase", "show", "f" * 24)
    assert "either --days or --off" in house.fails("erase", "retention", house.organization_id)
    assert found(house.client, house.kb_id)


def test_cache_is_erased_and_retention_is_set(house: House) -> None:
    assert "embedding_cache" in house.sees("erase", "cache", house.organization_id)
    eventually(lambda: "embedding_cache" not in house.sees("erase", "cache", house.organization_id))
    assert "30 days after" in house.sees("erase", "retention", house.organization_id, "--days", "30")
    assert accepted(house.client.get("/retention")) == {"document_days": 30}
    house.sees("erase", "retention", house.organization_id, "--off")
    assert accepted(house.client.get("/retention")) == {"document_days": None}


def test_owner_erases_the_organization_over_rest(house: House) -> None:
    problem_of(house.client.delete(house.url), 400, field="confirm")
    problem_of(house.client.delete(house.url, params={"confirm": "lighthouse"}), 400, field="confirm")
    assert found(house.client, house.kb_id)
    report: Body = accepted(house.client.delete(house.url, params={"confirm": "Lighthouse"}), 202)
    assert (report["kind"], report["state"]) == ("organization", "erasing")
    problem_of(house.client.get(house.url), 401)
    eventually(house.is_gone)  # by a worker
    shown = house.sees("erase", "show", report["erasure_id"])
    assert f"{house.organization_id}" in shown
    house.sees("erase", "continue", report["erasure_id"])


def test_owner_erases_documents_over_rest_and_reads_the_report(house: House) -> None:
    body = {"kind": "documents", "metadata": {"uploader": "anna"}, "reason": "asked for by Anna"}
    dry = accepted(house.client.post("/erasures", json={**body, "dry_run": True}), 202)
    assert (dry["documents"], dry["state"], dry["dry_run"]) == (1, "done", True)
    asked = accepted(house.client.post("/erasures", json=body, headers={"Idempotency-Key": "once"}), 202)
    again = accepted(house.client.post("/erasures", json=body, headers={"Idempotency-Key": "once"}), 202)
    assert asked["erasure_id"] == again["erasure_id"]

    def done() -> Body | None:
        report = accepted(house.client.get(f"/erasures/{asked['erasure_id']}"))
        return report if report["state"] == "done" else None

    report = eventually(done)
    assert (report["documents"], report["left"], report["reason"]) == (1, {}, "asked for by Anna")
    assert accepted(house.client.get("/documents"))["total_count"] == 0
    listed = accepted(house.client.get("/erasures"))
    assert [item["erasure_id"] for item in listed["erasures"]] == [asked["erasure_id"], dry["erasure_id"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "organization"}, "kind"),
        ({"kind": "documents", "metadata": {"$where": "1"}}, "metadata.$where"),
        ({"kind": "documents", "metadata": {"a.b": "1"}}, "metadata.a.b"),
        ({"kind": "documents", "names": "x"}, "names"),
    ],
)
def test_wrong_requests_to_erase_are_refused(house: House, body: Body, field: str) -> None:
    problem_of(house.client.post("/erasures", json=body), 400, field=field)
    problem_of(house.client.post("/erasures", json={"kind": "documents"}), 400, code="nothing_selected")
    problem_of(house.client.put("/retention", json={"document_days": 0}), 400, field="document_days")
    assert found(house.client, house.kb_id)
