"""Bounds on a model's answer: servers stream endlessly, repeat ids, and write text that databases refuse. Pure."""

from collections.abc import Sequence

from analytiq.inference.llm.base import ToolCall
from analytiq.inference.tokens import without_surrogates

LONGEST_TEXT = 400_000
"""Most characters of an answer: about 100,000 tokens, which few models can produce."""
CHARACTERS_OF_A_TOKEN = 16
"""Most characters a token, averaged over an answer; a longer answer has ignored `max_tokens`."""
LEAST_BOUND = 4000
"""Characters that every answer may have: in a short one a single token may be long."""
MOST_CALLS = 32
"""Most tool calls of one answer; callers make fewer still, and report it."""
LONGEST_ARGUMENTS = 20_000
"""Most characters of one call's JSON. One more is kept, so that callers recognize an excess."""
LONGEST_NAME = 200
"""Most characters of a tool's name, and of a call's id."""
MOST_TOKENS = 10**9
"""Most tokens of one call, whatever a server reports."""


def longest_text(max_tokens: int | None) -> int:
    """Return the largest number of characters of an answer."""
    if max_tokens is None:
        return LONGEST_TEXT
    return min(LONGEST_TEXT, max(LEAST_BOUND, max_tokens * CHARACTERS_OF_A_TOKEN))


def bounded_calls(calls: Sequence[ToolCall]) -> tuple[ToolCall, ...]:
    """Return the first calls, each with an id of its own: providers refuse a second answer with the same id."""
    taken: set[str] = set()
    kept: list[ToolCall] = []
    for place, call in enumerate(calls[:MOST_CALLS]):
        name, arguments = without_surrogates(call.name[:LONGEST_NAME]), call.arguments[: LONGEST_ARGUMENTS + 1]
        unique = wanted = without_surrogates(call.id[:LONGEST_NAME]) or f"call_{place}"
        number = place
        while unique in taken:
            unique, number = f"{wanted}_{number}", number + 1
        taken.add(unique)
        kept.append(ToolCall(unique, name, without_surrogates(arguments)))
    return tuple(kept)


def bounded_count(tokens: object) -> int:
    """Return a server's number of tokens if it is plausible."""
    if isinstance(tokens, bool) or not isinstance(tokens, int | float) or tokens != tokens:
        return 0
    return int(min(max(tokens, 0), MOST_TOKENS))
