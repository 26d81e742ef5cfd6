"""Jobs of prompts."""

from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import CleanPromptPayload, PromptMembershipPayload, RunPromptPayload
from analytiq.models.prompt_run import PromptRun


def run_request(run: PromptRun) -> JobRequest:
    """Return the job that executes a run.

    The job is heavy: models take seconds, and small jobs need not queue behind them. An automatic run is bulk.
    """
    return JobRequest(
        payload=RunPromptPayload(prompt_id=run.prompt_id, run_id=run.id, document_id=run.document_id),
        organization_id=run.organization_id,
        priority=Priority.BULK if run.is_automatic else Priority.INTERACTIVE,
        is_heavy=True,
    )


def resuming_request(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that enqueues a prompt's unfinished runs after a restore, since archives hold no jobs."""
    return JobRequest(
        payload=RunPromptPayload(prompt_id=prompt_id),
        organization_id=organization_id,
        priority=Priority.BULK,
    )


def prompt_changed(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that finds the documents for a new version of a prompt with tags."""
    return JobRequest(payload=PromptMembershipPayload(prompt_id=prompt_id), organization_id=organization_id)


def clean_prompt_request(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that removes the data of a deleted prompt."""
    return JobRequest(
        payload=CleanPromptPayload(prompt_id=prompt_id),
        organization_id=organization_id,
        priority=Priority.CLEANING,
    )
