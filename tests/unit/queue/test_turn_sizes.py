"""The number of jobs of a turn."""

from collections.abc import Callable

from analytiq.jobs.queue.turn_sizes import FIRST_JOBS, TurnSizes
from analytiq.models.job import JobKind

LANE = "organization:kb:sync"


def size_after(seconds_of: Callable[[int], float], *, turns: int = 40, largest: int = 32) -> list[int]:
    sizes = TurnSizes([JobKind.SYNC], largest)
    taken: list[int] = []
    for _ in range(turns):
        taken.append(sizes.of(LANE))
        sizes.note(LANE, taken[-1], seconds_of(taken[-1]))
    return taken


def test_jobs_without_a_handler_of_batches_and_heavy_ones_come_one_by_one() -> None:
    sizes = TurnSizes([JobKind.SYNC], 32)
    assert [sizes.of(lane) for lane in ("o:kb:sweep", "o:kb:sync:heavy", LANE)] == [1, 1, FIRST_JOBS]


def test_quick_jobs_fill_the_batch_and_slow_ones_keep_to_a_quarter_of_a_second() -> None:
    quick, slow = size_after(lambda jobs: 0.02 + 0.004 * jobs), size_after(lambda jobs: 0.02 + 0.025 * jobs)
    assert (quick[0], sum(size == 32 for size in quick) > 30) == (FIRST_JOBS, True)
    assert max(slow) <= 10
    assert sum(slow) / len(slow) > FIRST_JOBS


def test_jobs_of_a_second_come_one_by_one_again_after_each_try() -> None:
    sizes = size_after(lambda jobs: float(jobs))
    assert max(sizes[2:]) <= 4
    assert sum(size == 1 for size in sizes) > 20


def test_turns_that_take_long_whatever_their_size_grow_again_from_the_smallest() -> None:
    """As beside a busy machine, or with a slow provider, when few jobs were due at first."""
    sizes = TurnSizes([JobKind.SYNC], 32)
    for number in range(10):
        sizes.note(LANE, 1 + number % 2, 2.0 + 0.06 * (1 + number % 2))
    taken: list[int] = []
    for _ in range(30):
        taken.append(sizes.of(LANE))
        sizes.note(LANE, taken[-1], 2.0 + 0.06 * taken[-1])
    assert sum(size > 16 for size in taken) > len(taken) / 2


def test_time_that_all_jobs_of_a_turn_share_does_not_make_turns_small() -> None:
    sizes = size_after(lambda jobs: 1.0 + 0.002 * jobs)
    assert sum(size == 32 for size in sizes) > len(sizes) / 2


def test_batch_size_of_one_is_kept() -> None:
    assert set(size_after(lambda _: 0.001, largest=1)) == {1}
