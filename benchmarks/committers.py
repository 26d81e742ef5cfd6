"""Concurrently committing processes: the program of one, and the parent's control of several.

As a program (`python -m benchmarks.committers`) it reads one line of JSON (`Orders`), stages its documents, prints
`ready`, waits for a second line, commits them all, and prints the seconds of each commit as JSON.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections.abc import Sequence

from pydantic import BaseModel, SecretStr

from analytiq.composition import bootstrap
from analytiq.settings import IndexingSettings, MongoSettings, Settings
from analytiq.telemetry import logs
from benchmarks.platform_under_test import Platform, Server
from benchmarks.processor_time import ProcessorClock
from benchmarks.swapping import Swapping, commit_all, staged


class Orders(BaseModel):
    """Instructions for one process: the number of documents, their knowledge bases, and the number of tasks."""

    uri: str
    database: str
    secret_key: str
    organization_id: str
    tag_id: str
    kb_ids: tuple[str, ...]
    documents: int
    tasks: int


async def commit_in_processes(
    server: Server, target: Platform, kb_ids: Sequence[str], *, processes: int, tasks: int, documents: int
) -> tuple[float, list[float]]:
    """Commit `documents` in all; return the seconds from the first start to the last end, and those of each commit."""
    settings = target.services.settings
    assert settings.secret_key is not None
    orders = Orders(
        uri=server.uri.get_secret_value(),
        database=settings.mongo.database,
        secret_key=settings.secret_key.get_secret_value(),
        organization_id=target.organization.id,
        tag_id=target.tag.id,
        kb_ids=tuple(kb_ids),
        documents=documents // processes,
        tasks=tasks,
    )
    children = [await _start(orders) for _ in range(processes)]
    began = time.perf_counter()
    for child in children:
        await _tell(child, "go")
    answers = [json.loads(await _line(child)) for child in children]
    elapsed = time.perf_counter() - began
    for child in children:
        await child.wait()
    return elapsed, [seconds for answer in answers for seconds in answer]


async def _start(orders: Orders) -> asyncio.subprocess.Process:
    """Start a process that stages everything and waits; one after another, so that each claims its own jobs."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.committers"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    await _tell(child, orders.model_dump_json())
    await _line(child)
    return child


async def _tell(child: asyncio.subprocess.Process, line: str) -> None:
    assert child.stdin is not None
    child.stdin.write(f"{line}\n".encode())
    await child.stdin.drain()


async def _line(child: asyncio.subprocess.Process) -> str:
    assert child.stdout is not None
    line = await child.stdout.readline()
    if not line:
        raise SystemExit("a process that was to commit has ended; see its output above")
    return line.decode()


async def _commit(orders: Orders) -> None:
    settings = Settings(
        secret_key=SecretStr(orders.secret_key),
        mongo=MongoSettings(uri=SecretStr(orders.uri), database=orders.database),
        indexing=IndexingSettings(sweep_delay_seconds=0.0),
    )
    services = await bootstrap(settings)
    organization = await services.tenancy.organizations.get(orders.organization_id)
    tag = await services.ingestion.tags.get(orders.organization_id, orders.tag_id)
    target = Platform(services, organization, tag, ProcessorClock(os.getpid()))
    bases = [await services.ingestion.knowledge_bases.get(organization.id, kb_id) for kb_id in orders.kb_ids]
    items = await staged([Swapping(target, base) for base in bases], orders.documents)
    random.shuffle(items)  # otherwise all processes visit the knowledge bases in step
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    seconds = await commit_all(items, orders.tasks)
    print(json.dumps(seconds), flush=True)
    await services.close()


def main() -> None:
    """Run one of the processes."""
    logs.configure(as_json=False, level="WARNING", process="benchmark")
    asyncio.run(_commit(Orders.model_validate_json(sys.stdin.readline())))


if __name__ == "__main__":
    main()
