"""Payloads, deduplication keys and lanes of jobs."""

from itertools import combinations

import pytest
from pydantic import ValidationError

from analytiq import clock
from analytiq.models import job_payloads
from analytiq.models.job import Job, JobKind, JobPayload, JobRequest, JobState, JobSubject
from analytiq.models.job_payloads import (
    CleanDocumentPayload,
    DocumentMembershipPayload,
    DropKbPayload,
    ExtractPayload,
    KbMembershipPayload,
    ReconcilePayload,
    RunPromptPayload,
    SweepPayload,
    SyncPayload,
)

PAYLOADS = [
    value
    for value in vars(job_payloads).values()
    if isinstance(value, type) and issubclass(value, JobPayload) and value is not JobPayload
]


def request(payload: JobPayload) -> JobRequest:
    return JobRequest(payload=payload, organization_id="o")


def queued(kind: JobKind, **subject: str) -> Job:
    now = clock.now()
    return Job(
        id="id", kind=kind, organization_id="o", lane="l", subject=JobSubject(**subject), state=JobState.AVAILABLE,
        priority=0, run_at=now, wanted=1, created_at=now, updated_at=now,
    )  # fmt: skip


def test_each_kind_has_one_payload() -> None:
    assert sorted(payload.kind for payload in PAYLOADS) == sorted(JobKind)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__name__)
def test_payload_is_stored_and_read_back(payload: type[JobPayload]) -> None:
    written = payload.model_validate({field: f"the {field}" for field in payload.model_fields})
    stored = JobSubject.model_validate(request(written).subject.model_dump())
    assert payload.from_job(queued(payload.kind, **stored.model_dump(exclude_none=True))) == written


def test_row_without_a_name_has_no_payload() -> None:
    with pytest.raises(ValidationError, match="document_id"):
        SyncPayload.from_job(queued(JobKind.SYNC, kb_id="k"))


def test_key_names_the_kind_and_all_that_it_is_about() -> None:
    assert request(SyncPayload(kb_id="k", document_id="d")).deduplication_key == "sync:k:d"
    assert request(SweepPayload(kb_id="k", generation_id="g")).deduplication_key == "sweep:k:g"
    assert request(ExtractPayload(document_id="d")).deduplication_key == "extract:d"
    assert request(ReconcilePayload(run_id="r")).deduplication_key == "reconcile:r"
    assert request(RunPromptPayload(prompt_id="p")).deduplication_key == "run_prompt:p"
    run = RunPromptPayload(prompt_id="p", run_id="r", document_id="d")
    assert request(run).deduplication_key == "run_prompt:d:p:r"


def test_different_work_has_different_keys() -> None:
    requests = [
        request(ExtractPayload(document_id="d")),
        request(DocumentMembershipPayload(document_id="d")),
        request(CleanDocumentPayload(document_id="d")),
        request(KbMembershipPayload(kb_id="k")),
        request(DropKbPayload(kb_id="k")),
        request(SyncPayload(kb_id="k", document_id="d")),
        request(SyncPayload(kb_id="k", document_id="d2")),
    ]
    for first, second in combinations(requests, 2):
        assert first.deduplication_key != second.deduplication_key


def test_urgency_and_delay_are_no_part_of_the_key() -> None:
    plain = request(ExtractPayload(document_id="d"))
    urgent = plain.model_copy(update={"priority": 99, "delay_seconds": 7.0})
    assert plain.deduplication_key == urgent.deduplication_key


def test_lane_is_of_an_organization_a_knowledge_base_and_a_kind() -> None:
    lanes = {
        request(SyncPayload(kb_id="k", document_id="1")).lane,
        request(SyncPayload(kb_id="k", document_id="2")).lane,
        request(SyncPayload(kb_id="k2", document_id="1")).lane,
        request(ExtractPayload(document_id="1")).lane,
        request(ExtractPayload(document_id="2")).lane,
    }
    assert len(lanes) == 3
