"""One round of a model's answer, written into the draft as it streams."""

from analytiq.assistants.chat.draft import Draft
from analytiq.inference.llm.base import Completion, ReasoningDelta, TextDelta

SEAM_CHARACTERS = 300
"""Characters of the answer's end that a continuation may repeat."""
LEAST_REPEATED = 8
"""Characters. Shorter repetitions are chance."""


class Seam:
    """Joins a continuation to a cut answer, and drops the repeated end of the answer."""

    def __init__(self, before: str) -> None:
        self._before = before[-SEAM_CHARACTERS:]
        self._held = ""
        self._is_open = len(self._before) >= LEAST_REPEATED

    def take(self, text: str) -> str:
        """Return the text to show; hold the beginning back while it may repeat the answer's end."""
        if not self._is_open:
            return text
        self._held += text
        return self.end() if len(self._held) >= len(self._before) else ""

    def joined(self, text: str) -> str:
        """Return a whole continuation without the repetition."""
        return text[repeated(self._before, text) :]

    def end(self) -> str:
        """Return the text held back, without the repetition."""
        if not self._is_open:
            return ""
        self._is_open = False
        return self._held[repeated(self._before, self._held) :]


def repeated(before: str, after: str) -> int:
    """Return the number of characters at the beginning of `after` that repeat the end of `before`."""
    skipped = len(after) - len(after.lstrip())
    begun = after.lstrip()
    sizes = range(min(len(before), len(begun)), LEAST_REPEATED - 1, -1)
    size = next((size for size in sizes if before.endswith(begun[:size])), 0)
    return skipped + size if size else 0


class Said:
    """One round: its text, and its reasoning apart."""

    def __init__(self, draft: Draft, seam: Seam) -> None:
        self._draft = draft
        self._seam = seam
        self._begin = len(draft.message.content)
        self._text: list[str] = []
        self._reasoning: list[str] = []

    @property
    def everything(self) -> str:
        """Return the model's text and reasoning, to estimate its usage."""
        return "".join((*self._reasoning, *self._text))

    def add(self, delta: TextDelta | ReasoningDelta) -> None:
        """Add a piece of the stream."""
        if isinstance(delta, ReasoningDelta):
            self._reasoning.append(delta.text)
            self._draft.add_reasoning(delta.text)
            return
        self._text.append(delta.text)
        self._draft.add_text(self._seam.take(delta.text))

    def settle(self, completion: Completion) -> None:
        """End the round; the completion decides which streamed text was reasoning."""
        self._draft.add_text(self._seam.end())
        if "".join(self._text) != completion.text:
            self._draft.settle(self._begin, self._seam.joined(completion.text))
            self._draft.add_reasoning(completion.reasoning)
