"""Near-identical passages."""

import random

from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.pipeline.dedup import duplicates

WORDS = [f"word{number}" for number in range(400)]


def passage(seed: int, length: int = 120) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=length))


def test_passage_that_differs_in_case_space_and_punctuation_repeats_the_first() -> None:
    text = passage(1)
    assert duplicates([text, passage(2), text.upper().replace(" ", "  ,")]) == {2}


def test_passage_with_a_changed_word_repeats_the_first() -> None:
    words = passage(1, 200).split()
    assert duplicates([" ".join(words), " ".join([*words[:100], "changed", *words[101:]])]) == {1}


def test_neighbours_that_overlap_by_half_do_not_repeat_each_other() -> None:
    words = passage(1, 300).split()
    assert duplicates([" ".join(words[:200]), " ".join(words[100:])]) == set()


def test_long_passage_that_quotes_a_short_one_stays() -> None:
    short = passage(1, 40)
    assert duplicates([short, f"{passage(2)} {short} {passage(3)}"]) == set()


def test_short_and_wordless_texts_repeat_only_their_equals() -> None:
    assert duplicates(["Total: 12", "Total: 13", "total 12", "---", "***", "---", ""]) == {2, 5}


@given(st.lists(st.text(max_size=60), max_size=12))
def test_first_of_any_texts_stays_and_a_second_pass_finds_no_more(texts: list[str]) -> None:
    repeated = duplicates(texts)
    assert 0 not in repeated
    kept = [text for place, text in enumerate(texts) if place not in repeated]
    assert duplicates(kept) == set()


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(20, 80), st.sets(st.integers(0, 79), max_size=5)), max_size=8))
def test_short_cut_finds_what_comparing_all_with_all_finds(made: list[tuple[int, int, set[int]]]) -> None:
    """Passages cut from three texts, with some words changed: some are near-identical, some nearly so."""
    texts = [
        " ".join(
            "changed" if place in changed else word for place, word in enumerate(passage(seed, 80).split()[:length])
        )
        for seed, length, changed in made
    ]
    kept: list[set[tuple[str, ...]]] = []
    expected: set[int] = set()
    for place, text in enumerate(texts):
        words = text.split()
        own = {tuple(words[start : start + 4]) for start in range(len(words) - 3)}
        if any(len(own & other) >= 0.9 * max(len(own), len(other)) - 1e-9 for other in kept):
            expected.add(place)
        else:
            kept.append(own)
    assert duplicates(texts) == expected


def test_a_copy_stays_if_the_question_names_its_context() -> None:
    texts = ["Let the head cool down for five minutes before you clean it with a dry cloth."] * 3
    contexts = ["Zebra 4000 > Cleaning", "Lion 300 > Cleaning", "Lynx 200 > Cleaning"]
    assert duplicates(texts, contexts, "Zebra and Lion: how long to cool down?") == {2}
    assert duplicates(texts, contexts, "how long to cool down?") == {1, 2}
    assert duplicates(texts, ["Zebra"] * 3, "Zebra: how long to cool down?") == {1, 2}
    assert duplicates(texts, ["", "", ""], "Zebra and Lion") == {1, 2}
