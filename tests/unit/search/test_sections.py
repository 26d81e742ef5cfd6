"""The section around a chunk: whole where it fits, never beyond its heading, exact in its text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.vector import Passage
from analytiq.retrieval.pipeline.sections import MAX_SECTION_TOKENS, section_of

Chunk = tuple[tuple[str, ...], int]


def passages(chunks: list[Chunk], *, gap: int = 0, headed: bool = True) -> dict[int, Passage]:
    """Chunks of ten characters each, one after the other; with `headed`, the first of each heading begins with it."""
    made: dict[int, Passage] = {}
    for place, (path, tokens) in enumerate(chunks):
        start = place * (10 + gap)
        is_first = place == 0 or chunks[place - 1][0] != path
        name = path[-1] if path and headed and is_first else "chunk"
        text = f"{name[:5]:<5} {place:04d}"
        made[place] = Passage("d", "g", place, text, tokens, start, start + 10, 1, 1, heading_path=path)
    return made


def joined(made: dict[int, Passage], places: range, between: str = "") -> str:
    return between.join(made[place].chunk_text for place in places)


MANUAL: list[Chunk] = [
    (("Manual",), 50),
    (("Manual", "Pump"), 100),
    (("Manual", "Pump", "Seals"), 100),
    (("Manual", "Pump", "Seals"), 100),
    (("Manual", "Pump", "Oil"), 100),
    (("Manual", "Valve"), 100),
]


def test_section_is_what_stands_below_the_same_heading() -> None:
    made = passages(MANUAL)
    section = section_of(2, made)
    assert section.content == joined(made, range(2, 4))
    assert (section.start, section.end) == (20, 40)
    assert section.heading_path == ("Manual", "Pump", "Seals")


def test_a_chunk_that_is_all_of_its_section_brings_the_one_above() -> None:
    made = passages(MANUAL)
    section = section_of(4, made)
    assert section.content == joined(made, range(1, 5))
    assert section.heading_path == ("Manual", "Pump")


def test_a_section_above_that_does_not_fit_is_not_begun() -> None:
    made = passages([(("A", str(place)), 150) for place in range(40)])
    section = section_of(20, made)
    assert section.content == joined(made, range(20, 21))
    assert section.heading_path == ("A", "20")


def test_of_a_long_section_the_part_around_the_match_is_returned() -> None:
    made = passages([(("A",), 300) for _ in range(40)])
    assert section_of(20, made).content == joined(made, range(17, 23))


def test_a_text_without_headings_brings_the_page() -> None:
    made = passages([((), 100)] * 3) | {3: Passage("d", "g", 3, "next page.", 100, 30, 40, 2, 2)}
    section = section_of(1, made)
    assert section.content == joined(made, range(3))
    assert (section.first_page, section.last_page, section.heading_path) == (1, 1, ())


SEALS: list[Chunk] = [(("A",), 100), *[(("A", "Seals"), 100)] * 3, (("A",), 100), (("A", "Oil"), 100)]


@pytest.mark.parametrize(("headed", "first"), [(True, 1), (False, 0)])
def test_a_chunk_merged_with_a_small_section_beside_it_belongs_to_both(headed: bool, first: int) -> None:
    """The chunk before it does if no other holds the heading."""
    made = passages(SEALS, headed=headed)
    section = section_of(2, made)
    assert section.content == joined(made, range(first, 5))
    assert section.heading_path == ("A", "Seals")


@pytest.mark.parametrize(("gap", "between"), [(0, ""), (5, "\n\n")])
def test_what_no_chunk_holds_is_an_empty_line(gap: int, between: str) -> None:
    made = passages(MANUAL, gap=gap)
    assert section_of(2, made).content == joined(made, range(2, 4), between)


def test_what_two_chunks_share_is_there_once() -> None:
    first = Passage("d", "g", 0, "one two three", 3, 0, 13, 1, 1, heading_path=("A",))
    second = Passage("d", "g", 1, "three four", 2, 8, 18, 1, 1, heading_path=("A",))
    assert section_of(1, {0: first, 1: second}).content == "one two three four"


def test_a_missing_chunk_ends_the_section() -> None:
    made = passages([(("A",), 10)] * 5)
    del made[1]
    assert section_of(2, made).content == joined(made, range(2, 5))


paths = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)


@given(chunks=st.lists(st.tuples(paths, st.integers(1, 900)), min_size=1, max_size=30), data=st.data())
def test_a_section_holds_its_chunk_and_is_bounded(chunks: list[Chunk], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(chunks) - 1))
    made = passages(chunks)
    section = section_of(place, made)
    text = "".join(made[index].chunk_text for index in sorted(made))
    assert section.content == text[section.start : section.end]
    assert made[place].chunk_text in section.content
    taken = [one for one in made.values() if section.start <= one.start and one.end <= section.end]
    assert len(taken) == 1 or sum(one.token_count for one in taken) <= MAX_SECTION_TOKENS
    for one in taken:
        shorter = min(len(one.heading_path), len(section.heading_path))
        assert one.heading_path[:shorter] == section.heading_path[:shorter]
