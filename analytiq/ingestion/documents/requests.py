"""The jobs that a change of a document enqueues."""

from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority

HEAVY_BYTES = 5 * 1024 * 1024
"""A file above this takes seconds to minutes to read, where most take milliseconds. Pages are not known beforehand."""


def extract_request(organization_id: str, document_id: str, *, byte_size: int = 0) -> JobRequest:
    """Return the job that extracts the document's file; a size of 0 bytes means unknown or irrelevant."""
    return JobRequest(
        kind=JobKind.EXTRACT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.INTERACTIVE,
        is_heavy=byte_size > HEAVY_BYTES,
    )


def clean_request(organization_id: str, document_id: str) -> JobRequest:
    """Delete the files and texts that the document's row no longer names."""
    return JobRequest(
        kind=JobKind.CLEAN_DOCUMENT,
        organization_id=organization_id,
        subject=JobSubject(document_id=document_id),
        priority=Priority.CLEANING,
    )
