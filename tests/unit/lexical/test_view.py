"""Hits, their order, and the ones that a filter leaves."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.backends.local.keywords import view as view_module
from analytiq.retrieval.backends.local.keywords.index import WordIndex, searched
from analytiq.retrieval.backends.local.keywords.view import View
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    DocumentSet,
    Outside,
    PageComparison,
    PageIn,
    Selection,
    contains,
)
from analytiq.retrieval.filters.tree import Comparator
from analytiq.storage.repositories.index_contents import ChunkText
from tests.examples import examples
from tests.unit.lexical.words import STATE, chunk, found, view_of

PLACES = [(f"d{number}", index, (page, page + number % 3)) for number in range(12) for index, page in ((0, 1), (1, 3))]
LIBRARY = view_of(
    [
        chunk(document_id, f"whales swim in the sea number {place % 5}", index=index, pages=pages)
        for place, (document_id, index, pages) in enumerate(PLACES)
    ]
)

pages = st.one_of(st.integers(-2, 8), st.sampled_from([0.5, 2.5, 1e300, -1e300, float(2**63), float("inf")]))
leaves: st.SearchStrategy[Selection] = st.one_of(
    st.builds(DocumentSet, st.frozensets(st.sampled_from([f"d{number}" for number in range(15)]))),
    st.builds(PageComparison, st.sampled_from([one for one in Comparator if one is not Comparator.NOT_EQUAL]), pages),
    st.builds(PageIn, st.lists(st.integers(-1, 6) | st.sampled_from([1.5, 1e300]), max_size=3).map(tuple)),
)
selections: st.SearchStrategy[Selection] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Outside, inner),
    ),
    max_leaves=8,
)


def places(view: View, question: str, *, limit: int = 100, selection: Selection | None = None) -> list[tuple[str, int]]:
    hits = searched(view, question, limit=limit, selection=selection)
    return [(hit.document_id, hit.chunk_index) for hit in hits]


@pytest.mark.parametrize("wide", [0, 500], ids=["tried on the best first", "compiled"])
@given(selection=selections, limit=st.integers(1, 30))
@examples(150)
def test_filter_finds_exactly_what_a_plain_reading_of_it_does(wide: int, selection: Selection, limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view_module, "WIDE_DOCUMENTS", wide)
        everything = places(LIBRARY, "whales sea 3")
        page_of = {(document_id, index): pages for document_id, index, pages in PLACES}
        wanted = [place for place in everything if contains(selection, place[0], *page_of[place], chunk_index=place[1])]
        assert places(LIBRARY, "whales sea 3", limit=limit, selection=selection) == wanted[:limit]


def test_filter_that_few_of_the_best_pass_is_still_exact() -> None:
    """More documents than are compiled at once, of which only the worst ones hold the words at all."""
    chunks = [chunk(f"good{number}", "whales whales whales") for number in range(700)]
    chunks += [chunk(f"long{number}", f"whales {'sea ' * 60} {number}") for number in range(5)]
    view = view_of(chunks)
    others = frozenset(f"missing{number}" for number in range(600))
    selection = DocumentSet(others | {f"long{number}" for number in range(5)})
    assert found(view, "whales", limit=10, selection=selection) == [f"long{number}" for number in range(5)]


@pytest.mark.slow
def test_filter_that_one_of_100_000_near_identical_chunks_passes_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "MOST_TIES", 100)
    rows = 20_000  # the same code at a fifth of the size; benchmarks/lexical.py has the full one
    view = view_of([chunk(f"d{number:06}", "the same sentence everywhere") for number in range(rows)])
    assert found(view, "sentence", limit=1, selection=DocumentSet(frozenset({"d012345"}))) == ["d012345"]
    but_one = Outside(DocumentSet(frozenset(f"d{number:06}" for number in range(rows) if number != 12_345)))
    assert found(view, "sentence", limit=10, selection=but_one) == ["d012345"]


any_characters = st.characters(exclude_categories=())  # halves of surrogate pairs too, which JSON can bring


@given(question=st.text(any_characters) | st.text(alphabet=' "()[]{}^~*?:\\/+-!&|ANDORTO019'))
@examples(300)
def test_no_question_is_a_language_of_queries(question: str) -> None:
    assert all(hit.score > 0 for hit in searched(LIBRARY, question, limit=5, selection=None))


def test_signs_of_query_languages_find_what_the_words_find() -> None:
    plain = places(LIBRARY, "whales sea")
    for question in ("+whales -sea", "whales AND sea", '"whales sea"~2', "words:whales OR sea^9", "whales* sea?"):
        assert set(places(LIBRARY, question)) == set(plain), question


@pytest.mark.slow
def test_question_of_a_million_characters_is_answered() -> None:
    assert places(LIBRARY, "whales " + " ".join(f"word{number}" for number in range(100_000)))


def test_rare_words_count_for_more_and_repeated_ones_too() -> None:
    view = view_of({"a": "whale and fish", "b": "whale and bird", "c": "whale and fish", "d": "nothing"})
    assert found(view, "whale bird")[0] == "b"
    twice = {hit.document_id: hit.score for hit in searched(view, "bird bird whale", limit=9, selection=None)}
    once = {hit.document_id: hit.score for hit in searched(view, "bird whale", limit=9, selection=None)}
    assert twice["b"] > once["b"]
    assert twice["a"] == once["a"]


def test_equal_scores_are_in_order_of_document_and_chunk_whatever_the_limit() -> None:
    numbers = list(range(300))
    random.Random(5).shuffle(numbers)
    view = view_of([chunk(f"d{number:03}", "one and the same", index=number % 7) for number in numbers])
    everything = found(view, "same", limit=1000)
    assert everything == sorted(everything)
    for limit in (1, 10, 100, 299):
        assert found(view, "same", limit=limit) == everything[:limit]


def test_scores_fall_and_pages_fit_each_other() -> None:
    words = [f"w{number}" for number in range(30)]
    source = random.Random(3)
    view = view_of({f"d{number:03}": " ".join(source.choices(words, k=20)) for number in range(400)})
    hits = searched(view, "w1 w2 w3", limit=400, selection=None)
    assert all(one.score >= other.score for one, other in pairwise(hits))
    for limit in (1, 7, 50):
        assert searched(view, "w1 w2 w3", limit=limit, selection=None) == hits[:limit]


@pytest.mark.parametrize(
    ("question", "whole", "parts"),
    [
        (
            "INV-2024/00123",
            "Reminder about invoice INV-2024/00123, which is " + "long " * 150,
            "INV 2024 00123 INV 00123",
        ),
        ("AX-42-B", "part AX-42-B " + "among others " * 80, "AX AX 42 42 B B AX-42 42-B"),
        ("jane.doe@example.com", "mail jane.doe@example.com " + "now " * 150, "Jane Doe, example com, jane.doe"),
        ("1.2.3", "release 1.2.3 " + "of many words " * 60, "1 2 3 1 2 3 3.2.1"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00 " + "account " * 150, "DE89 3704 0044 0532 0130 01"),
        ("What about invoice INV-2024/00123?", "INV-2024/00123 " + "paid " * 150, "invoice INV 2024 00123 invoice"),
    ],
)
def test_whole_code_stands_before_its_parts(question: str, whole: str, parts: str) -> None:
    others = {f"other{number}": f"text {number} 2024 42 invoice" for number in range(50)}
    view = view_of({"parts": parts, "whole": whole, **others})
    assert found(view, question)[0] == "whole"


def test_parts_of_a_code_are_found_as_well() -> None:
    view = view_of({"a": "Invoice INV-2024/00123 of Acme", "b": "nothing of the kind"})
    for question in ("00123", "inv", "2024"):
        assert found(view, question) == ["a"]


def test_words_with_and_without_hyphen_find_each_other() -> None:
    view = view_of({"a": "write an e-mail to us", "b": "write an email to us", "c": "write a letter"})
    assert set(found(view, "email")) == set(found(view, "e-mail")) == {"a", "b"}


def test_single_character_is_found_in_what_has_no_spaces() -> None:
    view = view_of({"a": "東京に猫がいる", "b": "東京に犬がいる"})
    assert found(view, "猫") == ["a"]
    assert found(view, "東京の犬")[0] == "b"


def test_question_of_stop_words_alone_finds_them() -> None:
    view = view_of({"a": "To be, or not to be: that is the question", "b": "Ask what you want", "c": "Zebras"})
    assert found(view, "to be or not to be") == ["a"]


def test_stop_word_that_is_a_word_elsewhere_is_found_where_it_is_all_that_is_asked() -> None:
    german = "Die Stadt ist nicht für alle da, und das ist so"
    view = view_of({"german": german, "english": "This is the way in which it is done"})
    assert found(view, "die") == ["german"]


def test_question_whose_words_are_nowhere_finds_no_stop_words() -> None:
    assert found(view_of({"a": "the sea and the whales"}), "the zebra") == []


def test_stop_words_are_not_looked_for_beside_others() -> None:
    view = view_of({"a": "the the the the", "b": "zebra"})
    assert found(view, "the zebra") == ["b"]


def test_question_is_stemmed_by_each_language_of_the_chunks() -> None:
    german = "Das ist nicht der Weg, auf dem sich die Stadt mit den Häusern zeigt"
    english = "That is not the way in which the city and its houses are shown to us"
    view = view_of({"german": german, "english": english})
    assert view.languages == ("english", "german") or view.languages == ("german", "english")
    assert found(view, "Haus") == ["german"]
    assert found(view, "house") == ["english"]


def test_nothing_is_found_where_there_is_nothing() -> None:
    empty: list[ChunkText] = []
    assert found(view_of(empty), "whales") == []
    assert found(LIBRARY, "") == found(LIBRARY, "?!") == found(LIBRARY, "zebra") == []
    assert found(LIBRARY, "whales", limit=0) == []


def test_view_knows_how_many_chunks_it_has() -> None:
    assert LIBRARY.chunk_count == len(PLACES)


VALUES = view_of(
    {
        "price": "The pump costs 1,234.50 EUR",
        "other price": "The pump costs 1,234.60 EUR",
        "date": "The pump was bought on March 5, 2024",
        "other date": "The pump was bought on March 6, 2024",
        "power": "The pump runs at 230V",
        "other power": "The pump runs at 230W",
        "count": "The pump was sold 12,345 times",
    }
)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("1234.5", "price"),
        ("1.234,50 €", "price"),
        ("pump bought on 2024-03-05", "date"),
        ("pump bought on 3/5/2024", "date"),
        ("pump of 230 volts", "power"),
        ("pump 230 W", "other power"),
        ("12345", "count"),
        ("12.345", "count"),
    ],
)
def test_value_is_found_first_in_another_notation(question: str, first: str) -> None:
    assert found(VALUES, question)[0] == first


def test_word_of_a_title_counts_in_the_text_as_it_does_in_the_context() -> None:
    title = ChunkText("g", "act", 0, 1, 1, "Harbour Dues Act, article 1 on its scope in this country", "")
    others = [
        ChunkText("g", "act", number, 1, 1, f"article {number} on fines and fees in this country", "Harbour Dues Act")
        for number in range(1, 6)
    ]
    hits = searched(view_of([title, *others]), "fine, Harbour Dues Act", limit=10, selection=None)
    assert hits[0].chunk_index != 0


def test_scores_stay_above_zero_when_most_rows_were_removed() -> None:
    index = WordIndex.created(None)
    index.add([chunk(f"d{number}", "the pump AX-42-B") for number in range(9)], {})
    index.commit(STATE)
    index.remove([f"generation of d{number}" for number in range(8)])
    index.commit(STATE)
    for question in ("AX-42-B", "pump", "the", "pumps AX-42-B"):
        (hit,) = searched(index.view(), question, limit=9, selection=None)
        assert hit.document_id == "d8"
        assert hit.score > 0
