"""Reasoning apart from answers, however the text is cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.inference.llm.reasoning import ReasoningSplitter, Split, split_reasoning

CASES = [
    ("Thirty days [1].", "Thirty days [1].", ""),
    ("<think>Is it [2]?</think>Thirty days [1].", "Thirty days [1].", "Is it [2]?"),
    ("<think>\nHm.\n</think>\n\nThirty days.\n", "Thirty days.\n", "\nHm.\n"),
    (" \n <THINK>a</Think> b", "b", "a"),
    ("<thinking>a</thinking>\n<think>b</think>c", "c", "ab"),
    ("[THINK]a[/THINK]b", "b", "a"),
    ("<think>cut in the mid", "", "cut in the mid"),
    ("<think>", "", ""),
    ("<think></think>", "", ""),
    ("Let me see.\nIt is [2].\n</think>\n\nThirty days [1].", "Thirty days [1].", "Let me see.\nIt is [2].\n"),
    ("Only thoughts.\n</think>", "", "Only thoughts.\n"),
    ("The tag `<think>` opens, </think> closes.", "The tag `<think>` opens, </think> closes.", ""),
    ("As in:\n```\n<think>\nx\n</think>\n```\nDone.", "As in:\n```\n<think>\nx\n</think>\n```\nDone.", ""),
    ("First.\n<think> is a tag.", "First.\n<think> is a tag.", ""),
    ("a < b and b > c", "a < b and b > c", ""),
    ("<t", "<t", ""),
    ("<table><tr></tr></table>", "<table><tr></tr></table>", ""),
]


@pytest.mark.parametrize(("text", "answer", "reasoning"), CASES)
def test_reasoning_is_apart_from_the_answer(text: str, answer: str, reasoning: str) -> None:
    found = split_reasoning(text)
    assert (found.answer.lstrip(), found.reasoning.lstrip()) == (answer.lstrip(), reasoning.lstrip())


@given(
    text=st.sampled_from([text for text, _, _ in CASES])
    | st.lists(st.sampled_from(["<think>", "</think>", "\n", " ", "```", "x", "[1]", "<", "</th"])).map("".join),
    data=st.data(),
)
def test_however_it_comes_in_pieces_it_is_sorted_the_same(text: str, data: st.DataObject) -> None:
    splitter, found, place = ReasoningSplitter(), Split(), 0
    while place < len(text):
        size = data.draw(st.integers(1, len(text) - place))
        found += splitter.take(text[place : place + size])
        place += size
    found += splitter.end()
    whole = split_reasoning(text)
    assert (found.answer, found.reasoning) == (whole.answer, whole.reasoning)
    assert len(found.answer) + len(found.reasoning) <= len(text)


@given(st.text(alphabet="<think/>[]TK \n`x"))
def test_answer_without_tags_is_left_as_it_is(text: str) -> None:
    if not any(tag in text.lower() for tag in ("think>", "[think]", "[/think]")):
        assert split_reasoning(text) == Split(answer=text)
