"""Passages that recent searches read: bounded, apart by organization, and forgotten after a while."""

from analytiq.models.vector import Passage
from analytiq.retrieval.pipeline.context import Key
from analytiq.retrieval.pipeline.passages import KEPT_SECONDS, KnownPassage, PassageCache

ORGANIZATION = "a" * 24


class Clock:
    """A clock that stands until it is moved."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def known(text: str = "A text.") -> KnownPassage:
    return KnownPassage.of(Passage("d", "g", 0, text, 3, 0, len(text), 1, 1))


def key(place: int) -> Key:
    return "k", "g", place


def test_a_passage_is_found_in_its_organization_alone() -> None:
    cache, passage = PassageCache(largest_bytes=1_000_000), known()
    cache.keep(ORGANIZATION, {key(1): passage})
    assert cache.find(ORGANIZATION, [key(1), key(2)]) == {key(1): passage}
    assert cache.find("b" * 24, [key(1)]) == {}


def test_the_newest_and_the_used_ones_stay_within_the_bytes() -> None:
    passage = known("word " * 200)
    cache = PassageCache(largest_bytes=20 * passage.counted_bytes)
    for place in range(1000):
        cache.keep(ORGANIZATION, {key(place): passage})
        cache.find(ORGANIZATION, [key(0)])
    found = cache.find(ORGANIZATION, map(key, range(1000)))
    assert 10 <= len(found) <= 20
    assert {key(0), key(999)} <= found.keys()


def test_nothing_is_kept_without_room() -> None:
    for largest_bytes in (0, known().counted_bytes):
        cache = PassageCache(largest_bytes=largest_bytes)
        cache.keep(ORGANIZATION, {key(1): known()})
        assert cache.find(ORGANIZATION, [key(1)]) == {}


def test_what_is_not_used_is_forgotten_and_what_is_used_stays() -> None:
    clock = Clock()
    cache = PassageCache(largest_bytes=1_000_000, seconds=clock)
    cache.keep(ORGANIZATION, {key(1): known(), key(2): known()})
    for _ in range(4):
        clock.seconds += KEPT_SECONDS * 0.4
        assert cache.find(ORGANIZATION, [key(1)])
    assert not cache.find(ORGANIZATION, [key(2)])
    clock.seconds += KEPT_SECONDS + 1
    assert not cache.find(ORGANIZATION, [key(1)])
