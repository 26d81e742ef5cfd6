"""Jobs of prompts."""

from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority
from analytiq.models.prompt_run import PromptRun


def run_request(run: PromptRun) -> JobRequest:
    """Return the job that executes a run.

    The job is heavy: models take seconds, and small jobs need not queue behind them. An automatic run is bulk.
    """
    return JobRequest(
        kind=JobKind.RUN_PROMPT,
        organization_id=run.organization_id,
        subject=JobSubject(document_id=run.document_id, prompt_id=run.prompt_id, run_id=run.id),
        priority=Priority.BULK if run.is_automatic else Priority.INTERACTIVE,
        is_heavy=True,
    )


def resuming_request(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that enqueues a prompt's unfinished runs after a restore, since archives hold no jobs."""
    return JobRequest(
        kind=JobKind.RUN_PROMPT,
        organization_id=organization_id,
        subject=JobSubject(prompt_id=prompt_id),
        priority=Priority.BULK,
    )


def prompt_changed(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that finds the documents for a new version of a prompt with tags."""
    return JobRequest(
        kind=JobKind.MEMBERSHIP_PROMPT, organization_id=organization_id, subject=JobSubject(prompt_id=prompt_id)
    )


def clean_prompt_request(organization_id: str, prompt_id: str) -> JobRequest:
    """Return the job that removes the data of a deleted prompt."""
    return JobRequest(
        kind=JobKind.CLEAN_PROMPT,
        organization_id=organization_id,
        subject=JobSubject(prompt_id=prompt_id),
        priority=Priority.CLEANING,
    )
