"""Token counts in cl100k, the unit of chunk sizes.

LiteLLM ships the encoding's file in its wheel. It is read here without importing LiteLLM (2.7 s and 204 MB) and without
tiktoken's own loader, which would download the file or ask for an environment variable.
"""

import base64
import functools
import hashlib
import importlib.util
import re
from pathlib import Path

import tiktoken

from analytiq.errors import PermanentError

MAX_TOKENS_PER_CHARACTER = 4
"""cl100k falls back to bytes, and a character has at most four of them in UTF-8."""

_FILE = "litellm_core_utils/tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"

# Part of the definition of cl100k: words, digits by threes, punctuation, line ends, spaces.
_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

# English has about 4.5 characters in a token; windows are widened by doubling where a text has more.
CHARACTERS_PER_TOKEN = 6


def without_surrogates(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot write, by U+FFFD; offsets stay."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def count_tokens(text: str) -> int:
    """Count the cl100k tokens; special tokens such as `<|endoftext|>` count as ordinary text.

    Linear: a megabyte takes 30 ms in English prose, 0.4 s as one unbroken word.
    """
    return len(_encoding().encode_ordinary(text))


def prefix_end(text: str, start: int, end: int, max_tokens: int) -> int:
    """Return the end of the longest `text[start:...]` with at most `max_tokens` tokens, at least one character.

    `text` has no lone surrogates. Return `end` if all of `text[start:end]` fits.
    """
    width = max_tokens * CHARACTERS_PER_TOKEN
    while True:
        window_end = min(end, start + width)
        tokens = _encoding().encode_ordinary(text[start:window_end])
        if len(tokens) > max_tokens or window_end == end:
            break
        width *= 2
    if len(tokens) <= max_tokens:
        return end
    kept = max_tokens
    while kept > 0:
        # A token can end inside a character: "ignore" drops the bytes of the unfinished last one.
        cut = start + len(_encoding().decode_bytes(tokens[:kept]).decode("utf-8", "ignore"))
        # The slice alone can have more tokens than its part of the whole had: the last word is cut.
        excess = count_tokens(text[start:cut]) - max_tokens
        if cut > start and excess <= 0:
            return cut
        kept -= max(1, excess)
    return start + 1


def suffix_start(text: str, start: int, end: int, max_tokens: int) -> int:
    """Return the start of a slice up to `end` with about `max_tokens` tokens, not before `start`."""
    width = max_tokens * CHARACTERS_PER_TOKEN
    while True:
        window_start = max(start, end - width)
        tokens = _encoding().encode_ordinary(text[window_start:end])
        if len(tokens) > max_tokens or window_start == start:
            break
        width *= 2
    if len(tokens) <= max_tokens:
        return start
    tail = _encoding().decode_bytes(tokens[-max_tokens:] if max_tokens else [])
    return end - len(tail.decode("utf-8", "ignore"))


@functools.cache
def _encoding() -> tiktoken.Encoding:
    """Load the encoding once per process, in 0.1 s."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise PermanentError("The package litellm, whose wheel holds the cl100k encoding, is not installed.")
    path = Path(spec.origin).parent / _FILE
    if not path.is_file():
        raise PermanentError(f"The cl100k encoding is not at {path}; install the locked release of litellm.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise PermanentError(f"{path} is not the cl100k encoding: its SHA-256 is not {_SHA256}.")
    ranks: dict[bytes, int] = {}
    for line in content.splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    return tiktoken.Encoding("cl100k", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
