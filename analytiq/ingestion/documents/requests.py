"""The jobs that a change of a document enqueues."""

from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import CleanDocumentPayload, ExtractPayload
from analytiq.models.webhook import WebhookEvent, WebhookEventType

HEAVY_BYTES = 5 * 1024 * 1024
"""Extraction of larger files takes seconds to minutes, of most files milliseconds. The page count is unknown."""


def extract_request(
    organization_id: str, document_id: str, *, byte_size: int = 0, priority: int = Priority.INTERACTIVE
) -> JobRequest:
    """Return the job that extracts the document's file; 0 bytes: unknown or irrelevant."""
    return JobRequest(
        payload=ExtractPayload(document_id=document_id),
        organization_id=organization_id,
        priority=priority,
        is_heavy=byte_size > HEAVY_BYTES,
    )


def clean_request(organization_id: str, document_id: str, *, priority: int = Priority.CLEANING) -> JobRequest:
    """Return the job that deletes the files and texts that the document's row no longer refers to."""
    return JobRequest(
        payload=CleanDocumentPayload(document_id=document_id),
        organization_id=organization_id,
        priority=priority,
    )


def removed_event(document_id: str) -> WebhookEvent:
    """Return the event of a document's deletion."""
    return WebhookEvent.of_document(WebhookEventType.DOCUMENT_REMOVED, document_id)
