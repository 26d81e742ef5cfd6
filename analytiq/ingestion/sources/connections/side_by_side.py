"""Calls to a service side by side."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from analytiq.ingestion.sources.connections.service_client import AT_ONCE

Value = TypeVar("Value")
Result = TypeVar("Result")


async def mapped(function: Callable[[Value], Awaitable[Result]], values: Iterable[Value]) -> list[Result]:
    """Return the results for some values, in their order; the first failure ends all calls."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(value: Value) -> Result:
        async with slots:
            return await function(value)

    tasks = [asyncio.create_task(one(value)) for value in values]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
