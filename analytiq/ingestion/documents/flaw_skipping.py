"""The organization's choice of flawed text that its knowledge bases leave out."""

from collections.abc import Collection

import structlog

from analytiq.errors import NotFoundError
from analytiq.ingestion.membership import kb_changed
from analytiq.models.flaws import SKIPPABLE, FlawKind
from analytiq.models.organization import Organization
from analytiq.storage.all_repositories import Repositories
from analytiq.storage.session import Session
from analytiq.storage.transactions import run_in_transaction

log = structlog.get_logger(__name__)


class FlawSkipping:
    """Changes the choice, and has the documents that it affects indexed again."""

    def __init__(self, rows: Repositories) -> None:
        self._connection = rows.connection
        self._organizations = rows.organizations
        self._knowledge_bases = rows.knowledge_bases
        self._jobs = rows.jobs

    async def choose(
        self, organization_id: str, kinds: Collection[FlawKind], *, request_id: str | None = None
    ) -> Organization:
        """Leave text with flaws of these kinds out of every knowledge base.

        Jobs compare all documents with the choice. Searches find a document by its former chunks until its new ones
        are complete; documents without such flaws keep theirs.

        Raises:
            NotFoundError: the organization is gone.
        """
        chosen = tuple(kind for kind in SKIPPABLE if kind in kinds)

        async def commit(session: Session) -> Organization:
            before = await self._organizations.get(organization_id, session=session)
            if before is not None and before.skipped_flaws == chosen:
                return before
            changed = await self._organizations.change(
                organization_id, {"skipped_flaws": list(chosen)}, session=session
            )
            if changed is None:
                raise NotFoundError(f"No organization has the id {organization_id!r}. It may have been deleted.")
            kb_ids = await self._knowledge_bases.ids_of(session, organization_id)
            requests = [kb_changed(organization_id, kb_id) for kb_id in kb_ids]
            await self._jobs.enqueue(requests, request_id=request_id, session=session)
            return changed

        changed = await run_in_transaction(self._connection, commit)
        log.info("organizations.flaws_skipped", organization_id=organization_id, kinds=chosen)
        return changed
