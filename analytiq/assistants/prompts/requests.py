"""The jobs that prompts ask for."""

from analytiq.models.job import JobKind, JobRequest, JobSubject, Priority
from analytiq.models.prompt_run import PromptRun


def run_request(run: PromptRun) -> JobRequest:
    """The job that makes a run.

    It is heavy: models take seconds, and small jobs need not queue behind them. A run of its own accord is bulk.
    """
    return JobRequest(
        kind=JobKind.RUN_PROMPT,
        organization_id=run.organization_id,
        subject=JobSubject(document_id=run.document_id, prompt_id=run.prompt_id, run_id=run.id),
        priority=Priority.BULK if run.is_automatic else Priority.INTERACTIVE,
        is_heavy=True,
    )


def resuming_request(organization_id: str, prompt_id: str) -> JobRequest:
    """The job that asks for the prompt's runs that are not over: their jobs are in no archive."""
    return JobRequest(
        kind=JobKind.RUN_PROMPT,
        organization_id=organization_id,
        subject=JobSubject(prompt_id=prompt_id),
        priority=Priority.BULK,
    )


def prompt_changed(organization_id: str, prompt_id: str) -> JobRequest:
    """The job that a new version of a prompt with tags enqueues: it finds the documents to run it on."""
    return JobRequest(
        kind=JobKind.MEMBERSHIP_PROMPT, organization_id=organization_id, subject=JobSubject(prompt_id=prompt_id)
    )


def clean_prompt_request(organization_id: str, prompt_id: str) -> JobRequest:
    """The job that removes what a deleted prompt had."""
    return JobRequest(
        kind=JobKind.CLEAN_PROMPT,
        organization_id=organization_id,
        subject=JobSubject(prompt_id=prompt_id),
        priority=Priority.CLEANING,
    )
