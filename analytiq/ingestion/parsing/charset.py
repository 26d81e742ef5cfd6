"""Decoding of bytes without a reliable charset.

The order is measured: byte order mark, UTF-8, the declared charset, a guess from the byte statistics, cp1252.
"""

import codecs
from dataclasses import dataclass

from charset_normalizer import from_bytes

from analytiq.ingestion.parsing.latin_charsets import LATIN_CHARSETS, latin_charset

GUESS_SAMPLE_BYTES = 256 * 1024
"""Bytes examined for a guess; more of a long text made it no better."""
MIN_GUESS_BYTES = 100
"""Size below which the statistics are noise (`Größe` in Latin-1 was taken for cp1006), so that the letters of a Latin
language decide first."""
MAX_BAD_SHARE = 0.001
"""Largest share of broken sequences of a UTF-8 text: truncated downloads, one pasted byte."""
MIN_GOOD_PER_BAD = 4
"""Least ratio of valid sequences: a Latin-1 text with few umlauts has few bad bytes too, but no valid sequences."""

MIN_ZERO_SHARE = 0.4
MAX_STRAY_ZERO_SHARE = 0.01

_CONTROLS = [chr(code) for code in range(0x20) if chr(code) not in "\t\n\r\f\x0b"]

OTHER_CHARSETS = (
    *("big5", "big5hkscs", "gb18030", "cp932", "euc_jp", "cp949", "johab"),
    *("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5", "cp1253", "iso8859_7"),
    *("cp1255", "iso8859_8", "cp1256", "iso8859_6", "cp874"),
)
"""Charsets of files beside the Latin ones; with all of Python's charsets, the guesser picked
hp_roman8, cp1125 and iso8859_10 for German, Russian and Polish."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with its charset."""

    text: str
    charset: str


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
    return _as_utf8(data) or _as_hinted(data, hint) or _as_guessed(data) or _as_cp1252(data)


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
    return _strictly(data, hint) if hint else None


def _as_guessed(data: bytes) -> DecodedText | None:
    sample = data[:GUESS_SAMPLE_BYTES]
    latin, fit = latin_charset(sample)
    if len(data) < MIN_GUESS_BYTES and fit == 1.0:
        return DecodedText(data.decode(latin, errors="replace"), latin)
    guess = from_bytes(sample, cp_isolation=[*LATIN_CHARSETS, *OTHER_CHARSETS]).best()
    if guess is None:
        return None
    charset = latin if guess.encoding in LATIN_CHARSETS else guess.encoding
    return DecodedText(data.decode(charset, errors="replace"), charset)


def _as_cp1252(data: bytes) -> DecodedText:
    return DecodedText(data.decode("cp1252", errors="replace"), "cp1252")


def _strictly(data: bytes, charset: str) -> DecodedText | None:
    try:
        return DecodedText(data.decode(charset), charset)
    except (ValueError, LookupError):
        # Not only undecodable bytes: a hint may name a codec that is no charset ("hex"), or nothing at all.
        return None
