"""Sizes of calls to providers, learned by this process from their refusals.

Servers limit the texts of a call (10, 32) or their tokens (300,000), and do not publish the limit. A refused call is
repeated in halves. The size of its accepted parts is remembered by address and model: a number of texts, or a number of
tokens if calls with as many texts were accepted before. A refused single text teaches nothing about sizes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

REMEMBERED_SECONDS = 3600.0
"""Seconds until a learned size expires: a server may raise its limit; learning takes a handful of refused calls."""
MOST_REMEMBERED = 1000

Place = tuple[str, str]
"""The address of a server (empty for the provider's own) and the model."""


@dataclass(slots=True)
class _Known:
    learned_at: float
    most_texts: int | None = None
    most_tokens: int | None = None
    texts_taken: int = 0
    """The most texts of any accepted call."""


@dataclass(slots=True)
class Splitting:
    """The calls for one batch: smaller after each refusal; sizes are learned once the whole batch is embedded."""

    place: Place
    all_texts: int
    most_texts: int
    refused_texts: int | None = None
    taken_texts: int = 0
    taken_tokens: int = 0

    def note_refused(self, texts: int) -> None:
        """Make the next calls half as large."""
        self.refused_texts = texts
        self.most_texts = max(1, texts // 2)

    def forget_refusals(self) -> None:
        """Make the next calls as large as the first: one text, found by itself, was the reason of the refusals."""
        self.refused_texts = None
        self.most_texts = self.all_texts

    def note_taken(self, texts: int, tokens: int) -> None:
        """Remember the largest accepted call."""
        self.taken_texts = max(self.taken_texts, texts)
        self.taken_tokens = max(self.taken_tokens, tokens)


@dataclass(slots=True)
class CallSizes:
    """The accepted call sizes of each server, for one process."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[Place, _Known] = field(default_factory=dict[Place, _Known])

    def splitting(self, place: Place, texts: int) -> Splitting:
        """Begin a batch of this number of texts."""
        return Splitting(place, texts, texts)

    def fitting(self, splitting: Splitting, tokens: Sequence[int]) -> int:
        """Return the number of the next texts, with these token counts, that one call may hold; at least one."""
        known = self._of(splitting.place)
        most = min(len(tokens), splitting.most_texts)
        if known is None:
            return most
        if known.most_texts is not None:
            most = min(most, known.most_texts)
        if known.most_tokens is not None:
            total = 0
            for count, each in enumerate(tokens[:most]):
                total += each
                if count and total > known.most_tokens:
                    return count
        return most

    def learn(self, splitting: Splitting) -> None:
        """Store the sizes learned from a completed batch."""
        known = self._known.get(splitting.place)
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[splitting.place] = _Known(self.clock())
        if splitting.refused_texts is not None:
            known.learned_at = self.clock()
            if splitting.refused_texts <= known.texts_taken:
                known.most_tokens = splitting.taken_tokens
            else:
                known.most_texts = splitting.taken_texts
        known.texts_taken = max(known.texts_taken, splitting.taken_texts)

    def _of(self, place: Place) -> _Known | None:
        known = self._known.get(place)
        if known is not None and self.clock() - known.learned_at > REMEMBERED_SECONDS:
            del self._known[place]
            return None
        return known
