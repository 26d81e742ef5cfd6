"""Jobs over HTTP: looking at them, replaying and cancelling them, and the log and status of a document."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.e2e.driving import (
    MALFORMED_IDS,
    UNKNOWN_ID,
    Body,
    accepted,
    eventually,
    get_document,
    make_knowledge_base,
    make_tag,
    problem_of,
    search,
    unique,
    upload,
    wait_until_active,
    wait_until_indexed,
    wait_until_read,
)
from tests.e2e.remote_provider import MODEL, give_key
from tests.e2e.running_platform import Running, client_of, make_organization
from tests.fakes.embedding_server import EmbeddingServer, Failure

AN_HOUR = "3600"


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    """A provider of its own for each test, whose calls that hang are let go at the end."""
    with EmbeddingServer() as server:
        yield server
        server.release()


@pytest.fixture
def tenant(running: Running, provider: EmbeddingServer) -> Iterator[httpx.Client]:
    """A client of an organization of the test's own, which has a key for the provider."""
    organization_id, token = make_organization(running, "Jobs")
    give_key(running, organization_id, provider)
    with client_of(running.url, organization_id, token) as opened:
        yield opened


@pytest.fixture
def indexing(tenant: httpx.Client, provider: EmbeddingServer) -> "Indexing":
    """An organization with a tag and a knowledge base of the provider's model."""
    tag = make_tag(tenant)
    kb = make_knowledge_base(tenant, [tag], embedding_model=MODEL, chunker_type="token", chunk_size=16, chunk_overlap=0)
    wait_until_active(tenant, kb)
    return Indexing(tenant, provider, tag, kb)


class Indexing:
    """Documents that meet something of the provider on their way."""

    def __init__(self, client: httpx.Client, provider: EmbeddingServer, tag: str, kb: str) -> None:
        self.client = client
        self.provider = provider
        self.tag = tag
        self.kb = kb

    def document_that_meets(self, *failures: Failure | None, text: str | None = None) -> str:
        """Upload a text whose embedding meets these in turn; answers the document's id."""
        self.provider.script(*failures)
        # Unlike any other, or its embedding would be in the cache.
        text = text or unique("Lemurs leap between the baobabs")
        return str(upload(self.client, unique("j.txt"), text.encode(), tag_ids=[self.tag])["document_id"])

    def sync_of(self, document_id: str) -> str:
        """The id of the job that indexes it."""
        return f"sync:{self.kb}:{document_id}"

    def until_job(self, job_id: str, holds: Callable[[Body], Any]) -> Body:
        """The job, as soon as there is one and it is so."""

        def found() -> Body | None:
            response = self.client.get(f"/jobs/{job_id}")
            return job if response.status_code == 200 and holds(job := response.json()) else None

        job: Body = eventually(found)
        return job

    def dead_sync(self) -> tuple[str, str]:
        """A document that the provider refused, and the job that was given up."""
        document_id = self.document_that_meets(Failure.UNAUTHORIZED)
        job_id = self.sync_of(document_id)
        self.until_job(job_id, lambda job: job["state"] == "dead")
        return document_id, job_id

    def waiting_sync(self) -> tuple[str, str]:
        """A document whose provider asks to wait for an hour, and the job that waits."""
        self.provider.retry_after = AN_HOUR
        document_id = self.document_that_meets(*[Failure.RATE_LIMITED] * 20)
        job_id = self.sync_of(document_id)
        self.until_job(job_id, lambda job: job["state"] == "available" and job["error"])
        return document_id, job_id


def status_of(client: httpx.Client, document_id: str) -> str:
    answer = accepted(client.get(f"/documents/{document_id}/status"))
    assert answer == {"document_id": document_id, "status": answer["status"]}
    return str(answer["status"])


def test_job_that_a_provider_refused_is_inspected_mended_and_replayed(indexing: Indexing) -> None:
    client = indexing.client
    document_id, job_id = indexing.dead_sync()
    query = {"state": "dead", "error_code": "provider_refused"}
    listed = accepted(client.get("/jobs", params=query))
    assert (listed["total_count"], listed["skip"], [job["job_id"] for job in listed["jobs"]]) == (1, 0, [job_id])
    shown = accepted(client.get(f"/jobs/{job_id}"))
    (plain,) = listed["jobs"]
    (named,) = accepted(client.get("/jobs", params={**query, "include": "names"}))["jobs"]
    names = [accepted(client.get(f"/documents/{document_id}"))["document_name"]]
    names.append(accepted(client.get(f"/knowledge-bases/{indexing.kb}"))["name"])
    assert [named.pop(name) for name in ("document_name", "kb_name")] == names
    assert [plain.pop(name) for name in ("document_name", "kb_name")] == [None, None]
    assert shown.items() >= plain.items()
    assert plain == named
    assert (shown["kind"], shown["state"], shown["task_state"], shown["attempt"]) == ("sync", "dead", "FAILURE", 1)
    assert (shown["kb_id"], shown["document_id"], shown["generation_id"]) == (indexing.kb, document_id, None)
    assert (shown["worker"], shown["progress"], shown["is_cancel_wanted"]) == (None, None, False)
    assert shown["error"]["code"] == "provider_refused"
    assert shown["error"]["detail"]
    assert "ProviderRefusedError" in shown["stack"]
    assert 'File "/' not in shown["stack"]
    assert shown["max_attempts"] >= shown["attempt"]
    assert indexing.provider.api_key not in str(shown)
    (attempt,) = eventually(lambda: accepted(client.get(f"/jobs/{job_id}"))["attempts"])
    assert (attempt["outcome"], attempt["task_state"], attempt["attempt"]) == ("dead", "FAILURE", 1)
    assert attempt["started_at"] <= attempt["ended_at"]
    assert re.fullmatch(r"worker-[0-9a-f]{8}", attempt["worker"]), "it says nothing of the machine"
    assert status_of(client, document_id) == "FAILURE"

    # The cause is mended: the provider refuses nothing any more.
    assert accepted(client.post(f"/jobs/{job_id}/replay"), 202) == {"replayed": 1}
    wait_until_indexed(client, document_id)
    assert search(client, indexing.kb, "lemurs")["results"][0]["document_id"] == document_id
    assert status_of(client, document_id) == "SUCCESS"
    problem_of(client.get(f"/jobs/{job_id}"), 404, code="not_found")


def test_job_tells_the_request_that_caused_it(indexing: Indexing) -> None:
    indexing.provider.script(Failure.UNAUTHORIZED)
    form = {"tag_ids": indexing.tag}
    files = [("files", (unique("j.txt"), b"Lemurs leap."))]
    sent = indexing.client.post("/documents", files=files, data=form, headers={"X-Request-Id": "request-of-mine"})
    document_id = sent.json()["documents"][0]["document_id"]
    job = indexing.until_job(indexing.sync_of(document_id), lambda job: job["state"] == "dead")
    assert job["request_id"] == "request-of-mine"


def test_replay_of_many_is_narrowed_and_all_must_be_said(indexing: Indexing) -> None:
    client = indexing.client
    document_id, job_id = indexing.dead_sync()
    problem_of(client.post("/jobs/replay", json={}), 400, field="all")
    problem_of(client.post("/jobs/replay", json={"all": False}), 400, field="all")
    problem_of(client.post("/jobs/replay", json={"all": True, "kind": "sync"}), 400, field="all")
    problem_of(client.post("/jobs/replay", json={"kind": "no such kind"}), 400, field="kind")
    problem_of(client.post("/jobs/replay", json={"kinds": ["sync"]}), 400, field="kinds")
    for narrowing in ({"kind": "extract"}, {"kb_id": UNKNOWN_ID}, {"document_id": "x"}, {"error_code": "cancelled"}):
        assert accepted(client.post("/jobs/replay", json=narrowing), 202) == {"replayed": 0}
    assert accepted(client.get(f"/jobs/{job_id}"))["state"] == "dead"
    narrowed = {"kind": "sync", "kb_id": indexing.kb, "document_id": document_id, "error_code": "provider_refused"}
    assert accepted(client.post("/jobs/replay", json=narrowed), 202) == {"replayed": 1}
    wait_until_indexed(client, document_id)

    other, _ = indexing.dead_sync()
    assert accepted(client.post("/jobs/replay", json={"all": True}), 202) == {"replayed": 1}
    wait_until_indexed(client, other)
    assert accepted(client.post("/jobs/replay", json={"all": True}), 202) == {"replayed": 0}


def test_replay_with_an_idempotency_key_is_done_once(indexing: Indexing) -> None:
    document_id, job_id = indexing.dead_sync()
    headers = {"Idempotency-Key": unique("replay")}
    first = indexing.client.post(f"/jobs/{job_id}/replay", headers=headers)
    wait_until_indexed(indexing.client, document_id)
    second = indexing.client.post(f"/jobs/{job_id}/replay", headers=headers)
    assert (accepted(first, 202), accepted(second, 202)) == ({"replayed": 1}, {"replayed": 1})
    assert second.headers["Idempotency-Replayed"] == "true"


def test_job_that_waits_is_cancelled_at_once(indexing: Indexing) -> None:
    client = indexing.client
    document_id, job_id = indexing.waiting_sync()
    eventually(lambda: status_of(client, document_id) == "PENDING")  # the job that read it may end a little later
    problem_of(client.post(f"/jobs/{job_id}/replay"), 409, code="job_not_dead")
    cancelled = accepted(client.post(f"/jobs/{job_id}/cancel"), 202)
    assert (cancelled["state"], cancelled["task_state"], cancelled["error"]["code"]) == ("dead", "FAILURE", "cancelled")
    assert status_of(client, document_id) == "FAILURE"
    state = get_document(client, document_id)["knowledge_bases"][0]
    assert (state["state"], state["error"]["code"]) == ("failed", "cancelled")
    assert accepted(client.post(f"/jobs/{job_id}/cancel"), 202) == cancelled, "cancelling it again changes nothing"


def test_all_that_match_are_counted_cancelled_and_told_by_their_error(indexing: Indexing) -> None:
    client = indexing.client
    _, waiting = indexing.waiting_sync()
    counted = accepted(client.get("/jobs/counts"))
    kinds = {item["kind"]: item for item in counted["kinds"]}
    assert (kinds["sync"]["waiting"], kinds["sync"]["dead"], counted["dead"]) == (1, 0, 0)
    problem_of(client.post("/jobs/cancel", json={}), 400, field="all")
    problem_of(client.post("/jobs/cancel", json={"all": True, "kind": "sync"}), 400, field="all")
    problem_of(client.post("/jobs/cancel", json={"all": True, "state": "dead"}), 400, field="state")
    problem_of(client.post("/jobs/cancel", json={"kind": "drop_kb"}), 409, code="job_not_cancellable")
    none = {"cancelled": 0, "stopping": 0}
    assert accepted(client.post("/jobs/cancel", json={"kind": "extract"}), 202) == none
    assert accepted(client.post("/jobs/cancel", json={"kind": "sync", "state": "running"}), 202) == none
    narrowed = {"kind": "sync", "kb_id": indexing.kb, "state": "available"}
    assert accepted(client.post("/jobs/cancel", json=narrowed), 202) == {"cancelled": 1, "stopping": 0}
    assert accepted(client.get(f"/jobs/{waiting}"))["error"]["code"] == "cancelled"
    (group,) = accepted(client.get("/jobs/errors", params={"kb_id": indexing.kb}))["errors"]
    assert (group["error_code"], group["count"]) == ("cancelled", 1)
    assert accepted(client.get("/jobs/errors", params={"kind": "extract"})) == {"errors": []}
    assert accepted(client.get("/jobs/counts"))["dead"] == 1


def test_job_that_runs_is_cancelled_within_its_heartbeat_and_can_be_replayed(indexing: Indexing) -> None:
    client = indexing.client
    document_id = indexing.document_that_meets(Failure.SLOW)
    indexing.provider.wait_for_slow_call(60)
    job_id = indexing.sync_of(document_id)
    assert status_of(client, document_id) == "RUNNING"
    wanted = accepted(client.post(f"/jobs/{job_id}/cancel"), 202)
    assert (wanted["state"], wanted["task_state"], wanted["is_cancel_wanted"]) == ("running", "RUNNING", True)
    assert wanted["worker"]
    dead = indexing.until_job(job_id, lambda job: job["state"] == "dead")
    assert (dead["error"]["code"], dead["is_cancel_wanted"]) == ("cancelled", False)
    (attempt,) = eventually(lambda: accepted(client.get(f"/jobs/{job_id}"))["attempts"])
    assert (attempt["outcome"], attempt["error"]["code"]) == ("cancelled", "cancelled")
    assert status_of(client, document_id) == "FAILURE"
    indexing.provider.release()
    accepted(client.post(f"/jobs/{job_id}/replay"), 202)
    wait_until_indexed(client, document_id)


def test_log_of_a_document_shows_every_attempt_latest_first_and_what_waits(indexing: Indexing) -> None:
    client = indexing.client
    document_id, job_id = indexing.waiting_sync()

    def written() -> Body | None:
        log = accepted(client.get(f"/documents/{document_id}/log"))
        return log if len(log["attempts"]) == 3 else None

    log: Body = eventually(written)
    assert [(item["kind"], item["outcome"], item["task_state"]) for item in log["attempts"]] == [
        ("sync", "retried", "FAILURE"),
        ("membership_document", "done", "SUCCESS"),
        ("extract", "done", "SUCCESS"),
    ]
    assert log["attempts"][0]["error"]["code"] == "rate_limited"
    assert [(job["job_id"], job["task_state"]) for job in log["jobs"]] == [(job_id, "PENDING")]
    page = accepted(client.get(f"/documents/{document_id}/log", params={"skip": 1, "limit": 1}))
    assert (page["attempts"], page["total_count"], page["skip"]) == (log["attempts"][1:2], 3, 1)
    accepted(client.post(f"/jobs/{job_id}/cancel"), 202)
    assert accepted(client.get(f"/documents/{document_id}/log"))["jobs"] == []


def test_status_of_a_document_that_is_in_no_knowledge_base_or_cannot_be_read(client: httpx.Client) -> None:
    read = upload(client, unique("s.txt"), b"Lemurs leap between the baobabs.", tag_ids=[])["document_id"]
    wait_until_read(client, read)
    assert status_of(client, read) == "SUCCESS"
    broken = upload(client, unique("s.pdf"), b"%PDF-1.7\nthis is no PDF", tag_ids=[])["document_id"]
    wait_until_read(client, broken)
    assert status_of(client, broken) == "FAILURE"


def test_progress_is_shown_while_a_document_of_20_000_chunks_is_indexed(indexing: Indexing) -> None:
    client = indexing.client
    text = "\n".join(
        f"Sentence number {number} tells of lemurs in the year {1000 + number} quite plainly."
        for number in range(22_000)
    )
    # Some batches succeed, then one hangs: there the job can be looked at for as long as it takes.
    document_id = indexing.document_that_meets(*[None] * 25, Failure.SLOW, text=text)
    indexing.provider.wait_for_slow_call(90)
    job = indexing.until_job(indexing.sync_of(document_id), lambda job: job["progress"])
    assert job["state"] == "running"
    progress = job["progress"]
    assert progress["unit"] == "chunks"
    assert progress["total"] >= 20_000
    assert 0 < progress["done"] < progress["total"]
    state = get_document(client, document_id)["knowledge_bases"][0]
    assert (state["state"], state["progress"]["total"]) == ("indexing", progress["total"])
    assert status_of(client, document_id) == "RUNNING"
    indexing.provider.release()
    wait_until_indexed(client, document_id)
    assert status_of(client, document_id) == "SUCCESS"
    assert accepted(client.get(f"/knowledge-bases/{indexing.kb}"))["embedding_model"] == MODEL
    assert get_document(client, document_id)["knowledge_bases"][0]["chunk_count"] == progress["total"]


def test_jobs_and_logs_of_another_organization_are_unknown(indexing: Indexing, other_client: httpx.Client) -> None:
    document_id, job_id = indexing.dead_sync()
    before = accepted(indexing.client.get(f"/jobs/{job_id}"))
    for path in (f"/jobs/{job_id}", f"/documents/{document_id}/log", f"/documents/{document_id}/status"):
        problem_of(other_client.get(path), 404, code="not_found")
    for action in ("replay", "cancel"):
        problem_of(other_client.post(f"/jobs/{job_id}/{action}"), 404, code="not_found")
    for query in ({"document_id": document_id}, {"kb_id": indexing.kb}, {"state": "dead", "kb_id": indexing.kb}):
        assert accepted(other_client.get("/jobs", params=query))["jobs"] == []
    assert accepted(other_client.post("/jobs/replay", json={"kb_id": indexing.kb}), 202) == {"replayed": 0}
    after = accepted(indexing.client.get(f"/jobs/{job_id}"))
    assert {**after, "attempts": []} == {**before, "attempts": []}


@pytest.mark.parametrize("malformed", [*MALFORMED_IDS, UNKNOWN_ID, "extract:", ":::", f"extract:{UNKNOWN_ID}"])
def test_unknown_and_malformed_ids_are_404(client: httpx.Client, malformed: str) -> None:
    assert client.get(f"/jobs/{malformed}").status_code == 404
    assert client.post(f"/jobs/{malformed}/replay").status_code == 404
    assert client.post(f"/jobs/{malformed}/cancel").status_code == 404
    assert client.get(f"/documents/{malformed}/log").status_code == 404
    assert client.get(f"/documents/{malformed}/status").status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"state": "done"}, "state[0]"),
        ({"kind": "laundry"}, "kind[0]"),
        ({"limit": 101}, "limit"),
        ({"skip": -1}, "skip"),
        ({"kb_id": ""}, "kb_id"),
        ({"document_id": "a\0b"}, "document_id"),
        ({"error_code": "x" * 101}, "error_code"),
    ],
)
def test_wrong_query_of_a_list_names_its_field(client: httpx.Client, query: dict[str, Any], field: str) -> None:
    problem_of(client.get("/jobs", params=query), 400, field=field)


def test_list_is_narrowed_by_several_states_and_kinds_and_paged(indexing: Indexing) -> None:
    _, first = indexing.dead_sync()
    _, second = indexing.dead_sync()
    _, waiting = indexing.waiting_sync()

    def ids(**query: Any) -> list[str]:
        return [job["job_id"] for job in accepted(indexing.client.get("/jobs", params=query))["jobs"]]

    syncs = {"kind": ["sync", "extract"]}
    assert ids(**syncs) == [waiting, second, first]
    assert ids(**syncs, state=["dead", "running"]) == [second, first]
    assert ids(**syncs, limit=1, skip=1) == [second]
    assert ids(**syncs, state="available", error_code="rate_limited") == [waiting]
