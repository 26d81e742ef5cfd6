"""Places of a question's words in a passage."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analytiq.retrieval.pipeline.highlight import MAX_HIGHLIGHTS, highlights

PLAIN = "abAB12 ,.-_/+#$%\u2013\u201c\u2122\u20ac\u2022"
GERMAN = "Das ist nicht der Weg, auf dem sich die Stadt mit"


def marked(question: str, passage: str) -> list[str]:
    return [passage[start:end] for start, end in highlights(question, passage)]


@pytest.mark.parametrize(
    ("question", "passage", "expected"),
    [
        ("terminating a contract", "The contracts were terminated in May.", ["contracts", "terminated"]),
        ("Haus", f"{GERMAN} vielen Häusern zeigt", ["Häusern"]),
        ("facturación", "Los datos de la FACTURACION que son", ["FACTURACION"]),
        ("INV-2024/00123", "See invoice INV-2024/00123.", ["INV-2024/00123"]),
        ("ax42b", "The part AX-42-B is here, AX-42 is not", ["AX-42-B"]),
        ("jo@example.org", "Write to Jo@Example.org now", ["Jo@Example.org"]),
        ("email", "an e-mail and an email", ["e-mail", "email"]),
        ("东京铁塔", "我在东京看到铁塔", ["东京", "铁塔"]),
        ("猫", "東京に猫がいる", ["猫"]),
        ("книга", "Он читает книгами вслух", ["книгами"]),
        ("to be or not to be", "To be, or not to be", ["To", "be", "or", "not", "to", "be"]),
        ("the whale", "the sea has the whales", ["whales"]),
        ("café", "Le cafe\u0301 est dans la rue", ["cafe\u0301"]),
        ("1234.5", "It costs 1,234.50 now", ["1,234.50"]),
        ("1234", "It costs 1,234 now", ["1,234"]),
        ("2024-03-05", "Due on March 5, 2024, or on March 6", ["March 5, 2024"]),
        ("230 volts", "A pump of 230V", ["230V"]),
        ("pumps", "the \u201cPump\u2122\u201d \u2013 don\u2019t pump\u2026", ["Pump", "pump"]),
        ("ax42b", "\u2022 AX-42-B \u2013 \u2022 AX\u201142\u2011B", ["AX-42-B", "AX\u201142\u2011B"]),
        ("5 EUR", "\u2022 it costs 5 \u20ac now", ["5 \u20ac"]),
        ("$5", "It costs $5 now", ["5"]),
        ("zebra", "nothing of the kind", []),
        ("", "nothing", []),
    ],
)
def test_words_of_the_question_are_marked(question: str, passage: str, expected: list[str]) -> None:
    assert marked(question, passage) == expected


def test_parts_of_a_code_that_is_another_one_are_marked_one_by_one() -> None:
    assert marked("INV-2024/00123", "INV-2024/00999") == ["INV", "2024"]


@given(question=st.text(max_size=60), passage=st.text())
def test_spans_lie_in_the_passage_in_order_and_apart(question: str, passage: str) -> None:
    end_before = -1
    for start, end in highlights(question, passage):
        assert end_before < start < end <= len(passage)
        end_before = end


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=8))
@example("\ufa2a")
@example("\ufa2a\ufa2a")
def test_whatever_word_is_asked_for_is_marked_where_it_stands(word: str) -> None:
    assert marked(word, f"| {word} |")


@given(question=st.text(PLAIN, max_size=40), passage=st.text(PLAIN, max_size=200))
@example(question="c++ 12", passage="C++_12-4b, 12")
def test_signs_beyond_ascii_change_no_mark(question: str, passage: str) -> None:
    """A letter of another script alone makes the passage read character by character, which marks the same words."""
    assert marked(question, passage) == marked(question, f"{passage} \u03a9")


def test_many_highlights_are_cut() -> None:
    assert len(highlights("whales", "whales, " * 500)) == MAX_HIGHLIGHTS


@given(st.text("ab1 -", max_size=80), st.lists(st.text("ab1", min_size=1, max_size=3), min_size=1, max_size=6))
def test_few_words_and_many_are_marked_alike(passage: str, words: list[str]) -> None:
    question = " ".join(["pump", *words])
    beyond = " ".join(f"filler{chr(97 + place)}" for place in range(20))
    spans = highlights(question, f"{passage} zz")
    assert highlights(f"{question} {beyond}", f"{passage} zz {beyond}")[: len(spans)] == spans
