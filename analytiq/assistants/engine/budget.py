"""The token budget of a conversation, checked before each call of a model. Pure."""

from dataclasses import dataclass

LEAST_ANSWER_TOKENS = 64
"""Least room for an answer: with less, the call would be paid for and its answer cut."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A limit of tokens, None for none, and the tokens used so far."""

    limit: int | None
    used: int

    def left_after(self, asked: int) -> int | None:
        """Return the tokens left for an answer to a question of `asked` tokens; None without a limit."""
        return None if self.limit is None else self.limit - self.used - asked

    def allows(self, more: int) -> bool:
        """Return whether `more` tokens fit."""
        left = self.left_after(more)
        return left is None or left >= 0
