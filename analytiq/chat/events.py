"""What a reader of an answer is told, and what is new to one who has seen a part: pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from analytiq.models.chat import AnswerState, ChatMessage, ChatStep


class EventName(StrEnum):
    """The names of the events."""

    TOKEN = "token"  # noqa: S105  # a piece of text
    TOOL_CALL = "tool_call"
    PASSAGES = "passages"
    USAGE = "usage"
    ERROR = "error"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader is: steps, characters, and of what follows the answer: 1 usage, 2 error, 3 done."""

    steps: int = 0
    characters: int = 0
    ending: int = 0

    def __str__(self) -> str:
        return f"{self.steps}.{self.characters}.{self.ending}"

    @classmethod
    def of(cls, text: str | None) -> "Position":
        """From the id of an event; whatever is none is the beginning."""
        matched = re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.([0-3])", text or "")
        return cls(*map(int, matched.groups())) if matched else cls()


START = Position()
USAGE_TOLD, ERROR_TOLD, ALL_TOLD = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `position` is where a reader is who has read it."""

    name: EventName
    position: Position
    text: str = ""
    step: ChatStep | None = None


def events_after(message: ChatMessage, position: Position) -> list[Event]:
    """What a reader at `position` has not been told of the answer yet, in order."""
    events: list[Event] = []
    characters, steps = position.characters, position.steps
    for step in message.steps[steps:]:
        # A step that erasing has left behind may stand after the end of the text.
        at = min(step.at, len(message.content))
        if at > characters:
            events.append(Event(EventName.TOKEN, Position(steps, at), text=message.content[characters:at]))
            characters = at
        steps += 1
        events.append(Event(EventName(step.kind.value), Position(steps, characters), step=step))
    if len(message.content) > characters:
        text, characters = message.content[characters:], len(message.content)
        events.append(Event(EventName.TOKEN, Position(steps, characters), text=text))
    if message.state is AnswerState.RUNNING:
        return events
    endings = [(EventName.USAGE, USAGE_TOLD), (EventName.ERROR, ERROR_TOLD), (EventName.DONE, ALL_TOLD)]
    return events + [
        Event(name, Position(steps, characters, ending))
        for name, ending in endings
        if ending > position.ending and (name is not EventName.ERROR or message.error is not None)
    ]
