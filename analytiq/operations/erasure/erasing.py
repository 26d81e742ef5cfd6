"""Steps of an erasure; each may be repeated, so that a killed process costs only time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from analytiq import clock
from analytiq.errors import LeaseLostError, NotFoundError
from analytiq.ingestion.documents.requests import clean_request
from analytiq.ingestion.documents.service import Documents
from analytiq.ingestion.indexing.commit import sweep_request
from analytiq.ingestion.membership import document_changed
from analytiq.models.erasure import CacheFate, Erasure, ErasureKind, ErasureState
from analytiq.settings import ErasureSettings
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction
from analytiq.telemetry.checkpoints import checkpoint

log = structlog.get_logger(__name__)

DOCUMENTS_AT_ONCE = 100
LOOK_AGAIN_SECONDS = 1.0
"""Seconds between two checks; jobs remove a document's vectors, texts and files within seconds."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A request to call again after `seconds`."""

    seconds: float
    reason: str


class Erasing:
    """Executor of a row of `erasures`; the caller holds its lease."""

    def __init__(self, rows: Repositories, documents: Documents, settings: ErasureSettings) -> None:
        self._connection = rows.connection
        self._rows = rows.erasures
        self._tenants = rows.tenant_rows
        self._selecting = rows.retention
        self._documents = documents
        self._parts = rows.document_parts
        self._jobs = rows.jobs
        self._holds = rows.holds
        self._settings = settings

    async def advance(self, erasure: Erasure) -> Wait | None:
        """Run every step that is possible now; return None once the absence of rows is proved.

        Raises:
            RateLimitedError: a backup or a restore holds the organization.
            LeaseLostError: another process continues the erasure.
        """
        match erasure.kind:
            case ErasureKind.ORGANIZATION:
                wait = await self._organization(erasure)
            case ErasureKind.DOCUMENTS:
                wait = await self._selected(erasure)
            case ErasureKind.CACHE:
                wait = await self._cache(erasure)
        if wait is not None:
            return wait
        is_watched = erasure.kind is ErasureKind.ORGANIZATION and not erasure.options.keeps_tokens
        if not await self._rows.finish(erasure, is_watched=is_watched):
            raise _lease_lost(erasure)
        await checkpoint("erasure.proved")
        log.info("erasure.done", erasure_id=erasure.id, kind=erasure.kind.value)
        return None

    async def entomb(self, erasure: Erasure) -> Erasure:
        """Close the organization: its tokens stop working, and it becomes invisible. Its data follow."""
        kb_ids = await self._tenants.kb_ids(erasure.organization_id)
        changes = {
            "state": ErasureState.ERASING.value,
            "tombstoned_at": clock.now(),
            "kb_ids": sorted({*erasure.kb_ids, *kb_ids}),
        }

        async def commit(session: Session) -> Erasure | None:
            noted = await self._rows.note(erasure, changes, session=session)
            if noted is not None:
                await self._tenants.close(erasure.organization_id, session)
            return noted

        noted = await run_in_transaction(self._connection, commit)
        if noted is None:
            raise _lease_lost(erasure)
        await checkpoint("erasure.tombstoned")
        return noted

    async def _organization(self, erasure: Erasure) -> Wait | None:
        if erasure.tombstoned_at is None:
            erasure = await self.entomb(erasure)
        await self._holds.require_free(erasure.organization_id)
        # A knowledge base that was being created at the closing is found only now.
        found = await self._tenants.kb_ids(erasure.organization_id)
        kb_ids = tuple(sorted({*erasure.kb_ids, *found}))
        erasure = await self._noted(erasure, {"kb_ids": list(kb_ids)})
        quiet = self._quiet_seconds_left(erasure)
        await self._erase_everything(erasure, kb_ids, is_last=quiet <= 0)
        await checkpoint("erasure.erased")
        left = await self._tenants.count(erasure.organization_id, kb_ids=kb_ids, options=erasure.options)
        await self._noted(erasure, {"state": ErasureState.PROVING.value, "left": left, "looks": erasure.looks + 1})
        if quiet > 0:
            return Wait(min(quiet, 10.0), "running work gets time to end")
        if left:
            return Wait(LOOK_AGAIN_SECONDS, "rows were written meanwhile")
        return None

    async def _erase_everything(self, erasure: Erasure, kb_ids: Sequence[str], *, is_last: bool) -> None:
        for name in await self._tenants.collections():
            count = await self._tenants.erase(
                erasure.organization_id, name, kb_ids=kb_ids, options=erasure.options, is_last=is_last
            )
            await self._rows.add_counts(erasure, {name: count})
            if not await self._rows.renew(erasure):
                raise _lease_lost(erasure)
            await checkpoint("erasure.collection_erased")

    def _quiet_seconds_left(self, erasure: Erasure) -> float:
        if erasure.tombstoned_at is None:
            return self._settings.quiet_seconds
        until = erasure.tombstoned_at + timedelta(seconds=self._settings.quiet_seconds)
        return (until - clock.now()).total_seconds()

    async def _selected(self, erasure: Erasure) -> Wait | None:
        selection = erasure.selection
        if selection is None:
            raise ValueError("an erasure of documents says which")
        while True:
            found = await self._selecting.selected(erasure.organization_id, selection, limit=DOCUMENTS_AT_ONCE)
            if not found:
                break
            holders = await self._parts.containers_of(erasure.organization_id, found)
            if not await self._rows.add_documents(erasure, found, holder_ids=holders):
                raise _lease_lost(erasure)
            await self._delete(erasure, found)
        await checkpoint("erasure.erased")
        return await self._prove_documents(erasure)

    async def _delete(self, erasure: Erasure, document_ids: Sequence[str]) -> None:
        deleted = 0
        for document_id in document_ids:
            while (is_deleted := await self._delete_without_parts(erasure, document_id)) is False:
                await self._delete_parts(erasure, document_id)
            if is_deleted is None:
                await self._delete_parts(erasure, document_id)  # its owner was faster, and cleaning deletes them too
            deleted += is_deleted is True
            await checkpoint("erasure.collection_erased")
        await self._count(erasure, deleted)

    async def _delete_parts(self, erasure: Erasure, document_id: str) -> None:
        """Name and delete a document's parts, deepest first, as long as their containers exist.

        Cleaning would delete the parts of a deleted document before they are named. An extraction may add parts
        meanwhile, but none to a deleted document: the caller repeats this until the document itself could be deleted.
        """
        below = await self._parts.ids_below(erasure.organization_id, document_id)
        for start in range(0, len(below), DOCUMENTS_AT_ONCE):
            some = below[start : start + DOCUMENTS_AT_ONCE]
            if not await self._rows.add_documents(erasure, some):
                raise _lease_lost(erasure)
            deleted = [await self._delete_without_parts(erasure, part_id) for part_id in some]
            await self._count(erasure, deleted.count(True))

    async def _delete_without_parts(self, erasure: Erasure, document_id: str) -> bool | None:
        """Delete a document; return False if it has parts, None if it is gone, which the proof checks all the same."""
        try:
            return await self._documents.delete_without_parts(
                erasure.organization_id, document_id, request_id=f"erasure-{erasure.id}"
            )
        except NotFoundError:
            return None

    async def _count(self, erasure: Erasure, deleted: int) -> None:
        await self._rows.add_counts(erasure, {"docs": deleted}, documents=deleted)
        if not await self._rows.renew(erasure):
            raise _lease_lost(erasure)

    async def _prove_documents(self, erasure: Erasure) -> Wait | None:
        now = await self._rows.get(erasure.id)
        named = now.document_ids if now is not None else ()
        left: dict[str, int] = {}
        for start in range(0, len(named), DOCUMENTS_AT_ONCE):
            some = named[start : start + DOCUMENTS_AT_ONCE]
            found = await self._tenants.document_leftovers(erasure.organization_id, some)
            if found:
                await self._hurry(erasure, some)
            for name, count in found.items():
                left[name] = left.get(name, 0) + count
        await self._noted(erasure, {"state": ErasureState.PROVING.value, "left": left, "looks": erasure.looks + 1})
        if not left:
            await self._note_holders(erasure)
            return None
        return Wait(LOOK_AGAIN_SECONDS * min(erasure.looks + 1, 15), "workers are removing what hangs on them")

    async def _note_holders(self, erasure: Erasure) -> None:
        """Keep of the documents around the erased ones those that exist: their files contain the erased bytes."""
        now = await self._rows.get(erasure.id)
        holders = () if now is None else now.holder_ids
        kept = await self._parts.existing(erasure.organization_id, holders)
        await self._noted(erasure, {"holder_ids": kept})

    async def _hurry(self, erasure: Erasure, document_ids: Sequence[str]) -> None:
        """Request the remaining deletions; this also wakes failed jobs, and sweeps without delay."""
        organization_id = erasure.organization_id
        replaced = await self._tenants.superseded_of(organization_id, document_ids)
        await self._jobs.enqueue([sweep_request(item, delay_seconds=0.0) for item in replaced])
        if erasure.looks:
            await self._jobs.enqueue([document_changed(organization_id, item) for item in document_ids])
            await self._jobs.enqueue([clean_request(organization_id, item) for item in document_ids])

    async def _cache(self, erasure: Erasure) -> Wait | None:
        organization_id = erasure.organization_id
        count = await self._tenants.delete_cache(organization_id)
        if erasure.options.cache is CacheFate.DELETE:
            count += await self._tenants.delete_cache("global", payer=organization_id)
        await self._rows.add_counts(erasure, {"embedding_cache": count})
        return None

    async def _noted(self, erasure: Erasure, changes: dict[str, object]) -> Erasure:
        noted = await self._rows.note(erasure, changes)
        if noted is None:
            raise _lease_lost(erasure)
        return noted


def _lease_lost(erasure: Erasure) -> LeaseLostError:
    return LeaseLostError(f"Another process continues the erasure {erasure.id}.")
