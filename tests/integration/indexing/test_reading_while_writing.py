"""A document is indexed anew in a loop while two processes search for it."""

import asyncio
from collections.abc import Awaitable, Callable

from analytiq.composition import Services
from tests.integration.tenant import Tenant, prose

Compose = Callable[..., Awaitable[Services]]
VERSIONS = 8
CHUNKS = 200
NAMES = ["whales", "birds", "trees", "ships", "stars", "rocks", "songs", "books"]


async def test_no_search_shows_two_versions_or_none(tenant: Tenant, compose_services: Compose) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("a.txt", prose(NAMES[0], CHUNKS))
    second_process = tenant.seen_by(await compose_services())
    is_over = False
    searches = 0
    seen: set[str] = set()

    async def searching(reader: Tenant, top_k: int) -> None:
        nonlocal searches
        while not is_over:
            answer = await reader.search(kb.id, "in which year", top_k=top_k)
            versions = {result.content.split(" tells of ")[1].split(" in the")[0] for result in answer.results}
            assert len(versions) == 1
            assert len(answer.results) == top_k
            searches += 1
            seen.update(versions)

    async def writing() -> None:
        nonlocal is_over
        try:
            for version in range(1, VERSIONS):
                await tenant.replace("a.txt", prose(NAMES[version], CHUNKS))
                await tenant.drain()
                answer = await second_process.search(kb.id, "in which year", top_k=1)
                assert NAMES[version] in answer.results[0].content
        finally:
            is_over = True

    async with asyncio.TaskGroup() as group:
        group.create_task(writing())
        for reader in (tenant, second_process):
            for top_k in (5, 100):
                group.create_task(searching(reader, top_k))
    assert searches > VERSIONS
    assert NAMES[VERSIONS - 1] in seen
