"""The jobs that a change of a document enqueues."""

from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority

HEAVY_BYTES = 5 * 1024 * 1024
"""Extraction of larger files takes seconds to minutes, of most files milliseconds. The page count is unknown."""


def extract_request(organization_id: str, document_id: str, *, byte_size: int = 0) -> JobRequest:
    """Return the job that extracts the document's file; 0 bytes: unknown or irrelevant."""
    return JobRequest(
        kind=JobKind.EXTRACT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.INTERACTIVE,
        is_heavy=byte_size > HEAVY_BYTES,
    )


def clean_request(organization_id: str, document_id: str) -> JobRequest:
    """Return the job that deletes the files and texts that the document's row no longer refers to."""
    return JobRequest(
        kind=JobKind.CLEAN_DOCUMENT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.CLEANING,
    )
