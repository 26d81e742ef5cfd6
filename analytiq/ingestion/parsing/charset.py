"""Decoding of bytes without a reliable charset.

The order: byte order mark, UTF-8, UTF-8 by line, the declared charset, the charset under which the text looks most
like a language, cp1252. A guess by a small margin is told.
"""

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from analytiq.ingestion.parsing.latin_charsets import latin_scores
from analytiq.ingestion.parsing.script_charsets import script_scores

GUESS_SAMPLE_BYTES = 64 * 1024
"""Bytes examined for a guess, from the first byte beyond ASCII."""
CLEAR_MARGIN = 0.12
"""Margin before the next charset from which a guess is not told."""
CLEAR_CHARACTERS = 4
"""Characters that only this charset explains, from which it is as clear."""
CLEAR_SCORE = 0.6
MAX_BAD_LINES = 0.2
"""Largest share of lines that are not UTF-8 among the lines beyond ASCII, in a file that is read line by line."""
MAX_BAD_SHARE = 0.001
"""Largest share of broken sequences of a UTF-8 text: truncated downloads, one pasted byte."""
MIN_GOOD_PER_BAD = 4
"""Least ratio of valid sequences: a Latin-1 text with few umlauts has few bad bytes too, but no valid sequences."""

_SUPERSETS = {
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""A declared charset → the larger one that programs write under its name, as browsers read it (WHATWG Encoding)."""

MIN_ZERO_SHARE = 0.4
MAX_STRAY_ZERO_SHARE = 0.01

_CONTROLS = [chr(code) for code in range(0x20) if chr(code) not in "\t\n\r\f\x0b"]

_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with its charset; `warnings` tell a guess that may be wrong."""

    text: str
    charset: str
    warnings: tuple[str, ...] = ()


def decode_text(data: bytes, *, hint: str | None = None) -> DecodedText:
    """Decode a text file; this always succeeds, and undecodable bytes become U+FFFD.

    Args:
        data: The whole file.
        hint: The declared charset; used unless a mark or valid UTF-8 contradicts it.
    """
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return DecodedText(data[len(mark) :].decode(charset, errors="replace"), charset)
    wide = unmarked_utf16(data)
    if wide is not None:
        return DecodedText(data.decode(wide, errors="replace"), wide)
    return _as_utf8(data) or _by_lines(data, hint) or _as_hinted(data, hint) or _as_guessed(data)


def unmarked_utf16(data: bytes) -> str | None:
    """Return the byte order of a UTF-16 text without a mark: in most alphabets every other byte is zero or small."""
    head = data[:4096]
    if len(head) < 4 or len(data) % 2:
        return None
    even, odd = head[0::2], head[1::2]
    if odd.count(0) > MIN_ZERO_SHARE * len(odd) and even.count(0) <= MAX_STRAY_ZERO_SHARE * len(even):
        return _if_text(head, "utf-16-le")
    if even.count(0) > MIN_ZERO_SHARE * len(even) and odd.count(0) <= MAX_STRAY_ZERO_SHARE * len(odd):
        return _if_text(head, "utf-16-be")
    return None


def _if_text(head: bytes, charset: str) -> str | None:
    # Tables of small numbers in a binary file have their zeros at every other byte as well.
    text = head.decode(charset, errors="replace")
    return charset if sum(map(text.count, _CONTROLS)) <= MAX_STRAY_ZERO_SHARE * len(text) else None


def _as_utf8(data: bytes) -> DecodedText | None:
    # Escape sequences of ISO-2022 are ASCII to the byte, so they are valid UTF-8 as well.
    if b"\x1b$" in data[:GUESS_SAMPLE_BYTES] and data.isascii():
        return _strictly(data, "iso2022_jp_2")
    if b"~{" in data and b"~}" in data and data.isascii() and (hz := _strictly(data, "hz")) and not hz.text.isascii():
        return hz
    try:
        return DecodedText(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    good = len(text) - len(text.encode("ascii", errors="ignore")) - bad
    if bad <= MAX_BAD_SHARE * len(text) and good >= MIN_GOOD_PER_BAD * bad:
        return DecodedText(text, "utf-8")
    return None


def _as_hinted(data: bytes, hint: str | None) -> DecodedText | None:
    try:
        name = codecs.lookup(hint).name if hint else ""
    except (ValueError, LookupError):
        return None
    larger = _SUPERSETS.get(name)
    return (_strictly(data, larger) if larger else None) or (_strictly(data, name) if name else None)


def _by_lines(data: bytes, hint: str | None) -> DecodedText | None:
    """Decode a file that is mostly UTF-8 line by line; the others share the declared charset, or one guess."""
    lines = data.split(b"\n")
    texts = [_utf8_or_none(line) for line in lines]
    bad = [line for line, text in zip(lines, texts, strict=True) if text is None]
    good = sum(1 for line, text in zip(lines, texts, strict=True) if text is not None and not line.isascii())
    if not bad or len(bad) > MAX_BAD_LINES * good:
        return None
    rest = b"\n".join(bad)
    guess = _as_hinted(rest, hint) or _as_guessed(rest)
    others = iter(guess.text.split("\n"))
    if guess.text.count("\n") != len(bad) - 1:
        return None
    text = "\n".join(next(others) if text is None else text for text in texts)
    warning = (
        f"{len(bad)} of {len(lines)} lines were not UTF-8 and were read as {guess.charset}. If their letters are wrong,"
        " save the file as UTF-8 and upload it again."
    )
    return DecodedText(text, "utf-8", (warning,))


def _utf8_or_none(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _as_guessed(data: bytes) -> DecodedText:
    scores = charset_scores(data)
    first = max(scores, key=lambda charset: scores[charset])
    text = data.decode(first, errors="replace")
    sample = _sample(data)
    shown = sample.decode(first, errors="replace")
    rivals = [charset for charset in scores if sample.decode(charset, errors="replace") != shown]
    second = max((scores[charset] for charset in rivals), default=0.0)
    margin = scores[first] - second
    is_clear = margin >= CLEAR_MARGIN or margin * len(_HIGH_BYTE.findall(sample)) >= CLEAR_CHARACTERS
    if scores[first] >= CLEAR_SCORE and is_clear:
        return DecodedText(text, first)
    warning = (
        f"The charset was guessed: {first}. If letters are wrong, save the file as UTF-8 and upload it again,"
        " or declare its charset."
    )
    return DecodedText(text, first, (warning,))


def charset_scores(data: bytes) -> dict[str, float]:
    """Return how much a text looks like a language under each charset, from 0 to 1; ties in order of preference."""
    sample = _sample(data)
    around = zip(b" " + sample[:-1], sample, sample[1:] + b" ", strict=True)
    high_bytes = Counter(triple for triple in around if triple[1] > 0x7F)
    ascii_letters = len(_ASCII_LETTER.findall(sample))
    return latin_scores(high_bytes, ascii_letters) | script_scores(sample, high_bytes)


def _sample(data: bytes) -> bytes:
    first = _HIGH_BYTE.search(data)
    start = max(0, first.start() - 100) if first else 0
    start = data.rfind(b"\n", 0, start) + 1 if start and data.rfind(b"\n", max(0, start - 1000), start) >= 0 else start
    return data[start : start + GUESS_SAMPLE_BYTES]


def _strictly(data: bytes, charset: str) -> DecodedText | None:
    try:
        return DecodedText(data.decode(charset), charset)
    except (ValueError, LookupError):
        # Not only undecodable bytes: a hint may name a codec that is no charset ("hex"), or nothing at all.
        return None
