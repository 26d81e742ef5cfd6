"""Wherever a reader stops, the rest is told, once and in order."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.assistants.chat.events import EventName, Position, events_after
from analytiq.models.chat import AnswerState, ChatMessage, ChatRole, ChatStep, StepKind
from analytiq.models.document import Failure

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def message(content: str, places: list[int], state: AnswerState = AnswerState.DONE) -> ChatMessage:
    steps = tuple(ChatStep(kind=StepKind.TOOL_CALL, at=at, call_id=str(at)) for at in sorted(places))
    error = Failure(code="x", detail="y", at=NOW) if state is AnswerState.FAILED else None
    return ChatMessage(
        id="0" * 24, organization_id="1" * 24, thread_id="2" * 24, number=2, role=ChatRole.ASSISTANT,
        content=content, steps=steps, state=state, error=error, created_at=NOW,
    )  # fmt: skip


def told(answer: ChatMessage, position: Position) -> tuple[list[str], str]:
    events = events_after(answer, position)
    return [event.name.value for event in events if event.name is not EventName.TOKEN], "".join(
        event.text for event in events
    )


@given(
    content=st.text(max_size=30), places=st.lists(st.integers(0, 30), max_size=4), data=st.data(),
    state=st.sampled_from(AnswerState),
)  # fmt: skip
def test_what_is_told_in_two_parts_is_what_is_told_at_once(
    content: str, places: list[int], data: st.DataObject, state: AnswerState
) -> None:
    places = [at for at in places if at <= len(content)]
    whole = message(content, places, state)
    everything = events_after(whole, Position())
    seen = data.draw(st.integers(0, len(content)))
    part = message(content[:seen], [at for at in places if at <= seen], AnswerState.RUNNING)
    first = events_after(part, Position())
    position = first[-1].position if first else Position()
    rest = events_after(whole, Position.of(str(position)))
    assert "".join(e.text for e in first + rest) == content == "".join(e.text for e in everything)
    names = [e.name for e in first + rest if e.name is not EventName.TOKEN]
    assert names == [e.name for e in everything if e.name is not EventName.TOKEN]


@given(content=st.text(max_size=10), data=st.data())
def test_reader_may_come_back_after_any_event(content: str, data: st.DataObject) -> None:
    whole = message(content, [0, 0, len(content)], AnswerState.FAILED)
    events = events_after(whole, Position())
    after = data.draw(st.integers(0, len(events) - 1))
    assert events_after(whole, events[after].position) == events[after + 1 :]
    assert [event.name for event in events[-3:]] == [EventName.USAGE, EventName.ERROR, EventName.DONE]


def test_running_answer_has_no_end_yet() -> None:
    assert told(message("abc", [1], AnswerState.RUNNING), Position()) == (["tool_call"], "abc")


@pytest.mark.parametrize("text", [None, "", "x", "1.2", "1.2.9", "-1.0.0", "1.2.3.4", "9" * 20 + ".0.0"])
def test_id_that_is_none_of_ours_is_the_beginning(text: str | None) -> None:
    assert Position.of(text) == Position()


def test_position_beyond_the_answer_is_told_only_the_end() -> None:
    """As after the erasing of what it was made from."""
    assert told(message("", []), Position(5, 500)) == (["usage", "done"], "")
