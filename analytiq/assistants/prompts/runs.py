"""Runs of prompts: request, read, cancel. `running` executes them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import structlog

from analytiq import clock
from analytiq.assistants.prompts.requests import run_request
from analytiq.errors import ConflictError, FieldError, InvalidInputError, NotFoundError
from analytiq.inference.llm.service import ChatService
from analytiq.jobs.queue.handling import when_dead
from analytiq.models.document import Failure
from analytiq.models.job import Job, JobState
from analytiq.models.job_payloads import RunPromptPayload
from analytiq.models.organization import Organization
from analytiq.models.prompt import PromptVersion
from analytiq.models.prompt_run import UNFINISHED, PromptRun, RunStatus
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.prompt_runs import RunOutcome, RunQuery
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

MOST_DOCUMENTS = 1000
"""Most documents of one call."""


@dataclass(frozen=True, slots=True)
class RunSubject:
    """The input of a prompt: documents, or a text."""

    document_ids: tuple[str, ...] = ()
    text: str | None = None


class PromptRuns:
    """Runs of an organization's prompts."""

    def __init__(self, rows: Repositories, chat: ChatService) -> None:
        self._connection = rows.connection
        self._runs = rows.prompt_runs
        self._documents = rows.documents
        self._jobs = rows.jobs
        self._chat = chat

    async def request(
        self,
        organization: Organization,
        version: PromptVersion,
        subject: RunSubject,
        *,
        request_id: str | None = None,
    ) -> list[PromptRun]:
        """Request a run on each document, or on the text; jobs execute them.

        Raises:
            InvalidInputError: a document is not the organization's, or the model cannot be used.
        """
        document_ids = list(dict.fromkeys(subject.document_ids))
        if bool(document_ids) == (subject.text is not None):
            raise InvalidInputError.of_field(
                "document_ids", "A run needs either documents or a `text`. Name one of the two."
            )
        await self._require_documents(organization.id, document_ids)
        await self._chat.choose(organization, version.configuration.model)
        now = clock.now()
        runs = [
            PromptRun(
                id=new_id(),
                organization_id=organization.id,
                prompt_id=version.prompt_id,
                version=version.version,
                document_id=document_id,
                input_text=subject.text,
                created_at=now,
            )
            for document_id in document_ids or [None]
        ]

        async def commit(session: Session) -> None:
            await self._runs.insert(session, runs)
            await self._jobs.enqueue([run_request(run) for run in runs], request_id=request_id, session=session)

        await run_in_transaction(self._connection, commit)
        return runs

    async def get(self, organization_id: str, run_id: str) -> PromptRun:
        """Return the run with its steps."""
        run = await self._runs.get(organization_id, run_id)
        if run is None:
            raise NotFoundError(f"No run has the id {run_id!r}. List the prompt's runs to find it.")
        return run

    async def page(
        self, organization_id: str, query: RunQuery, *, skip: int, limit: int
    ) -> tuple[list[PromptRun], int]:
        """Return a page of runs without their steps, latest first, and the count of matches."""
        return await self._runs.page(organization_id, query, skip=skip, limit=limit)

    async def latest_of(self, organization_id: str, prompt_ids: Collection[str]) -> dict[str, PromptRun]:
        """Return the latest run by prompt id, without steps and texts; prompts that never ran are left out."""
        return await self._runs.latest_of(organization_id, prompt_ids)

    async def cancel(self, organization_id: str, run_id: str) -> PromptRun:
        """Cancel a run: no further call is made, and a current call is aborted within seconds.

        Raises:
            NotFoundError: there is no such run.
            ConflictError: the run is over.
        """
        run = await self.get(organization_id, run_id)
        failure = Failure(
            code="cancelled", detail="Cancelled by a user. Run the prompt again to get an answer.", at=clock.now()
        )
        outcome = RunOutcome(RunStatus.CANCELLED, error=failure)
        if run.status not in UNFINISHED or not await self._runs.finish(run, outcome):
            raise ConflictError(f"The run {run_id!r} is over and cannot be cancelled.", code="run_over")
        # A waiting job needs no stop: it finds the run cancelled.
        job = await self._jobs.of_organization(organization_id, run_request(run).deduplication_key)
        if job is not None and job.state is JobState.RUNNING:
            await self._jobs.cancel(organization_id, job.id, failure)
        log.info("prompts.run_cancelled", run_id=run_id, was=run.status.value)
        return await self.get(organization_id, run_id)

    @when_dead(RunPromptPayload)
    async def fail_run(self, job: Job, payload: RunPromptPayload, failure: Failure) -> None:
        """Record on the run that its job was dead-lettered."""
        run = None if payload.run_id is None else await self._runs.get(job.organization_id, payload.run_id)
        if run is not None:
            await self._runs.finish(run, RunOutcome(RunStatus.FAILED, error=failure.for_owner()))

    async def _require_documents(self, organization_id: str, document_ids: Sequence[str]) -> None:
        known = await self._documents.names(organization_id, document_ids)
        unknown = [
            FieldError(
                f"document_ids[{place}]", f"No document has the id {document_id!r}. List the documents to find it."
            )
            for place, document_id in enumerate(document_ids)
            if document_id not in known
        ]
        if unknown:
            raise InvalidInputError(
                f"{len(unknown)} of the documents do not exist in this organization. Leave them out, and"
                " request the runs again.", errors=unknown,
                code="unknown_document",
            )  # fmt: skip
