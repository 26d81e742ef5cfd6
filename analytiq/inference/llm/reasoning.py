"""Separation of a model's reasoning from its answer, as text arrives piece by piece. Pure.

Models that reason write `<think>…</think>` before their answer, unless their server removes it. The opening tag may be
missing: some servers' templates put it into the prompt.
"""

from dataclasses import dataclass

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[think]": "[/think]",
}
"""Opening tag → closing tag, in lower case."""
_FENCES = ("```", "~~~")
_LONGEST_TAG = max(len(tag) for pair in TAGS.items() for tag in pair)


@dataclass(frozen=True, slots=True)
class Split:
    """The next part of the answer and of the reasoning. `retracts`: all of the answer so far was reasoning."""

    answer: str = ""
    reasoning: str = ""
    retracts: bool = False

    def __add__(self, other: "Split") -> "Split":
        if other.retracts:
            return Split(other.answer, self.reasoning + self.answer + other.reasoning, retracts=True)
        return Split(self.answer + other.answer, self.reasoning + other.reasoning, self.retracts)


class ReasoningSplitter:
    """The splitter of one answer.

    An opening tag counts at the beginning of the answer; a closing tag without one counts on a line of its own outside
    of code: an answer may mention tags.
    """

    def __init__(self) -> None:
        self._pending: str = ""
        self._closing: str | None = None
        """The tag that ends the reasoning; None within the answer."""
        self._line: str = ""
        """The beginning of the answer's present line, if a tag or a code fence may stand in it."""
        self._lead = ""
        """White space before the answer, which is dropped if a tag follows."""
        self._fence: str | None = None
        self._has_answer = False
        self._has_tags = False

    def take(self, piece: str) -> Split:
        """Sort a piece of text; hold back a possible beginning of a tag."""
        self._pending += piece
        found = Split()
        while self._pending:
            before = len(self._pending)
            found += self._take_reasoning() if self._closing is not None else self._take_line()
            if len(self._pending) == before:
                break
        return found

    def end(self) -> Split:
        """Return the held-back text."""
        found = self._take_line(is_end=True) if self._closing is None and self._pending else Split()
        rest, self._pending = self._pending, ""
        if self._closing is not None:
            return found + Split(reasoning=rest)
        lead = "" if self._has_tags else self._lead
        return found + self._answer(rest) + Split(answer="" if self._has_answer else lead)

    def _take_reasoning(self) -> Split:
        assert self._closing is not None  # noqa: S101  # the caller has looked
        place = self._pending.lower().find(self._closing)
        if place >= 0:
            thought = self._pending[:place]
            self._pending = self._pending[place + len(self._closing) :]
            self._closing, self._line = None, ""
            return Split(reasoning=thought)
        kept = _partial_tag_at_end(self._pending, self._closing)
        thought, self._pending = self._pending[: len(self._pending) - kept], self._pending[len(self._pending) - kept :]
        return Split(reasoning=thought)

    def _take_line(self, *, is_end: bool = False) -> Split:
        """Take up to the end of the line, or of the text so far."""
        part, newline, rest = self._pending.partition("\n")
        begun = (self._line + part).lstrip().lower()
        if self._fence is None and len(self._line) < _LONGEST_TAG:
            opened = next((tag for tag in TAGS if begun.startswith(tag)), None)
            if opened is not None and not self._has_answer:
                self._pending = self._after(part, opened) + newline + rest
                self._closing, self._has_tags, self._lead = TAGS[opened], True, ""
                return Split()
            if begun.rstrip() in TAGS.values() and not self._has_tags and (newline or is_end):
                self._pending, self._line = rest, ""
                self._has_tags, self._has_answer = True, False
                return Split(retracts=True)
            if not newline and not is_end and _may_become_tag(begun.rstrip()):
                return Split()
        self._pending = rest
        self._line += part[: _LONGEST_TAG * 2]
        if newline:
            self._note_fence()
            self._line = ""
        return self._answer(part + newline)

    def _after(self, part: str, tag: str) -> str:
        whole = self._line + part
        return whole[len(whole) - len(whole.lstrip()) + len(tag) :]

    def _note_fence(self) -> None:
        line = self._line.lstrip()
        if self._fence is None:
            self._fence = next((fence for fence in _FENCES if line.startswith(fence)), None)
        elif line.startswith(self._fence):
            self._fence = None

    def _answer(self, text: str) -> Split:
        if self._has_answer:
            return Split(answer=text)
        self._lead += text
        if not self._lead.strip():
            return Split()
        lead, self._lead, self._has_answer = self._lead, "", True
        return Split(answer=lead.lstrip() if self._has_tags else lead)


def split_reasoning(text: str) -> Split:
    """Sort a whole answer."""
    splitter = ReasoningSplitter()
    return splitter.take(text) + splitter.end()


def _may_become_tag(begun: str) -> bool:
    return bool(begun) and any(tag.startswith(begun) for pair in TAGS.items() for tag in pair)


def _partial_tag_at_end(text: str, tag: str) -> int:
    """Count the characters at the end that may begin the tag."""
    end = text[-len(tag) :].lower()
    return next((size for size in range(min(len(end), len(tag) - 1), 0, -1) if tag.startswith(end[-size:])), 0)
