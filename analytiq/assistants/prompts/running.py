"""The job `run_prompt(run)`: read the input, let the engine run, commit the outcome."""

import asyncio
from dataclasses import dataclass

import structlog

from analytiq import clock
from analytiq.assistants.engine.loop import Finish, run_to_end
from analytiq.assistants.prompts.conversation import opening
from analytiq.assistants.prompts.recorder import RunRecorder, RunServices
from analytiq.assistants.prompts.requests import run_request
from analytiq.assistants.prompts.results import replacing
from analytiq.errors import InvalidInputError, LeaseLostError, NotFoundError, PermanentError
from analytiq.inference.tokens import count_tokens, prefix_end, without_surrogates
from analytiq.jobs.queue import retry
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.document import Document, Failure
from analytiq.models.job import Job
from analytiq.models.job_payloads import RunPromptPayload
from analytiq.models.organization import Organization
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import UNFINISHED, PromptRun, RunStatus
from analytiq.settings import PromptSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.repositories.prompt_runs import RunOutcome
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry import metrics, traces
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

RESUMED_AT_ONCE = 200
"""Jobs that one write enqueues."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """The input of a run. `cut_after`: the tokens kept of a longer text."""

    text: str
    name: str | None
    text_hash: str | None
    cut_after: int | None


class _RunOverError(Exception):
    """The run was cancelled or deleted before its outcome was stored: write nothing."""


class PromptRunning:
    """Handles the jobs of runs."""

    def __init__(self, rows: Repositories, services: RunServices, settings: PromptSettings) -> None:
        self._connection = rows.connection
        self._rows = rows
        self._chat = services.chat
        self._services = services
        self._settings = settings

    @job(RunPromptPayload)
    async def handle(self, running: RunningJob, payload: RunPromptPayload) -> None:
        """Execute the run or resume it; do nothing if it is over or gone.

        A job that names a prompt only enqueues the prompt's unfinished runs.
        """
        organization_id, run_id = running.job.organization_id, payload.run_id
        if run_id is None:
            await self._resume(running.job, payload.prompt_id)
            return
        run = await self._rows.prompt_runs.get(organization_id, run_id)
        organization = await self._rows.organizations.get(organization_id)
        if run is not None and run.status is RunStatus.FAILED:
            # A failed run has no job left, unless a dead-lettered one is replayed.
            run = await self._rows.prompt_runs.reopen(run)
        if run is None or organization is None or run.status not in UNFINISHED:
            return
        try:
            outcome = await self._outcome(organization, run)
        except LeaseLostError:
            now = await self._rows.prompt_runs.get(organization_id, run_id)
            if now is None or now.status not in UNFINISHED:
                return
            raise
        if outcome is not None:
            await self._commit(running, *outcome)

    async def _resume(self, job: Job, prompt_id: str) -> None:
        waiting = self._rows.prompt_runs.unfinished(job.organization_id, prompt_id, batch_size=RESUMED_AT_ONCE)
        async for batch in waiting:
            await self._rows.jobs.enqueue([run_request(run) for run in batch], request_id=job.request_id)

    async def _outcome(self, organization: Organization, run: PromptRun) -> tuple[PromptRun, RunOutcome] | None:
        """Return the outcome; if the subject is gone, delete the run and return None."""
        document: Document | None = None
        if run.document_id is not None:
            document = await self._rows.documents.get(organization.id, run.document_id)
        prompt = await self._rows.prompts.get(organization.id, run.prompt_id)
        version = await self._rows.prompts.version(organization.id, run.prompt_id, run.version)
        if prompt is None or version is None or (run.document_id is not None and document is None):
            await self._rows.prompt_runs.delete(organization.id, run.id)
            return None
        if run.is_automatic and not _is_wanted(run, prompt.version, prompt.configuration, document):
            return run, _failed(
                RunStatus.CANCELLED,
                "superseded",
                "The text, the tags or the prompt have changed since the run was requested.",
            )
        try:
            with traces.span("prompts.run", run_id=run.id, prompt_id=run.prompt_id):
                return await self._run(organization, run, version.configuration, document)
        except (InvalidInputError, NotFoundError, PermanentError) as error:
            # A retry would fail in the same way: the run shows the failure, and the job is done.
            now = await self._rows.prompt_runs.get(organization.id, run.id)
            return now or run, RunOutcome(RunStatus.FAILED, error=retry.failure_of(error).for_owner())

    async def _run(
        self, organization: Organization, run: PromptRun, configuration: PromptConfiguration, document: Document | None
    ) -> tuple[PromptRun, RunOutcome]:
        subject = await self._subject(organization, run, configuration, document)
        model = (await self._chat.choose(organization, configuration.model)).model
        # Calls paid for before a process died count against the budget, recorded as a step or not.
        paid = await self._rows.llm_usage.of_run(organization.id, run.id)
        usage = paid.model_copy(update={"searches": run.usage.searches, "spus": run.usage.spus})
        begun = await self._rows.prompt_runs.begin(run, model=model, text_hash=subject.text_hash, usage=usage)
        if begun is None:
            raise LeaseLostError(f"The run {run.id!r} was cancelled.")
        await checkpoint("prompts.run_begun")
        first = opening(configuration, subject.text, name=subject.name, cut_after=subject.cut_after, boundary=run.id)
        recorder = RunRecorder(self._services, organization, begun, configuration, first)
        move = await run_to_end(recorder)
        ended = recorder.run
        warnings = _warnings(subject, move.warning if isinstance(move, Finish) else None)
        if isinstance(move, Finish):
            is_structured = configuration.answer_schema is not None
            return ended, RunOutcome(
                RunStatus.SUCCEEDED, answer=move.answer, is_structured=is_structured, warnings=warnings
            )
        return ended, _failed(RunStatus.FAILED, move.code, move.detail, warnings)

    async def _subject(
        self, organization: Organization, run: PromptRun, configuration: PromptConfiguration, document: Document | None
    ) -> _Subject:
        text, name, text_hash = run.input_text or "", None, None
        if document is not None:
            if document.text_id is None:
                reason = document.error.detail if document.error else "Its text has not been extracted yet."
                raise NotFoundError(
                    f"The document has no text. {reason} Run the prompt again once it has one.", code="no_text"
                )
            text = (await self._rows.texts.read(organization.id, document.text_id)).text
            name, text_hash = document.document_name, document.text_hash
        most = self._settings.max_document_tokens
        if configuration.token_budget is not None:
            # The other half is for the prompt, searches and the answer.
            most = min(most, max(1, configuration.token_budget // 2))
        kept, is_cut = await asyncio.to_thread(_cut, text, most)
        return _Subject(kept, name, text_hash, most if is_cut else None)

    async def _commit(self, running: RunningJob, run: PromptRun, outcome: RunOutcome) -> None:
        """Write the outcome, its result and the end of the job in one transaction."""

        async def commit(session: Session) -> None:
            # First, so that a concurrent cancellation or deletion conflicts.
            if not await self._rows.prompt_runs.finish(run, outcome, session=session):
                raise _RunOverError
            if outcome.answer is not None and run.document_id is not None:
                if not await self._rows.documents.hold_for_result(session, run.organization_id, run.document_id):
                    raise _RunOverError
                before = await self._rows.prompt_results.get(
                    run.organization_id, run.prompt_id, run.version, run.document_id, session=session
                )
                result = replacing(before, run, answer=outcome.answer, is_structured=outcome.is_structured)
                await self._rows.prompt_results.put(session, result)
            await self._rows.jobs.finish(running.job, session=session)

        try:
            with running.finishing():
                await run_in_transaction(self._connection, commit)
                if outcome.status is RunStatus.FAILED and outcome.error is not None:
                    running.note_failure(outcome.error)
                running.note_finished()
        except _RunOverError:
            return
        metrics.prompt_runs.labels(status=outcome.status.value).inc()
        await checkpoint("prompts.run_committed")
        log.info(
            "prompts.run_ended", run_id=run.id, prompt_id=run.prompt_id, status=outcome.status.value,
            code=outcome.error.code if outcome.error else None, model_calls=run.usage.model_calls,
            tokens=run.usage.tokens, spus=run.usage.spus,
        )  # fmt: skip


def _is_wanted(
    run: PromptRun, latest_version: int, configuration: PromptConfiguration, document: Document | None
) -> bool:
    """Return whether an automatic run is still wanted; otherwise a newer run has been requested."""
    if document is None or run.version != latest_version:
        return False
    return document.text_hash == run.text_hash and not set(document.tag_ids).isdisjoint(configuration.tag_ids)


def _cut(text: str, max_tokens: int) -> tuple[str, bool]:
    whole = without_surrogates(text)
    if len(whole) <= max_tokens or count_tokens(whole) <= max_tokens:
        return whole, False
    return whole[: prefix_end(whole, 0, len(whole), max_tokens)], True


def _warnings(subject: _Subject, other: str | None) -> tuple[str, ...]:
    cut = (
        f"Only the first {subject.cut_after:,} tokens of the text were read." if subject.cut_after is not None else None
    )
    return tuple(warning for warning in (cut, other) if warning is not None)


def _failed(status: RunStatus, code: str, detail: str, warnings: tuple[str, ...] = ()) -> RunOutcome:
    return RunOutcome(status, error=Failure(code=code, detail=detail, at=clock.now()), warnings=warnings)
