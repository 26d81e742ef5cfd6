"""The cost of a rate limit for a call to a provider: one update of one row, compared with a minimal update.

    python -m benchmarks.rate_limits [--short]

`take` is the latency of `RateLimits.take_call` without a wait; `$inc` increments a number in a row in the same way,
and shows the cost of a round trip to the database. All callers of a row share one limit: the worst case.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

from pydantic import SecretStr
from pymongo import ReturnDocument
from pymongo.write_concern import WriteConcern

from analytiq.settings import RateLimitSettings
from analytiq.storage.client import connect
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.rate_limits import RateLimitRepository
from analytiq.tenancy.rate_limits.limits import RateLimits
from benchmarks import report
from benchmarks.platform_under_test import running_server

MODEL = "text-embedding-3-small"
NO_WAIT = RateLimitSettings(requests_per_minute=1_000_000_000, tokens_per_minute=1_000_000_000_000)


async def latencies(call: Callable[[], Awaitable[object]], *, callers: int, calls: int) -> list[float]:
    """Return the seconds of each call, with the given number of concurrent callers."""
    seconds: list[float] = []

    async def caller() -> None:
        for _ in range(calls // callers):
            began = perf_counter()
            await call()
            seconds.append(perf_counter() - began)

    await asyncio.gather(*[caller() for _ in range(callers)])
    return seconds


async def measure(uri: SecretStr, *, calls: int) -> list[list[str]]:
    """Measure a row for each number of callers."""
    connection = await connect(uri, "rate_limits")
    counters = connection.database["counters"].with_options(write_concern=WriteConcern(w=1))
    limits = RateLimits(RateLimitRepository(connection), NO_WAIT)
    rows: list[list[str]] = []
    for callers in (1, 16, 64):
        organization_id = new_id()

        async def plain(key: str = organization_id) -> Any:
            return await counters.find_one_and_update(
                {"_id": key}, {"$inc": {"count": 1}}, upsert=True, return_document=ReturnDocument.AFTER
            )

        async def take(key: str = organization_id) -> None:
            await limits.take_call(key, MODEL, tokens=100)

        for call in (plain, take):
            await call()
        floor = await latencies(plain, callers=callers, calls=calls)
        taken = await latencies(take, callers=callers, calls=calls)
        cells = [f"{report.percentile(values, share) * 1000:.2f}" for values in (taken, floor) for share in (0.5, 0.95)]
        ratio = report.median(taken) / report.median(floor)
        rows.append([str(callers), *cells, f"{ratio:.1f}x"])
    await connection.close()
    return rows


async def run(*, short: bool) -> None:
    """Measure and print."""
    report.print_heading("Rate limits")
    async with running_server() as server:
        report.print_table(
            ["callers", "take p50 ms", "take p95 ms", "$inc p50 ms", "$inc p95 ms", "p50 to $inc"],
            await measure(server.uri, calls=640 if short else 6400),
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = report.arguments(__doc__ or "", repeats=1)
    asyncio.run(run(short=parser.parse_args(argv).short))


if __name__ == "__main__":
    main()
