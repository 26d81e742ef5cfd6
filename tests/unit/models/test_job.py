"""Deduplication keys and lanes of jobs."""

from itertools import combinations

from analytiq.models.job import JobKind, JobRequest, JobSubject


def request(kind: JobKind, **subject: str) -> JobRequest:
    return JobRequest(kind=kind, organization_id="o", subject=JobSubject(**subject))


def test_key_names_the_kind_and_all_that_it_is_about() -> None:
    assert request(JobKind.SYNC, kb_id="k", document_id="d").deduplication_key == "sync:k:d"
    assert request(JobKind.SWEEP, kb_id="k", generation_id="g").deduplication_key == "sweep:k:g"
    assert request(JobKind.EXTRACT, document_id="d").deduplication_key == "extract:d"


def test_different_work_has_different_keys() -> None:
    requests = [
        request(JobKind.EXTRACT, document_id="d"),
        request(JobKind.MEMBERSHIP_DOCUMENT, document_id="d"),
        request(JobKind.CLEAN_DOCUMENT, document_id="d"),
        request(JobKind.MEMBERSHIP_KB, kb_id="k"),
        request(JobKind.DROP_KB, kb_id="k"),
        request(JobKind.SYNC, kb_id="k", document_id="d"),
        request(JobKind.SYNC, kb_id="k", document_id="d2"),
    ]
    for first, second in combinations(requests, 2):
        assert first.deduplication_key != second.deduplication_key


def test_urgency_and_delay_are_no_part_of_the_key() -> None:
    plain = request(JobKind.EXTRACT, document_id="d")
    urgent = plain.model_copy(update={"priority": 99, "delay_seconds": 7.0})
    assert plain.deduplication_key == urgent.deduplication_key


def test_lane_is_of_an_organization_a_knowledge_base_and_a_kind() -> None:
    lanes = {
        request(JobKind.SYNC, kb_id="k", document_id="1").lane,
        request(JobKind.SYNC, kb_id="k", document_id="2").lane,
        request(JobKind.SYNC, kb_id="k2", document_id="1").lane,
        request(JobKind.EXTRACT, document_id="1").lane,
        request(JobKind.EXTRACT, document_id="2").lane,
    }
    assert len(lanes) == 3
