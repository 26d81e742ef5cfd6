"""`/reconcile` and `analytiq reconcile`: damage is told by name and mended, over HTTP and at the terminal."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from bson import ObjectId

from analytiq.client import Client
from tests.e2e.driving import (
    UNKNOWN_ID,
    accepted,
    database_of,
    eventually,
    problem_of,
    unique,
)
from tests.e2e.running_platform import Running, client_of, make_organization, run_command


class Damaged:
    """An organization with one document in one knowledge base, whose vectors are taken away."""

    def __init__(self, running: Running, folder: Path) -> None:
        self._running = running
        self.organization_id, self.token = make_organization(running, "Damaged")
        self.client = Client(running.url, self.organization_id, self.token)
        tag = self.client.ensure_tag("papers")
        self.kb = self.client.create_knowledge_base("Papers", tag_ids=[tag.tag_id])
        path = folder / unique("paper.txt")
        path.write_text("The heron waits in the reeds until the fish forget it.")
        uploaded = self.client.upload([path], tag_ids=[tag.tag_id]).documents[0]
        assert uploaded.document_id is not None
        self.name = path.name
        self.document_id = uploaded.document_id
        self.client.wait_until_indexed([self.document_id])
        # A worker counts half a second after the job.
        with database_of(running.data_dir) as database:
            eventually(
                lambda: database["knowledge_bases"].count_documents(
                    {"_id": ObjectId(self.kb.kb_id), "document_count": 1, "status": "active"}
                )
            )

    def lose_vectors(self) -> None:
        with database_of(self._running.data_dir) as database:
            database[f"kb_vectors_{self.kb.kb_id}"].delete_many({})

    def vectors(self) -> int:
        with database_of(self._running.data_dir) as database:
            return database[f"kb_vectors_{self.kb.kb_id}"].count_documents({})

    def types(self, *arguments: str) -> str:
        """Run a command that succeeds, and return its output."""
        environment = {
            "ANALYTIQ_URL": self._running.url,
            "ANALYTIQ_ORGANIZATION_ID": self.organization_id,
            "ANALYTIQ_TOKEN": self.token,
        }
        finished = run_command(*arguments, environment=environment)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout + finished.stderr

    def operator_types(self, *arguments: str) -> str:
        """Run a command without a token that succeeds, and return its output."""
        finished = run_command(*arguments, "--data-dir", str(self._running.data_dir))
        assert finished.returncode == 0, finished.stderr
        return finished.stdout + finished.stderr


@pytest.fixture(scope="module")
def damaged(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Damaged]:
    made = Damaged(running, tmp_path_factory.mktemp("papers"))
    with made.client:
        yield made


@pytest.fixture
def http(running: Running, damaged: Damaged) -> Iterator[httpx.Client]:
    with client_of(running.url, damaged.organization_id, damaged.token) as client:
        yield client


def test_run_over_http_names_the_document_and_mends_it(damaged: Damaged, http: httpx.Client) -> None:
    damaged.lose_vectors()
    dry = accepted(http.post(f"/knowledge-bases/{damaged.kb.kb_id}/reconcile", json={"dry_run": True}), 202)
    eventually(lambda: accepted(http.get(f"/reconcile/runs/{dry['run_id']}"))["state"] == "done")
    report = accepted(http.get(f"/reconcile/runs/{dry['run_id']}"))
    assert report["counts"] == {"hollow": 1}
    assert (report["repairs"], report["more"], report["kb_id"]) == (0, {}, damaged.kb.kb_id)
    (found,) = report["drift"]
    assert (found["kind"], found["document_id"], found["document_name"], found["kb_name"]) == (
        "hollow", damaged.document_id, damaged.name, "Papers",
    )  # fmt: skip
    assert damaged.vectors() == 0
    wet = accepted(http.post("/reconcile", json={}, headers={"Idempotency-Key": unique("run")}), 202)
    eventually(lambda: damaged.vectors() == 1)
    eventually(lambda: accepted(http.get(f"/reconcile/runs/{wet['run_id']}"))["state"] == "done")
    runs = accepted(http.get("/reconcile/runs"))
    assert [run["run_id"] for run in runs["runs"]][:2] == [wet["run_id"], dry["run_id"]]
    assert "drift" not in runs["runs"][0]


def test_same_idempotency_key_asks_for_one_run(http: httpx.Client) -> None:
    headers = {"Idempotency-Key": unique("once")}
    first, second = (accepted(http.post("/reconcile", json={}, headers=headers), 202) for _ in range(2))
    assert first["run_id"] == second["run_id"]


def test_wrong_calls_are_refused_by_name(http: httpx.Client) -> None:
    problem_of(http.post("/reconcile", json={"depth": "deep"}), 400, field="depth")
    problem_of(http.post("/reconcile", json={"kb_id": UNKNOWN_ID}), 400, field="kb_id")
    problem_of(http.post(f"/knowledge-bases/{UNKNOWN_ID}/reconcile", json={}), 404)
    problem_of(http.get(f"/reconcile/runs/{UNKNOWN_ID}"), 404)


def test_commands_find_mend_and_show(damaged: Damaged) -> None:
    eventually(lambda: damaged.vectors() == 1)
    assert "Nothing was found" in damaged.types("reconcile", "--full")
    damaged.lose_vectors()
    dry = damaged.types("reconcile", "--kb", "Papers", "--dry-run")
    assert damaged.name in dry
    assert "1 found, nothing changed" in dry
    mended = damaged.types("reconcile")
    assert "1 found, 1 being mended" in mended
    eventually(lambda: damaged.vectors() == 1)
    listed = damaged.types("reports")
    assert "1 hollow" in listed
    latest = damaged.client.reconcile_runs(limit=1).items[0]
    assert damaged.name in damaged.types("reports", latest.run_id)
    assert latest.run_id[:10] in listed
    waiting = damaged.types("reconcile", "--rebuild-cache", "--no-wait")
    assert "is waiting for a worker" in waiting


def test_operator_has_everything_looked_at(damaged: Damaged) -> None:
    eventually(lambda: damaged.vectors() == 1)
    damaged.lose_vectors()
    dry = damaged.operator_types("reconcile", "--everything", "--dry-run")
    assert damaged.name in dry
    assert damaged.organization_id in dry
    assert "nothing changed" in dry
    damaged.operator_types("reconcile", "--everything", "--full")
    eventually(lambda: damaged.vectors() == 1)
    lines = damaged.operator_types("reports", "--everything").splitlines()
    run_id = next(line.split()[0] for line in lines if "quick, dry" in line)
    assert any("full" in line for line in lines)
    assert damaged.name in damaged.operator_types("reports", "--everything", run_id)
    assert "1 hollow" in damaged.types("reports", "--limit", "1"), "what was found of an organization is told to it"
