"""Marks of citations in every form that models write, and brackets that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.assistants.chat.marks import code_of, code_restored, marks_of, with_own_marks_apart, without_marks


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[1]", [(1,)]),
        ("[1][3]", [(1,), (3,)]),
        ("[1, 2]", [(1, 2)]),
        ("[1; 2, 3]", [(1, 2, 3)]),
        ("[1-3]", [(1, 2, 3)]),
        ("[1–3, 5]", [(1, 2, 3, 5)]),
        ("[1 and 4]", [(1, 4)]),
        ("[^1]", [(1,)]),
        ("[^1, ^2]", [(1, 2)]),
        ("[#2]", [(2,)]),
        ("[Source 1]", [(1,)]),
        ("[source 1, source 2]", [(1, 2)]),
        ("[Sources 1-2]", [(1, 2)]),
        ("[Passage 7]", [(7,)]),
        ("[Quelle 2]", [(2,)]),
        ("(Source 1)", [(1,)]),
        ("(see source 1 and 3)", [(1, 3)]),
        ("（来源 1）", [(1,)]),
        ("【1】", [(1,)]),
        ("【1†source】", [(1,)]),
        ("【2†boilers.pdf】", [(2,)]),
        ("［1］", [(1,)]),
        ("［１，２］", [(1, 2)]),
        ("[1、2]", [(1, 2)]),
        ("[1, page 7]", [(1,)]),
        ("[1, pp. 7-9]", [(1,)]),
        ("[1: boilers.pdf]", [(1,)]),
        ("[3-1]", [(3, 1)]),
        ("[1-999]", [(1, 999)]),
    ],
)
def test_every_form_of_a_citation_is_read(text: str, numbers: list[tuple[int, ...]]) -> None:
    found = marks_of(f"So it is {text}.")
    assert [mark.numbers for mark in found] == numbers
    assert without_marks(f"So it is {text}.") in ("So it is.", "So it is..", "So it is")


@pytest.mark.parametrize(
    "text",
    [
        "Use `arr[1]` here.",
        "Use ``a`[1]`` here.",
        "```python\nx = arr[1]\n```",
        "~~~\n[1]\n~~~",
        "- as in\n  ```\n  [1]\n  ```\n",
        "> ```\n> [1]\n> ```\n",
        "```\nunclosed [1]",
        "````\n```\n[1]\n```\n````",
        "[x] and [ ] and []",
        "[2024]",
        "[12:30]",
        "[1.5]",
        "(1)",
        "(page 1)",
        "[page 1]",
        "\\[1\\]",
        "⟦1⟧",
        "[a1]",
        "1] and [1",
    ],
)
def test_what_is_no_citation_is_left_alone(text: str) -> None:
    assert marks_of(text) == []
    assert without_marks(text) == text


@pytest.mark.parametrize(
    "text", ["`a` [1] `b`", "```\ncode\n```\nso [1]", "A lone ` tick [1]", "a ` b\n\nc ` d [1]", "```inline``` [1]"]
)
def test_citation_beside_code_counts(text: str) -> None:
    [mark] = marks_of(text)
    assert text[mark.start : mark.end] == "[1]"


def test_every_form_in_a_passages_own_text_is_set_apart() -> None:
    shown = with_own_marks_apart("As [2], (Source 3), 【4】 and `arr[1]` say; x[i] and (1) stay.")
    assert shown == "As ⟦2⟧, ⟦Source 3⟧, ⟦4⟧ and `arr⟦1⟧` say; x[i] and (1) stay."
    assert marks_of(shown) == []


def test_brackets_in_code_of_an_answer_are_written_as_code_has_them() -> None:
    answer = "As ⟦2⟧ says: `arr⟦1⟧`.\n```\nx = arr⟦12⟧\n```\n"
    assert code_restored(answer) == "As ⟦2⟧ says: `arr[1]`.\n```\nx = arr[12]\n```\n"
    assert marks_of(code_restored(answer)) == []


@given(
    st.lists(st.sampled_from(["`", "``", "```", "~~~", "\n", "\n\n", "[1]", "⟦2⟧", "x ", "> ", "[1-3]"])).map("".join)
)
def test_places_are_in_order_and_nothing_moves(text: str) -> None:
    places = [place for span in code_of(text) for place in span]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    assert len(code_restored(text)) == len(text)
    for mark in marks_of(text):
        assert text[mark.start : mark.end] in ("[1]", "[1-3]")
    assert [mark.numbers for mark in marks_of(with_own_marks_apart(text))] == []
