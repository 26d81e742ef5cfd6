"""Reader of changed rows, for the watched organizations."""

from collections.abc import Collection, Mapping

from analytiq.ingestion.documents.indexing_state import IndexingStates
from analytiq.ingestion.knowledge_bases.standing import KnowledgeBaseStandings
from analytiq.models.change import ChangeKey, ChangeKind
from analytiq.models.document import Document
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.operations.live_events.events import Event, EventName
from analytiq.storage.all_repositories import Repositories

Changed = Mapping[ChangeKey, str | None]
"""The kind and key of a changed row, with its organization if the change stream contains it."""


class Reading:
    """Conversion of keys to events. The row itself names its organization, never the caller."""

    def __init__(self, rows: Repositories, states: IndexingStates, standings: KnowledgeBaseStandings) -> None:
        self._documents = rows.announced.documents
        self._knowledge_bases = rows.announced.knowledge_bases
        self._jobs = rows.announced.jobs
        self._states = states
        self._standings = standings

    async def events(self, changed: Changed, organization_ids: Collection[str]) -> list[Event]:
        """Return the events for these organizations, jobs last."""
        documents = await self._of_documents(_only(changed, ChangeKind.DOCUMENT), organization_ids)
        bases = await self._of_knowledge_bases(_only(changed, ChangeKind.KNOWLEDGE_BASE), organization_ids)
        jobs = await self._of_jobs(_only(changed, ChangeKind.JOB), organization_ids, documents)
        return [*documents, *bases, *jobs]

    async def _of_documents(self, changed: Mapping[str, str | None], organization_ids: Collection[str]) -> list[Event]:
        if not changed:
            return []
        by_organization: dict[str, list[Document]] = {}
        for document in await self._documents.of_organizations(organization_ids, changed):
            by_organization.setdefault(document.organization_id, []).append(document)
        events: list[Event] = []
        for organization_id, documents in by_organization.items():
            standing = await self._states.of_documents(organization_id, documents)
            events += [Event(EventName.DOCUMENT, organization_id, item.document.id, item) for item in standing]
        return [*events, *_gone(changed, events, EventName.DOCUMENT_DELETED, organization_ids)]

    async def _of_knowledge_bases(
        self, changed: Mapping[str, str | None], organization_ids: Collection[str]
    ) -> list[Event]:
        if not changed:
            return []
        by_organization: dict[str, list[KnowledgeBase]] = {}
        for found in await self._knowledge_bases.of_organizations(organization_ids, changed):
            by_organization.setdefault(found.organization_id, []).append(found)
        events: list[Event] = []
        for organization_id, knowledge_bases in by_organization.items():
            standing = await self._standings.of(organization_id, knowledge_bases)
            events += [
                Event(EventName.KNOWLEDGE_BASE, organization_id, item.knowledge_base.id, item) for item in standing
            ]
        return [*events, *_gone(changed, events, EventName.KNOWLEDGE_BASE_DELETED, organization_ids)]

    async def _of_jobs(
        self, changed: Mapping[str, str | None], organization_ids: Collection[str], documents: Collection[Event]
    ) -> list[Event]:
        if not changed:
            return []
        found = await self._jobs.of_organizations(organization_ids, changed)
        events = [Event(EventName.JOB, job.organization_id, job.id, job) for job in found]
        # The row of a finished job is gone; its document, read for this, names the organization.
        owner_of = {event.subject_id: event.organization_id for event in documents}
        known = {job_id: owner or owner_of.get(job_id.rpartition(":")[2]) for job_id, owner in changed.items()}
        return [*events, *_gone(known, events, EventName.JOB_ENDED, organization_ids)]


def _only(changed: Changed, kind: ChangeKind) -> dict[str, str | None]:
    return {key.id: organization_id for key, organization_id in changed.items() if key.kind is kind}


def _gone(
    changed: Mapping[str, str | None], present: Collection[Event], name: EventName, organization_ids: Collection[str]
) -> list[Event]:
    there = {event.subject_id for event in present}
    return [
        Event(name, organization_id, subject_id)
        for subject_id, organization_id in changed.items()
        if organization_id in organization_ids and organization_id and subject_id not in there
    ]
