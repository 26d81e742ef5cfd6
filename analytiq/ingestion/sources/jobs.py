"""Jobs of sources."""

from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import CleanSourcePayload, RunSourcePayload
from analytiq.models.source import SourceRun


def run_request(run: SourceRun) -> JobRequest:
    """Return the job that begins or continues a run.

    It is heavy: a source that answers slowly holds a slot, and one slot of each worker stays free of such jobs. The
    run of a source that did not answer is slow, too: a worker gives all of those one slot.
    """
    return JobRequest(
        payload=RunSourcePayload(source_id=run.source_id, run_id=run.id),
        organization_id=run.organization_id,
        priority=Priority.BULK,
        is_heavy=True,
        is_slow=run.is_slow,
        request_id=run.request_id,
    )


def clean_source_request(organization_id: str, source_id: str) -> JobRequest:
    """Return the job that removes the data of a deleted source."""
    return JobRequest(
        payload=CleanSourcePayload(source_id=source_id), organization_id=organization_id, priority=Priority.CLEANING
    )
