"""Parts of the indexing stage, and a way to act between two of them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from analytiq.composition import Services
from analytiq.ingestion.indexing.batch_staging import BatchStaging, Cut, StagedPortion
from analytiq.ingestion.indexing.staging import Staging
from analytiq.ingestion.indexing.sync import Sync
from analytiq.models.index_entry import Generation
from analytiq.storage.client import MongoConnection
from tests.integration.tenant import Tenant

Action = Callable[[], Awaitable[object]]


class ActsAfterStaging:
    """The real stagings; what happens meanwhile elsewhere happens right after the first run of either."""

    def __init__(self, staging: Staging, action: Action) -> None:
        self._staging = staging
        self._action: Action | None = action
        self.staged: list[Generation] = []

    async def stage(self, *arguments: Any) -> Generation:
        generation = await self._staging.stage(*arguments)
        self.staged.append(generation)
        await self.act()
        return generation

    async def act(self) -> None:
        if self._action is not None:
            action, self._action = self._action, None
            await action()


class BatchesActAfterStaging:
    """The real staging of batches, as `ActsAfterStaging` sees it."""

    def __init__(self, staging: BatchStaging, acts: ActsAfterStaging) -> None:
        self._staging = staging
        self._acts = acts
        self.texts_of = staging.texts_of
        self.cut = staging.cut

    async def stage(self, cuts: Sequence[Cut]) -> StagedPortion:
        portion = await self._staging.stage(cuts)
        self._acts.staged += [item.generation for item in portion.staged]
        await self._acts.act()
        return portion


def sync_of(services: Services) -> Sync:
    return services.ingestion.sync


@pytest.fixture
def act_after_staging(tenant: Tenant) -> Callable[[Action], ActsAfterStaging]:
    """Let something happen between the first staging and its commit."""

    def interpose(action: Action) -> ActsAfterStaging:
        sync, batches = sync_of(tenant.services), tenant.services.ingestion.sync_batches
        interposed = ActsAfterStaging(sync._staging, action)
        sync._staging = cast("Staging", interposed)
        batches._staging = cast("BatchStaging", BatchesActAfterStaging(batches._staging, interposed))
        return interposed

    return interpose


class Stored:
    """The stored state of a knowledge base, read without the library."""

    def __init__(self, connection: MongoConnection) -> None:
        self._database = connection.database

    async def generations(self, kb_id: str) -> list[tuple[str, int]]:
        """(state, chunks that it should have), in order of age."""
        cursor = self._database["generations"].find({"kb_id": kb_id}).sort("_id", 1)
        return [(row["state"], row["chunk_count"]) async for row in cursor]

    async def entries(self, kb_id: str) -> list[dict[str, Any]]:
        return [row async for row in self._database["document_index"].find({"kb_id": kb_id})]

    async def vectors(self, kb_id: str) -> int:
        return await self._database[f"kb_vectors_{kb_id}"].count_documents({})

    async def epoch(self, kb_id: str) -> int:
        return max([row["epoch"] async for row in self._database["kb_changes"].find({"kb_id": kb_id})], default=0)

    async def has_collection(self, kb_id: str) -> bool:
        return f"kb_vectors_{kb_id}" in await self._database.list_collection_names()


@pytest.fixture
def stored(migrated: MongoConnection) -> Stored:
    return Stored(migrated)
