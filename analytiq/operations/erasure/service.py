"""Erasure service: takes requests, reports their progress, and completes each of them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.errors import (
    AnalytiqError,
    InvalidInputError,
    LeaseLostError,
    NotFoundError,
    RateLimitedError,
    TransientError,
)
from analytiq.ingestion.documents.metadata import fitted_metadata
from analytiq.ingestion.documents.service import Documents
from analytiq.jobs.queue.handling import job
from analytiq.jobs.queue.runner import RunningJob
from analytiq.models.document import Failure
from analytiq.models.erasure import (
    CacheFate,
    DocumentSelection,
    Erasure,
    ErasureKind,
    ErasureOptions,
    ErasureState,
)
from analytiq.models.job import JobRequest, Priority
from analytiq.models.job_payloads import ErasePayload
from analytiq.models.organization import Organization
from analytiq.operations.erasure.erasing import Erasing, Wait
from analytiq.settings import ErasureSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.ids import new_id

log = structlog.get_logger(__name__)

MOST_DOCUMENTS = 100_000
"""Most documents of one erasure, whose row names each: 100,000 ids take 4 MB of at most 16."""
CONTAINERS_AT_ONCE = 1_000
"""Selected documents whose parts one query finds."""
WATCH_DAYS = 7
"""Days for which the reconciler checks that no rows of an erased organization have reappeared."""

OnWait = Callable[[Wait], None]


class Erasures:
    """Erasures of all organizations."""

    def __init__(self, rows: Repositories, erasing: Erasing) -> None:
        self._rows = rows.erasures
        self._tenants = rows.tenant_rows
        self._organizations = rows.organizations
        self._selecting = rows.retention
        self._parts = rows.document_parts
        self._jobs = rows.jobs
        self._erasing = erasing

    async def request_organization(
        self,
        organization_id: str,
        *,
        requested_by: str,
        options: ErasureOptions,
        is_dry_run: bool = False,
        reason: str | None = None,
    ) -> Erasure:
        """Close an organization at once and request its erasure; the remains of a killed restore count as one.

        A dry run changes nothing: its `counts` are the rows to delete.

        Raises:
            NotFoundError: the organization has no rows.
            ConflictError: the organization is already being erased.
        """
        kb_ids = await self._tenants.kb_ids(organization_id)
        exists = await self._organizations.get(organization_id) is not None
        counts: dict[str, int] = {}
        if is_dry_run or not exists:
            counts = await self._tenants.count(organization_id, kb_ids=kb_ids, options=options)
        if not exists and not counts:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        erasure = _new(
            ErasureKind.ORGANIZATION, organization_id, requested_by, reason, is_dry_run=is_dry_run
        ).model_copy(update={"options": options, "kb_ids": tuple(kb_ids)})
        if is_dry_run:
            return await self._stored_dry_run(erasure, counts, documents=counts.get("docs", 0))
        erasure = erasure.model_copy(update={"lease_token": new_id()})
        await self._rows.insert(erasure)
        if await self._rows.take(erasure.id, erasure.lease_token or "") is None:
            raise LeaseLostError(f"Another process continues the erasure {erasure.id}.")
        closed = await self._erasing.entomb(erasure)
        await self._rows.let_go(closed)
        await self._ask(closed)
        log.info("erasure.tombstoned", erasure_id=erasure.id)
        return closed.model_copy(update={"lease_token": None})

    async def request_documents(
        self,
        organization_id: str,
        selection: DocumentSelection,
        *,
        requested_by: str,
        is_dry_run: bool = False,
        reason: str | None = None,
    ) -> Erasure:
        """Request the erasure of the selected documents uploaded until now.

        Raises:
            NotFoundError: no such organization.
            InvalidInputError: the request selects nothing, or too many documents.
        """
        organization = await self._require_organization(organization_id)
        if selection == DocumentSelection():
            raise InvalidInputError(
                "Say which documents: by id, tag, name, metadata or age. All of them go with the organization.",
                code="nothing_selected",
            )
        now = clock.now()
        until = now if selection.uploaded_before is None else min(now, selection.uploaded_before)
        metadata = fitted_metadata(selection.metadata, organization.metadata_fields)
        selection = selection.model_copy(update={"uploaded_before": until, "metadata": metadata})
        ids = await self._require_few(organization_id, selection)
        erasure = _new(ErasureKind.DOCUMENTS, organization_id, requested_by, reason, is_dry_run=is_dry_run).model_copy(
            update={"selection": selection}
        )
        if is_dry_run:
            counts = await self._tenants.document_leftovers(organization_id, ids)
            around = await self._parts.containers_of(organization_id, ids) - set(ids)
            holders = await self._parts.existing(organization_id, around)
            erasure = erasure.model_copy(update={"holder_ids": tuple(holders)})
            return await self._stored_dry_run(erasure, counts, documents=len(ids))
        await self._rows.insert(erasure)
        await self._ask(erasure)
        return erasure

    async def request_cache(
        self,
        organization_id: str,
        *,
        requested_by: str,
        includes_shared: bool,
        is_dry_run: bool = False,
        reason: str | None = None,
    ) -> Erasure:
        """Request the erasure of the cached embeddings of the organization's own scope.

        With `includes_shared`, also erase those in the shared cache that it paid for. Vectors of knowledge bases stay;
        a text embedded again is charged again.
        """
        await self._require_organization(organization_id)
        fate = CacheFate.DELETE if includes_shared else CacheFate.ANONYMIZE
        erasure = _new(ErasureKind.CACHE, organization_id, requested_by, reason, is_dry_run=is_dry_run).model_copy(
            update={"options": ErasureOptions(cache=fate)}
        )
        if is_dry_run:
            count = await self._tenants.count_cache(organization_id)
            if includes_shared:
                count += await self._tenants.count_cache("global", payer=organization_id)
            return await self._stored_dry_run(erasure, {"embedding_cache": count}, documents=0)
        await self._rows.insert(erasure)
        await self._ask(erasure)
        return erasure

    async def get(self, erasure_id: str, *, organization_id: str | None = None) -> Erasure:
        """Return the erasure with this id, of the organization or (for operators) of any.

        Raises:
            NotFoundError: there is none.
        """
        if organization_id is None:
            erasure = await self._rows.get(erasure_id)
        else:
            erasure = await self._rows.of_organization(organization_id, erasure_id)
        if erasure is None:
            raise NotFoundError(f"No erasure has the id {erasure_id!r}. List the erasures to find it.")
        return erasure

    async def page(self, organization_id: str | None, *, skip: int, limit: int) -> tuple[list[Erasure], int]:
        """Return a page of erasures, latest first, and the total count."""
        return await self._rows.page(organization_id, skip=skip, limit=limit)

    @job(ErasePayload)
    async def handle(self, running: RunningJob, payload: ErasePayload) -> None:
        """Continue an erasure as a job; a wait postpones the job, and costs no attempt."""
        wait = await self._advance(payload.erasure_id)
        if wait is not None:
            raise RateLimitedError(wait.reason, retry_after=wait.seconds, code="erasure_waits")

    async def run(self, erasure_id: str, *, on_wait: OnWait | None = None) -> Erasure:
        """Continue an erasure to its end.

        Raises:
            AnalytiqError: the erasure cannot continue now; a worker tries again later.
        """
        while True:
            try:
                wait = await self._advance(erasure_id)
            except RateLimitedError as error:
                wait = Wait(error.retry_after or 5.0, error.detail)
            if wait is None:
                return await self.get(erasure_id)
            if on_wait is not None:
                on_wait(wait)
            await asyncio.sleep(wait.seconds)

    async def keep_up(self) -> None:
        """Request abandoned erasures again, and erase reappeared rows; for the reconciler."""
        for erasure in await self._rows.left_behind():
            await self._ask(erasure)
        for erasure in await self._rows.watched_since(clock.now() - timedelta(days=WATCH_DAYS)):
            left = await self._tenants.count(erasure.organization_id, kb_ids=erasure.kb_ids, options=erasure.options)
            if left:
                log.warning("erasure.rows_came_back", erasure_id=erasure.id, rows=left)
                await self._rows.open_again(erasure.id)
                await self._ask(erasure)

    async def _advance(self, erasure_id: str) -> Wait | None:
        found = await self.get(erasure_id)
        if found.state is ErasureState.DONE:
            return None
        erasure = await self._rows.take(erasure_id, new_id())
        if erasure is None:
            return Wait(5.0, "another process is at it")
        failure: Failure | None = None
        try:
            return await self._erasing.advance(erasure)
        except TransientError:
            raise
        except AnalytiqError as error:
            failure = Failure(code=error.code, detail=error.detail, at=clock.now())
            raise
        finally:
            await asyncio.shield(self._rows.let_go(erasure, failure))

    async def _ask(self, erasure: Erasure) -> None:
        """Enqueue a job outside of the organization, whose own jobs are deleted and whose history must stay erased."""
        request = JobRequest(
            payload=ErasePayload(erasure_id=erasure.id), organization_id="", priority=Priority.CLEANING
        )
        await self._jobs.enqueue([request])

    async def _require_few(self, organization_id: str, selection: DocumentSelection) -> list[str]:
        """Return the ids of the selected documents and of their parts at any depth.

        Raises:
            InvalidInputError: there are too many.
        """
        count = await self._selecting.count_selected(organization_id, selection)
        ids: set[str] = set()
        if count <= MOST_DOCUMENTS:
            selected = await self._selecting.selected(organization_id, selection, limit=MOST_DOCUMENTS)
            ids.update(selected)
            for start in range(0, len(selected), CONTAINERS_AT_ONCE):
                some = selected[start : start + CONTAINERS_AT_ONCE]
                ids |= await self._parts.ids_below_any(organization_id, some, limit=MOST_DOCUMENTS + 1)
                count = max(count, len(ids))
                if count > MOST_DOCUMENTS:
                    break
        if count > MOST_DOCUMENTS:
            raise InvalidInputError(
                f"The selection has {count} documents or more with their parts; at most {MOST_DOCUMENTS} are erased at"
                " once. Narrow it, for example by age.",
                code="too_many_selected",
            )
        return sorted(ids)

    async def _require_organization(self, organization_id: str) -> Organization:
        organization = await self._organizations.get(organization_id)
        if organization is None:
            raise NotFoundError(f"No organization has the id {organization_id!r}. Check the id.")
        return organization

    async def _stored_dry_run(self, erasure: Erasure, counts: dict[str, int], *, documents: int) -> Erasure:
        named = {name.replace(".", "_"): count for name, count in counts.items()}
        done = {"state": ErasureState.DONE, "counts": named, "documents": documents, "finished_at": clock.now()}
        finished = erasure.model_copy(update=done)
        await self._rows.insert(finished)
        return finished


def new_erasures(rows: Repositories, documents: Documents, settings: ErasureSettings) -> Erasures:
    """Build the erasures of a database."""
    return Erasures(rows, Erasing(rows, documents, settings))


def _new(
    kind: ErasureKind,
    organization_id: str,
    requested_by: str,
    reason: str | None,
    *,
    is_dry_run: bool,
) -> Erasure:
    return Erasure(
        id=new_id(),
        kind=kind,
        organization_id=organization_id,
        state=ErasureState.REQUESTED,
        is_dry_run=is_dry_run,
        requested_by=requested_by,
        reason=reason,
        requested_at=clock.now(),
    )
