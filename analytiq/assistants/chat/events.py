"""Events of an answer, and the events that a reader at a position has not seen. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum

from analytiq.models.chat import AnswerState, ChatMessage, ChatStep


class EventName(StrEnum):
    """Names of the events."""

    REASONING = "reasoning"
    TOKEN = "token"  # noqa: S105  # a piece of text
    TOOL_CALL = "tool_call"
    PASSAGES = "passages"
    USAGE = "usage"
    ERROR = "error"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Position:
    """A reader's position: steps and characters read, and the ending (1 usage, 2 error, 3 done).

    `reasoning`: characters read of the model's reasoning.
    """

    steps: int = 0
    characters: int = 0
    ending: int = 0
    reasoning: int = 0

    def __str__(self) -> str:
        thought = f".{self.reasoning}" if self.reasoning else ""
        return f"{self.steps}.{self.characters}{thought}.{self.ending}"

    @classmethod
    def of(cls, text: str | None) -> "Position":
        """Parse an event's id; anything else is the beginning."""
        matched = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?\.([0-3])", text or "")
        if matched is None:
            return cls()
        steps, characters, thought, ending = (int(group or 0) for group in matched.groups())
        return cls(steps, characters, ending, thought)

    @classmethod
    def at_end_of(cls, message: ChatMessage) -> "Position":
        """Return the position of a reader who has seen all of the answer so far."""
        return cls(len(message.steps), len(message.content), reasoning=len(message.reasoning))


START = Position()
USAGE_TOLD, ERROR_TOLD, ALL_TOLD = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `position` is the position of a reader who has read it."""

    name: EventName
    position: Position
    text: str = ""
    step: ChatStep | None = None


def events_after(message: ChatMessage, position: Position) -> list[Event]:
    """Return the events that a reader at `position` has not seen, in order."""
    events: list[Event] = []
    characters, steps, thought = position.characters, position.steps, position.reasoning
    if len(message.reasoning) > thought:
        text, thought = message.reasoning[thought:], len(message.reasoning)
        events.append(Event(EventName.REASONING, Position(steps, characters, reasoning=thought), text=text))
    for step in message.steps[steps:]:
        # A step kept by an erasure may lie beyond the end of the text.
        at = min(step.at, len(message.content))
        if at > characters:
            text, characters = message.content[characters:at], at
            events.append(Event(EventName.TOKEN, Position(steps, at, reasoning=thought), text=text))
        steps += 1
        events.append(Event(EventName(step.kind.value), Position(steps, characters, reasoning=thought), step=step))
    if len(message.content) > characters:
        text, characters = message.content[characters:], len(message.content)
        events.append(Event(EventName.TOKEN, Position(steps, characters, reasoning=thought), text=text))
    if message.state is AnswerState.RUNNING:
        return events
    endings = [(EventName.USAGE, USAGE_TOLD), (EventName.ERROR, ERROR_TOLD), (EventName.DONE, ALL_TOLD)]
    return events + [
        Event(name, Position(steps, characters, ending, thought))
        for name, ending in endings
        if ending > position.ending and (name is not EventName.ERROR or message.error is not None)
    ]
