"""Reading ahead: the server reads the next batch while this process compares the last one."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import TypeVar

Read = TypeVar("Read")
Other = TypeVar("Other")


async def read_ahead(
    read: Callable[[str], Awaitable[Read]], end_of: Callable[[Read], str | None], *, after: str
) -> AsyncGenerator[Read]:
    """Yield one read after another, each begun before the former one is yielded.

    Args:
        read: reads the batch behind a key.
        end_of: the last key of a batch; None for the last batch.
        after: the key to begin behind.
    """
    reading: asyncio.Future[Read] | None = asyncio.ensure_future(read(after))
    try:
        while reading is not None:
            batch = await reading
            end = end_of(batch)
            reading = None if end is None else asyncio.ensure_future(read(end))
            # The commands leave before the comparison keeps the loop busy.
            await asyncio.sleep(0)
            yield batch
    finally:
        if reading is not None and not reading.done():
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def both(first: Coroutine[object, object, Read], second: Coroutine[object, object, Other]) -> tuple[Read, Other]:
    """Await two reads at once."""
    async with asyncio.TaskGroup() as group:
        one, other = group.create_task(first), group.create_task(second)
    return one.result(), other.result()
