"""A question becomes clauses of `$search`, whatever it holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.storage.search.indexes import CHARACTER_PAIRS, CHUNK_TEXT, CONTEXT, WHOLE, word_index
from analytiq.storage.search.questions import LONGEST_WORD, clauses_of, way
from tests.fakes.search_server import definitions, words
from tests.fakes.search_server.errors import RefusedError

DEFINITION = definitions.parse("search", word_index(has_context=True).definition)
DOCUMENTS = {1: {CHUNK_TEXT: "Whales sing 鯨の歌, says (INV-2024/00123)."}, 2: {CHUNK_TEXT: "INV 2024 00123"}}


def paths(question: str) -> list[object]:
    return [clause["text"]["path"] for clause in clauses_of(question)]


def test_plain_words_are_asked_for_once() -> None:
    assert paths("how do whales sing?") == [CHUNK_TEXT]


def test_codes_are_asked_for_as_they_are_written_too() -> None:
    assert paths("where is (INV-2024/00123)?") == [CHUNK_TEXT, way(WHOLE)]
    assert clauses_of("where is (INV-2024/00123)?")[1]["text"]["query"] == "INV-2024/00123"


def test_scripts_without_spaces_are_asked_for_in_pairs() -> None:
    assert paths("鯨の歌") == [CHUNK_TEXT, way(CHARACTER_PAIRS)]


def test_a_question_without_a_word_asks_nothing() -> None:
    assert clauses_of("?! -- …") == []


def test_a_code_is_found_whole_before_its_parts() -> None:
    stage = {"compound": {"should": clauses_of("INV-2024/00123"), "minimumShouldMatch": 1}}
    assert [found.identifier for found in words.run(stage, DEFINITION, DOCUMENTS)] == [1, 2]


@pytest.mark.parametrize("question", ["a b ", "鯨", "x-1 ", "a-", "鯨-歌 ", "word, ", "whale鯨 x-1 "])
def test_a_long_question_leaves_room_for_a_filter_below_the_servers_limit_of_terms(question: str) -> None:
    kind = {"equals": {"path": "document_id", "value": "1"}}
    compound = {"should": clauses_of(question * 5000), "minimumShouldMatch": 1, "filter": [kind] * 384}
    words.run({"compound": compound}, DEFINITION, DOCUMENTS)
    with pytest.raises(RefusedError, match="maxClauseCount"):
        words.run({"compound": {**compound, "filter": [kind] * 1024}}, DEFINITION, DOCUMENTS)


@pytest.mark.parametrize("question", ["a b ", "鯨", "x-1 ", "a-", "鯨-歌 ", "word, ", "whale鯨 x-1 "])
def test_contexts_leave_the_same_room_for_a_filter(question: str) -> None:
    kind = {"equals": {"path": "document_id", "value": "1"}}
    compound = {"should": clauses_of(question * 5000, has_context=True), "minimumShouldMatch": 1}
    words.run({"compound": {**compound, "filter": [kind] * 384}}, DEFINITION, DOCUMENTS)


def test_a_word_counts_in_the_context_only_where_the_text_lacks_it() -> None:
    documents = {
        1: {CHUNK_TEXT: "Zebra prints labels", CONTEXT: "Zebra-4000"},
        2: {CHUNK_TEXT: "Zebra prints labels", CONTEXT: "Lion"},
        3: {CHUNK_TEXT: "It prints labels", CONTEXT: "Zebra-4000"},
        4: {CHUNK_TEXT: "It prints labels"},
    }
    stage = {"compound": {"should": clauses_of("zebra", has_context=True), "minimumShouldMatch": 1}}
    found = {hit.identifier: hit.score for hit in words.run(stage, DEFINITION, documents)}
    assert set(found) == {1, 2, 3}
    assert found[1] == found[2]
    stage = {"compound": {"should": clauses_of("Zebra-4000", has_context=True), "minimumShouldMatch": 1}}
    ranked = [hit.identifier for hit in words.run(stage, DEFINITION, documents)]
    assert ranked[0] in (1, 3)
    assert ranked[-1] == 2


def test_a_long_question_is_asked_from_its_beginning() -> None:
    (clause,) = clauses_of(" ".join(f"word{number}" for number in range(1000)))
    assert clause["text"]["query"].split() == [f"word{number}" for number in range(256)]


@given(st.text())
def test_any_question_is_one_that_the_server_reads(question: str) -> None:
    if clauses := clauses_of(question):
        words.run({"compound": {"should": clauses}}, DEFINITION, DOCUMENTS)


def test_a_very_long_word_is_read_in_one_go_and_cut() -> None:
    (clause,) = clauses_of("a" * 1_000_000)
    assert clause["text"]["query"] == "a" * LONGEST_WORD


def test_codes_are_found_in_the_midst_of_signs() -> None:
    codes = [clause["text"]["query"] for clause in clauses_of("(INV-2024/00123), _A-1 and mail@example.org!")][1:]
    assert codes == ["INV-2024/00123 A-1 mail@example.org"]
