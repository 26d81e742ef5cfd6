"""Retention: deletes an organization's documents and prompt runs by age; off by default."""

from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.ingestion.documents.service import Documents
from analytiq.models.organization import Organization
from analytiq.storage.repositories.retention import RetentionRepository

log = structlog.get_logger(__name__)

MOST_DAYS = 36_500
BOUND = 1000
"""Most documents, and runs on texts, deleted by a pass for one organization; the next pass continues."""


class Retention:
    """The retention periods of organizations."""

    def __init__(self, rows: RetentionRepository, documents: Documents) -> None:
        self._rows = rows
        self._documents = documents

    async def set_days(self, organization_id: str, days: int | None) -> None:
        """Keep the organization's documents for a number of days after the upload of their file; None: forever.

        Raises:
            InvalidInputError: less than a day, or more than a century.
            NotFoundError: no such organization.
        """
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise InvalidInputError.of_field("document_days", f"Give 1 to {MOST_DAYS} days, or null to keep documents.")
        if not await self._rows.set_days(organization_id, days):
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")

    async def apply(self, organization: Organization) -> int:
        """Delete what the organization no longer keeps; return the number of documents."""
        days = organization.document_retention_days
        if not days:
            return 0
        deleted = 0
        moment = clock.now() - timedelta(days=days)
        expired = await self._rows.uploaded_before(organization.id, moment, limit=BOUND)
        for document in expired:
            try:
                await self._documents.delete(organization.id, document.id, request_id="retention")
            except NotFoundError:
                continue
            deleted += 1
        # A text sent with a run is personal data as much as a document is.
        runs = await self._rows.delete_runs_on_texts(organization.id, moment, limit=BOUND)
        if runs:
            log.info("retention.runs_deleted", organization_id=organization.id, runs=runs, days=days)
        if expired:
            log.info("retention.deleted", organization_id=organization.id, documents=len(expired), days=days)
        return deleted
