"""`analytiq jobs …` and `analytiq workers …`, and the client's calls that they use."""

import re
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from analytiq.client import Client, Job, ProblemError
from tests.e2e.driving import UNKNOWN_ID, eventually, unique
from tests.e2e.remote_provider import MODEL, give_key
from tests.e2e.running_platform import Running, make_organization, run_command
from tests.fakes.embedding_server import EmbeddingServer, Failure


@dataclass(frozen=True, slots=True)
class Operator:
    """A person at a terminal, whose environment names an organization of its own, and that person's client."""

    client: Client
    environment: dict[str, str]
    provider: EmbeddingServer
    tag_id: str
    kb_id: str
    folder: Path

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return run_command(*arguments, environment=self.environment)

    def sees(self, *arguments: str) -> str:
        """Run a command that succeeds, and return its results and remarks."""
        finished = self.types(*arguments)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout + finished.stderr

    def upload(self, *failures: Failure) -> str:
        """Upload a file whose embedding meets these; answers the document's id."""
        self.provider.script(*failures)
        path = self.folder / unique("j.txt")
        path.write_text(f"The {path.stem} of the bridge is four crowns.")
        document_id = self.client.upload([path], tag_ids=[self.tag_id]).documents[0].document_id
        assert document_id is not None
        return document_id

    def dead_job(self) -> tuple[str, Job]:
        """A document that the provider refused, and its job."""
        document_id = self.upload(Failure.UNAUTHORIZED)

        def dead() -> Job | None:
            page = self.client.jobs_page(states=["dead"], document_id=document_id)
            return page.items[0] if page.items else None

        job: Job = eventually(dead)
        return document_id, job


@pytest.fixture
def operator(running: Running, tmp_path: Path) -> Iterator[Operator]:
    organization_id, token = make_organization(running, "Operator")
    environment = {"ANALYTIQ_URL": running.url, "ANALYTIQ_ORGANIZATION_ID": organization_id, "ANALYTIQ_TOKEN": token}
    with EmbeddingServer() as provider, Client(running.url, organization_id, token) as client:
        give_key(running, organization_id, provider)
        tag = client.create_tag("bridges")
        kb = client.create_knowledge_base("tolls", tag_ids=[tag.tag_id], embedding_model=MODEL)
        # Its first look for documents has ended: later it would request again what a test sees given up.
        eventually(lambda: client.knowledge_base(kb.kb_id).status == "active")
        yield Operator(client, environment, provider, tag.tag_id, kb.kb_id, tmp_path)
        provider.release()


@pytest.fixture
def workers(running: Running) -> Iterator[None]:
    """Whatever a test sets for all workers is taken back after it."""
    yield
    run_command("workers", "reset", "--data-dir", str(running.data_dir))


def workers_command(running: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("workers", *arguments, "--data-dir", str(running.data_dir))


def test_job_that_was_given_up_is_listed_shown_and_replayed(operator: Operator) -> None:
    document_id, job = operator.dead_job()
    listed = operator.sees("jobs", "list", "--state", "dead")
    assert re.search(rf"^{job.job_id} +dead +1/\d+ +\S+ \S+ UTC +provider_refused$", listed, re.MULTILINE), listed
    eventually(lambda: operator.client.job(job.job_id).attempts)
    shown = operator.sees("jobs", "show", job.job_id)
    assert "dead (FAILURE)" in shown
    assert "provider_refused: The provider of" in shown
    assert re.search(r'^  File "analytiq/\S+\.py", line \d+, in \w+$', shown, re.MULTILINE), shown
    assert 'File "/' not in shown, "the machine's paths are nobody's business"
    assert re.search(r"^1 +dead +\S+ \S+ UTC +\d+\.\d ", shown, re.MULTILINE), shown
    assert operator.provider.api_key not in shown
    assert "is waiting again" in operator.sees("jobs", "replay", job.job_id)
    (document,) = operator.client.wait_until_indexed([document_id])
    assert document.failures == []
    assert operator.client.document_status(document_id).status == "SUCCESS"
    log = operator.client.document_log(document_id)
    assert {attempt.outcome for attempt in log.attempts} >= {"dead", "done"}


def test_jobs_are_replayed_by_what_they_have_in_common(operator: Operator) -> None:
    first, _ = operator.dead_job()
    assert "0 jobs are waiting again" in operator.sees("jobs", "replay", "--kind", "extract")
    assert "1 job is waiting again" in operator.sees("jobs", "replay", "--kb", "tolls", "--error", "provider_refused")
    operator.client.wait_until_indexed([first])
    second, _ = operator.dead_job()
    assert "1 job is waiting again" in operator.sees("jobs", "replay", "--document", second)
    operator.client.wait_until_indexed([second])
    third, _ = operator.dead_job()
    assert "1 job is waiting again" in operator.sees("jobs", "replay", "--all")
    operator.client.wait_until_indexed([third])


def test_replay_asks_which_jobs_are_meant(operator: Operator) -> None:
    for arguments in ((), ("extract:x", "--all"), ("--all", "--kind", "sync"), ("extract:x", "--error", "cancelled")):
        refused = operator.types("jobs", "replay", *arguments)
        assert refused.returncode == 1
        assert "Name either one job, or --all" in refused.stderr


def test_running_job_is_stopped_and_is_given_up_then(operator: Operator) -> None:
    document_id = operator.upload(Failure.SLOW)
    operator.provider.wait_for_slow_call(60)
    (job,) = operator.client.jobs_page(states=["running"], document_id=document_id).items
    assert re.search(rf"^{job.job_id} +running +1/", operator.sees("jobs", "list"), re.MULTILINE)
    assert "is being stopped" in operator.sees("jobs", "cancel", job.job_id)
    eventually(lambda: operator.client.job(job.job_id).state == "dead")
    assert "cancelled: Cancelled by a user" in operator.sees("jobs", "show", job.job_id)
    assert "is cancelled" in operator.sees("jobs", "cancel", job.job_id)


def test_jobs_are_counted_and_cancelled_by_what_they_have_in_common(operator: Operator) -> None:
    operator.dead_job()
    counted = operator.sees("jobs", "count")
    assert re.search(r"^sync +0 +0 +1$", counted, re.MULTILINE), counted
    assert re.search(r"^1 +provider_refused", counted, re.MULTILINE), counted
    operator.provider.retry_after = "3600"
    operator.upload(*[Failure.RATE_LIMITED] * 20)
    eventually(lambda: operator.client.jobs_page(states=["available"], error_code="rate_limited").items)
    assert "0 jobs are cancelled" in operator.sees("jobs", "cancel", "--kind", "extract", "--state", "available")
    assert "1 job is cancelled" in operator.sees("jobs", "cancel", "--kb", "tolls", "--error", "rate_limited")
    assert operator.client.job_counts().dead == 2
    assert {group.error_code for group in operator.client.job_errors()} == {"provider_refused", "cancelled"}
    for arguments in ((), ("extract:x", "--all"), ("extract:x", "--state", "running"), ("--state", "running")):
        refused = operator.types("jobs", "cancel", *arguments)
        assert refused.returncode == 1
        assert "Name either one job, or --all" in refused.stderr


def test_list_without_a_job_says_so_and_unknown_job_is_an_error(operator: Operator) -> None:
    assert "No jobs match" in operator.sees("jobs", "list", "--kind", "drop_kb", "--document", UNKNOWN_ID)
    for action in ("show", "replay", "cancel"):
        refused = operator.types("jobs", action, "../tags")
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
    refused = operator.types("jobs", "show", f"extract:{UNKNOWN_ID}")
    assert f"No job has the id 'extract:{UNKNOWN_ID}'" in refused.stderr


def test_client_tells_that_a_waiting_job_cannot_be_replayed(operator: Operator) -> None:
    operator.provider.retry_after = "3600"
    document_id = operator.upload(*[Failure.RATE_LIMITED] * 20)

    def waiting() -> Job | None:
        page = operator.client.jobs_page(
            states=["available"], kinds=["sync"], kb_id=operator.kb_id, error_code="rate_limited"
        )
        return page.items[0] if page.items else None

    job: Job = eventually(waiting)
    assert (job.document_id, job.task_state) == (document_id, "PENDING")
    with pytest.raises(ProblemError) as refused:
        operator.client.replay_job(job.job_id)
    assert (refused.value.status, refused.value.code) == (409, "job_not_dead")
    assert operator.client.cancel_job(job.job_id).state == "dead"


@pytest.mark.usefixtures("workers")
def test_workers_take_up_another_concurrency_and_show_it(running: Running) -> None:
    def shows(running_at_most: int) -> str | None:
        listed = workers_command(running, "list")
        assert listed.returncode == 0, listed.stderr
        pattern = rf"^worker-\w+ +{re.escape(socket.gethostname())} +\d+ +\d+ +{running_at_most} +\S+ \S+ UTC$"
        return listed.stdout + listed.stderr if re.search(pattern, listed.stdout, re.MULTILINE) else None

    assert "its own number of concurrent jobs" in eventually(lambda: shows(4))
    changed = workers_command(running, "set", "9")
    assert "each worker runs 9 concurrent jobs" in changed.stderr
    assert "Each runs 9 concurrent jobs" in eventually(lambda: shows(9))
    assert "its own number of concurrent jobs" in workers_command(running, "reset").stderr
    assert "its own number of concurrent jobs" in eventually(lambda: shows(4))


def test_workers_are_not_set_to_what_makes_no_sense(running: Running) -> None:
    for value in ("0", "257", "many"):
        assert workers_command(running, "set", value).returncode == 2


def test_workers_of_no_platform_are_an_error_that_says_to_start_one(tmp_path: Path) -> None:
    refused = run_command("workers", "list", "--data-dir", str(tmp_path))
    assert refused.returncode == 1
    assert "`analytiq up`" in refused.stderr
