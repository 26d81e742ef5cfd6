"""A worker process is killed in the middle of embedding; another goes on where it was."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from pydantic import SecretStr

from analytiq.models.job import JobState
from analytiq.settings import child_environment
from analytiq.storage.client import MongoConnection
from tests.fakes.embedding_server import EmbeddingServer, Failure
from tests.integration.embedding.conftest import Books
from tests.integration.tenant import Tenant, prose

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


async def test_killed_worker_costs_no_embedding_twice(
    tenant: Tenant,
    migrated: MongoConnection,
    mongo_uri: SecretStr,
    secret_key: SecretStr,
    embedding_server: EmbeddingServer,
    books: Books,
    eventually: EventuallyTrue,
    tmp_path: Path,
) -> None:
    kb = await tenant.knowledge_base()
    await tenant.drain()
    document = (await tenant.upload("a.txt", prose("whales", 200))).document
    embedding_server.script(None, None, Failure.SLOW)
    settings = {
        "ANALYTIQ_EMBEDDING__ALLOW_GLOBAL_CACHE": "true",
        "MONGODB_URI": mongo_uri.get_secret_value(),
        "ANALYTIQ_MONGO__DATABASE": migrated.database.name,
        "ANALYTIQ_SECRET_KEY": secret_key.get_secret_value(),
        "ANALYTIQ_DATA_DIR": str(tmp_path),
        "ANALYTIQ_EMBEDDING__BATCH_SIZE": "50",
        "ANALYTIQ_QUEUE__LEASE_SECONDS": "2",
    }
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workers", env=child_environment(settings), stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await asyncio.to_thread(embedding_server.wait_for_slow_call, 60)
    finally:
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
    job = await tenant.services.repositories.jobs.get(f"sync:{kb.id}:{document.id}")
    assert job is not None
    assert job.state is JobState.RUNNING
    assert await books.spus() == 100

    async def is_rescued() -> bool:
        return await tenant.services.repositories.jobs.rescue(max_deaths=8) == 1

    await eventually(is_rescued)
    await tenant.drain()
    embedded = {text: count for text, count in embedding_server.text_counts.items() if "whales" in text}
    assert len(embedded) == 200
    assert set(embedded.values()) == {1}
    assert await books.cached() == await books.charged()
    assert await books.spus() == 200
    assert await migrated.database[f"kb_vectors_{kb.id}"].count_documents({}) == 200
    assert await tenant.found(kb.id, "whales") == [document.id]
