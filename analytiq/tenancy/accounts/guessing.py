"""Guesses that a password withstands, estimated as zxcvbn does (Wheeler, USENIX Security 2016).

The estimate cuts the password into pieces that an attacker would try: common words (also written `p4ssw0rd`), rows of
keys and letters, repetitions, years. The cut with the fewest guesses counts. A character outside all pieces counts ten.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

ENOUGH_LOG10 = 8.0
"""zxcvbn's third mark of four, "safely unguessable". Sign-in is rate limited, and Argon2id slows an attacker with the
hashes."""
MOST_JUDGED = 64
"""Characters judged; further ones only add strength."""
LONGEST_WORD = 24

_ROWS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop[]", "qwertzuiop", "asdfghjkl;'", "zxcvbnm,./",
         "yxcvbnm", "!@#$%^&*()", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.", "1q2w3e4r5t6y7u8i9o0p", "azertyuiop",
         "147258369", "qazwsxedcrfvtgbyhnujm")  # fmt: skip
_PLAIN_OF_LEET = str.maketrans(
    {"4": "a", "@": "a", "3": "e", "1": "i", "!": "i", "0": "o", "$": "s", "5": "s", "7": "t"}
)
_OTHER_LEET = str.maketrans({"1": "l", "!": "l", "|": "l"})
_YEAR = re.compile(r"(?:19|20)\d\d")
_REPEATED = re.compile(r"(.+?)\1+")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The strength of a password.

    Attributes:
        guesses_log10: the power of ten of the number of guesses.
        weakness: the longest piece that an attacker would try, described; None without one.
    """

    guesses_log10: float
    weakness: str | None


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    log10: float
    what: str


def judge(password: str, own_words: Iterable[str] = ()) -> Judgement:
    """Estimate the guesses that the password withstands; an attacker tries `own_words` first."""
    text = password[:MOST_JUDGED]
    own = {word.lower() for word in own_words if len(word) >= 3}
    pieces = list(_pieces(text, own))
    guesses = _fewest(text, pieces)
    longest = max(pieces, key=lambda piece: (piece.end - piece.start, -piece.log10), default=None)
    return Judgement(guesses, longest.what if longest else None)


def _pieces(text: str, own: set[str]) -> Iterator[_Piece]:
    yield from _words(text, own)
    yield from _rows(text)
    for match in _YEAR.finditer(text):
        yield _Piece(*match.span(), 2.0, f"the year {match[0]}")
    for match in _REPEATED.finditer(text):
        times = len(match[0]) // len(match[1])
        if len(match[0]) >= 3:
            once = _fewest(match[1], [*_words(match[1], own), *_rows(match[1])])
            yield _Piece(*match.span(), once + math.log10(times), f"the repetition {match[0]!r}")


def _words(text: str, own: set[str]) -> Iterator[_Piece]:
    ranks = _ranks()
    lowered = text.lower()
    spellings = {lowered: 0.0, lowered.translate(_OTHER_LEET).translate(_PLAIN_OF_LEET): 0.6}
    spellings.setdefault(lowered.translate(_PLAIN_OF_LEET), 0.6)
    for spelling, variation in spellings.items():
        if len(spelling) != len(text):
            continue  # a letter with a longer lower case
        for start in range(len(text)):
            for end in range(start + 3, min(len(text), start + LONGEST_WORD) + 1):
                for word, turned in ((spelling[start:end], 0.0), (spelling[start:end][::-1], 0.3)):
                    rank = 1 if word in own else ranks.get(word)
                    if rank is not None:
                        cased = 0.0 if text[start:end] == spelling[start:end] else 0.3
                        guesses = math.log10(rank) + variation + cased + turned
                        what = f"your own {word!r}" if word in own else f"the common word or password {word!r}"
                        yield _Piece(start, end, guesses, what)


def _rows(text: str) -> Iterator[_Piece]:
    lowered = text.lower()
    for row in (*_ROWS, *(row[::-1] for row in _ROWS)):
        start = 0
        while start < len(text) - 2:
            end = start + 3
            while end <= len(text) and lowered[start:end] in row:
                end += 1
            if end - 1 - start >= 3:
                yield _Piece(start, end - 1, 1.0 + math.log10(end - 1 - start), f"the row {text[start : end - 1]!r}")
            start += 1


def _fewest(text: str, pieces: Iterable[_Piece]) -> float:
    """Return the least sum over all cuts of the text into pieces and single characters."""
    ending: dict[int, list[_Piece]] = {}
    for piece in pieces:
        ending.setdefault(piece.end, []).append(piece)
    most = len(text)
    # best[k][n]: the guesses of k pieces that make up the first n characters.
    best: list[dict[int, float]] = [{0: 0.0}]
    for n in range(1, most + 1):
        found: dict[int, float] = {}
        for start, cost in [(n - 1, 1.0), *((piece.start, piece.log10) for piece in ending.get(n, []))]:
            is_single = cost == 1.0 and start == n - 1
            for count, sofar in best[start].items():
                total = count if is_single else count + 1
                found[total] = min(found.get(total, math.inf), sofar + cost)
        best.append(found)
    return min(cost + _order(count) for count, cost in best[most].items())


def _order(count: int) -> float:
    return math.log10(math.factorial(count)) if count else 0.0


@cache
def _ranks() -> dict[str, int]:
    content = (files("analytiq.tenancy.accounts") / "data" / "common_vocabulary.txt").read_text("utf-8")
    return {word: rank for rank, word in enumerate(content.splitlines(), 1)}
