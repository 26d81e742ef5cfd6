"""Jobs that repair drift: the same as those of changes, so that each operation has one implementation."""

from analytiq.ingestion.documents.requests import extract_request
from analytiq.ingestion.membership import sync_request
from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import SweepPayload
from analytiq.operations.reconcile.report import Drift


def sync_of(drift: Drift) -> JobRequest:
    """Return the job that indexes the drift's document in its knowledge base, or removes it."""
    return sync_request(drift.organization_id, drift.kb_id or "", drift.document_id or "", priority=Priority.BULK)


def sweep_of(drift: Drift) -> JobRequest:
    """Return the job that deletes the vectors of the drift's generation."""
    return JobRequest(
        payload=SweepPayload(kb_id=drift.kb_id or "", generation_id=drift.generation_id or ""),
        organization_id=drift.organization_id,
        priority=Priority.CLEANING,
    )


def extract_of(drift: Drift) -> JobRequest:
    """Return the job that extracts the drift's document."""
    return extract_request(drift.organization_id, drift.document_id or "", byte_size=drift.byte_size)
