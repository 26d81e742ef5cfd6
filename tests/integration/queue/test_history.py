"""History of attempts: kept for jobs that exist, and nothing of jobs that are gone."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from analytiq.composition import Services
from analytiq.ingestion.membership import document_changed
from analytiq.models.job import JobKind
from analytiq.models.job_history import HISTORY_DAYS, AttemptOutcome, JobAttempt
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.job_history import JobHistoryRepository
from tests.integration.tenant import Tenant, prose

Compose = Callable[..., Awaitable[Services]]


async def test_history_is_forgotten_by_the_server_after_some_days(migrated: MongoConnection) -> None:
    indexes = await migrated.database["job_history"].index_information()
    (limit,) = [index for index in indexes.values() if "expireAfterSeconds" in index]
    assert limit["key"] == [("ended_at", 1)]
    assert limit["expireAfterSeconds"] == HISTORY_DAYS * 24 * 3600


class ActsBeforeItIsWritten:
    """The real history; what happens elsewhere just before a batch is written happens then."""

    def __init__(self, history: JobHistoryRepository, action: Callable[[], Awaitable[object]]) -> None:
        self._history = history
        self._action = action

    async def add(self, attempts: Sequence[JobAttempt]) -> None:
        await self._action()
        await self._history.add(attempts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._history, name)


async def test_line_about_a_document_that_was_deleted_and_cleaned_while_the_line_was_written_does_not_stay(
    tenant: Tenant, compose_services: Compose, migrated: MongoConnection
) -> None:
    document = await tenant.document("a.txt", prose("whales", 2))
    other = tenant.seen_by(await compose_services())

    async def delete() -> None:
        await other.services.ingestion.documents.delete(tenant.id, document.id)
        await other.drain()

    history = tenant.services.jobs.new_history()
    history._history = cast("JobHistoryRepository", ActsBeforeItIsWritten(history._history, delete))
    await tenant.services.repositories.jobs.enqueue([document_changed(tenant.id, document.id)])
    job = await tenant.services.repositories.jobs.claim(
        [JobKind.MEMBERSHIP_DOCUMENT], worker="w", lease_token=new_id(), lease_seconds=60
    )
    assert job is not None
    history.note(job, AttemptOutcome.DONE, started_at=job.created_at)
    await tenant.services.repositories.jobs.finish(job)
    await history.flush()
    assert await migrated.database["job_history"].count_documents({"subject.document_id": document.id}) == 0


async def test_history_of_a_deleted_document_disappears_and_others_stays(
    tenant: Tenant, migrated: MongoConnection
) -> None:
    kept = await tenant.document("a.txt", prose("whales", 3))
    deleted = await tenant.document("b.txt", prose("birds", 3))
    history = tenant.services.repositories.job_history
    assert (await history.of_document(tenant.id, deleted.id, skip=0, limit=10))[1] == 2
    await tenant.services.ingestion.documents.delete(tenant.id, deleted.id)
    await tenant.drain()
    # A trigger that comes late is worked off too, and leaves no trace either.
    await tenant.services.repositories.jobs.enqueue([document_changed(tenant.id, deleted.id)])
    await tenant.drain()
    assert await migrated.database["job_history"].count_documents({"subject.document_id": deleted.id}) == 0
    assert (await history.of_document(tenant.id, kept.id, skip=0, limit=10))[1] == 2
