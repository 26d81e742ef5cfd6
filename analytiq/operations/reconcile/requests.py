"""Which job mends which drift: the same that triggers enqueue, so that there is one way to do each thing."""

from analytiq.ingestion.documents.requests import clean_request, extract_request
from analytiq.ingestion.knowledge_bases.service import drop_request
from analytiq.ingestion.membership import sync_request
from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority
from analytiq.models.reconciliation import DriftKind
from analytiq.operations.reconcile.report import Drift


def request_for(drift: Drift) -> JobRequest | None:
    """The job that mends it; None where another repair does: pure."""
    organization_id, kb_id, document_id = drift.organization_id, drift.kb_id, drift.document_id
    match drift.kind:
        case DriftKind.MISSING | DriftKind.STALE | DriftKind.OUTDATED | DriftKind.HOLLOW | DriftKind.UNINDEXED if (
            kb_id and document_id
        ):
            return sync_request(organization_id, kb_id, document_id, priority=Priority.BULK)
        case DriftKind.ORPHAN if kb_id and drift.generation_id:
            return JobRequest(
                kind=JobKind.SWEEP,
                organization_id=organization_id,
                subject=JobSubject(kb_id=kb_id, generation_id=drift.generation_id),
                priority=Priority.CLEANING,
            )
        case DriftKind.HALF_DELETED if kb_id:
            return drop_request(organization_id, kb_id)
        case DriftKind.STUCK_DOCUMENT | DriftKind.LOST_TEXT if document_id:
            return extract_request(organization_id, document_id, byte_size=drift.byte_size)
        case DriftKind.ORPHANED_FILE if document_id:
            return clean_request(organization_id, document_id)
        case _:
            return None
