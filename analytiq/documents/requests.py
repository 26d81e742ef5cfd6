"""The jobs that a change of a document enqueues."""

from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority


def extract_request(organization_id: str, document_id: str) -> JobRequest:
    """Read the document's file."""
    return JobRequest(
        kind=JobKind.EXTRACT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.INTERACTIVE,
    )


def clean_request(organization_id: str, document_id: str) -> JobRequest:
    """Delete the files and texts that the document's row no longer names."""
    return JobRequest(
        kind=JobKind.CLEAN_DOCUMENT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.CLEANING,
    )
