"""The answer of a model in one round, written into the draft as it streams."""

from analytiq.assistants.chat.draft import Draft
from analytiq.inference.llm.base import Completion, ReasoningDelta, TextDelta

SEAM_CHARACTERS = 300
"""As much of an answer's end a model may repeat before it goes on."""
LEAST_REPEATED = 8
"""Fewer characters that are the same are chance."""


class Seam:
    """Joins a continuation to an answer that was cut: what is repeated of the answer's end is left out."""

    def __init__(self, before: str) -> None:
        self._before = before[-SEAM_CHARACTERS:]
        self._held = ""
        self._is_open = len(self._before) >= LEAST_REPEATED

    def take(self, text: str) -> str:
        """Return what may be shown; the beginning is held back while it may repeat the answer's end."""
        if not self._is_open:
            return text
        self._held += text
        return self.end() if len(self._held) >= len(self._before) else ""

    def joined(self, text: str) -> str:
        """Return a whole continuation without what it repeats."""
        return text[repeated(self._before, text) :]

    def end(self) -> str:
        """Return what was held back, without what is repeated."""
        if not self._is_open:
            return ""
        self._is_open = False
        return self._held[repeated(self._before, self._held) :]


def repeated(before: str, after: str) -> int:
    """Return how many characters at the beginning of `after` repeat the end of `before`."""
    skipped = len(after) - len(after.lstrip())
    begun = after.lstrip()
    sizes = range(min(len(before), len(begun)), LEAST_REPEATED - 1, -1)
    size = next((size for size in sizes if before.endswith(begun[:size])), 0)
    return skipped + size if size else 0


class Said:
    """One round: its text and its reasoning, apart."""

    def __init__(self, draft: Draft, seam: Seam) -> None:
        self._draft = draft
        self._seam = seam
        self._begin = len(draft.message.content)
        self._text: list[str] = []
        self._reasoning: list[str] = []

    @property
    def everything(self) -> str:
        """All that the model has written, for an estimate of what it has used."""
        return "".join((*self._reasoning, *self._text))

    def add(self, delta: TextDelta | ReasoningDelta) -> None:
        """Add a piece."""
        if isinstance(delta, ReasoningDelta):
            self._reasoning.append(delta.text)
            self._draft.add_reasoning(delta.text)
            return
        self._text.append(delta.text)
        self._draft.add_text(self._seam.take(delta.text))

    def settle(self, completion: Completion) -> None:
        """End the round: what came as text may have been reasoning."""
        self._draft.add_text(self._seam.end())
        if "".join(self._text) != completion.text:
            self._draft.settle(self._begin, self._seam.joined(completion.text))
            self._draft.add_reasoning(completion.reasoning)
