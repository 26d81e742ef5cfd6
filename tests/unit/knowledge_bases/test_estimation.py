"""From a sample of documents to all of them."""

import random

import pytest

from analytiq.ingestion.knowledge_bases.estimation import extrapolate, sample_size

BUDGET, MOST, LONGEST = 2_000_000, 1000, 500_000


def test_all_documents_are_a_sum_without_error() -> None:
    estimate = extrapolate([(100, 3), (50, 2)], documents=2, characters=150)
    assert (estimate.value, estimate.low, estimate.high) == (5, 5, 5)


def test_no_document_is_nothing() -> None:
    estimate = extrapolate([], documents=0, characters=0)
    assert (estimate.value, estimate.low, estimate.high) == (0, 0, 0)


def test_one_document_of_many_says_little() -> None:
    estimate = extrapolate([(100, 4)], documents=10, characters=1000)
    assert (estimate.value, estimate.low, estimate.high) == (40, 0, 80)


def test_beginnings_of_all_documents_are_no_whole() -> None:
    estimate = extrapolate([(100, 4), (100, 6)], documents=2, characters=2000)
    assert estimate.value == 100
    assert estimate.low < 100 < estimate.high


def test_range_holds_the_truth_about_19_times_of_20() -> None:
    chance = random.Random(7)
    documents = [
        (size, round(size * chance.uniform(0.5, 1.5) / 40))
        for size in (chance.randint(200, 20_000) for _ in range(2000))
    ]
    truth = sum(count for _, count in documents)
    characters = sum(size for size, _ in documents)
    held = 0
    for _ in range(400):
        estimate = extrapolate(chance.sample(documents, 100), documents=len(documents), characters=characters)
        held += estimate.low <= truth <= estimate.high
    assert 0.9 <= held / 400 <= 0.99


@pytest.mark.parametrize(
    ("documents", "characters", "budget", "size"),
    [
        (0, 0, 1000, 1),
        (10, 100, 1000, 10),
        (10, 10_000, 2000, 2),
        (10_000, 1000, 10**9, MOST),
        (5, 10 * LONGEST, 1000, 1),
        (5, 50 * LONGEST, 3 * LONGEST, 3),
        (1, BUDGET, BUDGET, 1),
    ],
)
def test_as_many_documents_are_read_as_the_budget_allows(
    documents: int, characters: int, budget: int, size: int
) -> None:
    assert sample_size(documents, characters, budget=budget, most_documents=MOST, longest=LONGEST) == size
