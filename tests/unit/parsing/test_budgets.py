"""Budgets of reading a file: they grow with its size; memory over all parsers stays within one budget."""

import asyncio
from collections import Counter

import pytest

from analytiq.ingestion.parsing.budgets import MEBIBYTE, SMALL_GRANT_BYTES, ProcessorBudget, first_grant
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.memory import MemoryBudget
from tests.costly_files import page_with_attributes

SMALL, LARGE = 100 * MEBIBYTE, 1500 * MEBIBYTE
BUDGET = ProcessorBudget(least=40, per_mebibyte=20, per_mebibyte_of_pictures=500, most=600)


@pytest.mark.parametrize(
    ("byte_size", "content_type", "seconds"),
    [
        (3_000, "application/pdf", 42),
        (400 * 20_000, "application/pdf", 600),
        (30_000, "image/png", 55),
        (33_000, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", 41),
        (3 * MEBIBYTE, "text/html", 100),
        (500 * MEBIBYTE, "text/plain", 600),
    ],
)
def test_seconds_grow_with_the_size_up_to_the_most(byte_size: int, content_type: str, seconds: int) -> None:
    assert BUDGET.seconds(byte_size, content_type) == seconds


def test_first_grant_grows_with_the_size_up_to_the_most() -> None:
    assert first_grant(0, LARGE) == SMALL_GRANT_BYTES
    assert first_grant(MEBIBYTE, LARGE) == SMALL_GRANT_BYTES + 64 * MEBIBYTE
    assert first_grant(500 * MEBIBYTE, LARGE) == LARGE


async def test_grants_never_exceed_the_budget_and_all_are_served() -> None:
    budget = MemoryBudget(4000 * MEBIBYTE)
    peaks: list[int] = []

    async def read(wanted: int) -> None:
        async with budget.grant(wanted, "o") as granted:
            assert granted == wanted
            peaks.append(budget.granted_bytes)
            await asyncio.sleep(0)

    await asyncio.gather(*(read(wanted) for wanted in [LARGE, SMALL, SMALL_GRANT_BYTES] * 20))
    assert len(peaks) == 60
    assert max(peaks) <= 4000 * MEBIBYTE
    assert budget.granted_bytes == 0


async def test_small_grant_does_not_wait_behind_large_ones() -> None:
    budget = MemoryBudget(2 * LARGE + SMALL_GRANT_BYTES)
    release = asyncio.Event()

    async def hold() -> None:
        async with budget.grant(LARGE, "o"):
            await release.wait()

    holding = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0)
    for _ in range(3):
        async with budget.grant(SMALL_GRANT_BYTES, "o"):
            assert not holding[2].done()
    release.set()
    await asyncio.gather(*holding)


async def test_large_grant_comes_to_its_turn_while_small_ones_keep_coming() -> None:
    budget = MemoryBudget(LARGE + SMALL_GRANT_BYTES)
    served: list[str] = []

    async def take(name: str, wanted: int) -> None:
        async with budget.grant(wanted, "o"):
            served.append(name)
            await asyncio.sleep(0)

    first = [asyncio.create_task(take(f"small {number}", SMALL_GRANT_BYTES)) for number in range(3)]
    await asyncio.sleep(0)
    large = asyncio.create_task(take("large", LARGE))
    await asyncio.sleep(0)
    later = [asyncio.create_task(take(f"later {number}", SMALL_GRANT_BYTES)) for number in range(50)]
    await asyncio.gather(*first, large, *later)
    assert served.index("large") < len(served) - 25


async def test_who_no_longer_waits_holds_nothing() -> None:
    budget = MemoryBudget(LARGE + SMALL_GRANT_BYTES)

    async def take() -> None:
        async with budget.grant(LARGE, "o"):
            await asyncio.Event().wait()

    holder, waiter = asyncio.create_task(take()), asyncio.create_task(take())
    await asyncio.sleep(0)
    for task in (waiter, holder):
        task.cancel()
    await asyncio.gather(holder, waiter, return_exceptions=True)
    assert budget.granted_bytes == 0
    async with budget.grant(LARGE, "o") as granted:
        assert granted == LARGE


async def test_machine_with_little_memory_grants_less_than_was_wanted() -> None:
    budget = MemoryBudget(512 * MEBIBYTE)
    async with budget.grant(LARGE, "o") as granted:
        assert granted == 256 * MEBIBYTE


async def test_newcomer_finds_memory_while_another_organization_wants_all_of_it() -> None:
    budget = MemoryBudget(5 * SMALL_GRANT_BYTES)
    release = asyncio.Event()

    async def hold() -> None:
        async with budget.grant(SMALL_GRANT_BYTES, "busy"):
            await release.wait()

    holding = [asyncio.create_task(hold()) for _ in range(10)]
    await asyncio.sleep(0)
    assert budget.granted_bytes == 4 * SMALL_GRANT_BYTES
    async with budget.grant(SMALL_GRANT_BYTES, "newcomer"):
        assert budget.granted_bytes == 5 * SMALL_GRANT_BYTES
    release.set()
    await asyncio.gather(*holding)


async def test_organization_that_holds_least_is_granted_first() -> None:
    budget = MemoryBudget(4 * LARGE)
    served: list[str] = []
    release = asyncio.Event()

    async def take(name: str) -> None:
        async with budget.grant(LARGE, name):
            served.append(name)
            await release.wait()

    tasks = [asyncio.create_task(take("busy")) for _ in range(5)]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(take("other")) for _ in range(2)]
    await asyncio.sleep(0)
    release.set()
    await asyncio.gather(*tasks)
    assert served[:4] == ["busy"] * 3 + ["other"]
    assert Counter(served) == {"busy": 5, "other": 2}


def test_tag_of_countless_attributes_is_read_with_the_text_around_it() -> None:
    root = html_tree(page_with_attributes(300_000).decode())
    assert root.text() == "Before the tag.Within the tag."
    assert all(len(element.attributes) == 0 for element in root.walk())
