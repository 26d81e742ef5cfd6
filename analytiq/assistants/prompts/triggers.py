"""Triggers of automatic runs: a document's text is ready, its tags change, or a prompt gets a version.

As in `analytiq.ingestion.membership`, a trigger is about its own side only and decides nothing: the job reads both
sides when it runs. A prompt runs once for each version and text, so duplicate and late triggers are harmless.
"""

from collections.abc import Sequence

import structlog

from analytiq.assistants.prompts.requests import run_request
from analytiq.jobs.queue.handling import follows, follows_batch, job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.job import Job
from analytiq.models.job_payloads import CleanPromptPayload, DocumentMembershipPayload, PromptMembershipPayload
from analytiq.models.prompt import Prompt
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)

RUNS_AT_ONCE = 100
"""Runs that one transaction creates."""


class PromptTriggers:
    """Handles the jobs that find documents to run a prompt on, and the job that cleans up a deleted prompt."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._prompts = rows.prompts
        self._runs = rows.prompt_runs
        self._results = rows.prompt_results
        self._documents = rows.documents
        self._jobs = rows.jobs
        self._holds = rows.holds

    @follows(DocumentMembershipPayload)
    async def follow_document_membership(self, running: RunningJob, payload: DocumentMembershipPayload) -> None:
        """Request the runs required by a changed document."""
        job = running.job
        await self.run_on_document(job.organization_id, payload.document_id, request_id=job.request_id)

    @follows_batch(DocumentMembershipPayload)
    async def follow_document_memberships(
        self, jobs: Sequence[Job], payloads: Sequence[DocumentMembershipPayload]
    ) -> None:
        """Request the runs required by several changed documents of an organization."""
        organization_id = jobs[0].organization_id
        request_ids = {payload.document_id: job.request_id for job, payload in zip(jobs, payloads, strict=True)}
        found = await self._documents.of_organizations([organization_id], request_ids.keys())
        documents = [document for document in found if document.text_hash is not None and document.character_count]
        tag_ids = frozenset(tag_id for document in documents for tag_id in document.tag_ids)
        for prompt in await self._prompts.with_tags(organization_id, tag_ids):
            pairs_of: dict[str | None, list[tuple[str, str]]] = {}
            for document in documents:
                if document.text_hash and not set(prompt.configuration.tag_ids).isdisjoint(document.tag_ids):
                    pairs = pairs_of.setdefault(request_ids[document.id], [])
                    pairs.append((document.id, document.text_hash))
            for request_id, pairs in pairs_of.items():
                await self._request(prompt, pairs, request_id)

    async def run_on_document(self, organization_id: str, document_id: str, *, request_id: str | None) -> int:
        """Request a run of each prompt with a tag of the document that has none for its text; return their number."""
        document = await self._documents.get(organization_id, document_id)
        if document is None or document.text_hash is None or not document.character_count:
            return 0
        count = 0
        for prompt in await self._prompts.with_tags(organization_id, document.tag_ids):
            count += await self._request(prompt, [(document_id, document.text_hash)], request_id)
        return count

    @job(PromptMembershipPayload)
    async def handle_prompt_membership(self, running: RunningJob, payload: PromptMembershipPayload) -> None:
        """Request a run of the prompt's latest version on each document with one of its tags."""
        job = running.job
        prompt = await self._prompts.get(job.organization_id, payload.prompt_id)
        if prompt is None or not prompt.configuration.tag_ids:
            return
        count = 0
        members = self._documents.member_ids(job.organization_id, prompt.configuration.tag_ids, batch_size=RUNS_AT_ONCE)
        async for batch in members:
            count += await self._request(prompt, batch, job.request_id)
        log.info("prompts.membership", prompt_id=prompt.id, version=prompt.version, runs=count)

    @job(CleanPromptPayload)
    async def handle_clean(self, running: RunningJob, payload: CleanPromptPayload) -> None:
        """Remove all data of a deleted prompt."""
        job, prompt_id = running.job, payload.prompt_id
        if await self._prompts.get(job.organization_id, prompt_id) is not None:
            return
        await self._holds.require_free(job.organization_id)
        # Runs first: a running one ends by changing its row, and leaves no result once the row is gone.
        await self._runs.delete_of_prompt(job.organization_id, prompt_id)
        await self._results.delete_of_prompt(job.organization_id, prompt_id)
        await self._prompts.delete_versions(job.organization_id, prompt_id)
        log.info("prompts.cleaned", prompt_id=prompt_id)

    async def _request(self, prompt: Prompt, documents: Sequence[tuple[str, str]], request_id: str | None) -> int:
        async def commit(session: Session) -> int:
            runs = await self._runs.insert_automatic(
                session, prompt.organization_id, prompt.id, prompt.version, documents
            )
            await self._jobs.enqueue([run_request(run) for run in runs], request_id=request_id, session=session)
            return len(runs)

        return await run_in_transaction(self._connection, commit)
