"""Detection of text that only programs read.

Kept on purpose: log lines, source code, tables of numbers, part numbers, IBANs, addresses, formulas and sequences of
chemistry and biology, single keys and checksums. People search for these.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LEAST_CHARACTERS = 200
"""Shorter runs are kept: a key, a signature, a token."""
LEAST_LINE = 40
MOST_GAP = 3

MIXED_SHARE = 0.35
"""Changes between capitals, small letters and digits, a character. Base64 has 0.5 to 0.65, camel case 0.15 to 0.25."""

LEAST_MINIFIED_LINE = 500
MINIFIED_BLANKS = 0.08
MINIFIED_SIGNS = 0.12
LEAST_IDENTIFIERS = 20
IDENTIFIERS_SHARE = 0.85
LEAST_BASE64_RUN = 40
LEAST_IDENTIFIER = 32
LEAST_LINES = 3
"""Line ends of uuencoded data and of hex dumps."""
_HEX_SIGNS = "0123456789ABCDEFabcdef \n:,"

_PEM_MARK = re.compile(r"-----(BEGIN|END) [A-Z0-9 ]{2,40}-----")
_BASE64 = re.compile(
    r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{40,}={0,2}(?:\s{1,3}[A-Za-z0-9+/_-]{40,}={0,2})*"
    r"(?:\s{1,3}[A-Za-z0-9+/_-]{1,76}={1,2}(?![\w=]))?"
)
_HEX_DUMP = re.compile(
    r"(?:(?>^[ \t]{0,8}(?:0x)?[0-9A-Fa-f]{4,16}[:|]?[ \t]{1,4}"
    r"(?:[0-9A-Fa-f]{2,4}[ \t|-]{1,3}){6,40}[^\n]{0,40}\n?)){4,}",
    re.MULTILINE,
)
_HEX = re.compile(r"(?<!\w)(?:[0-9A-Fa-f]{2}[ \n:,]{0,2}){100,}")
_UUENCODED = re.compile(r"(?:^M[ -`]{60}\n){3,}", re.MULTILINE)
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})(?![\w-])"
)
_LONG_LINE = re.compile(r"[^\n]{500,}")
_BLANK = re.compile(r"\s")
_SIGN = re.compile(r"[{}();=&|!?<>+*]")
_SCRIPT = re.compile(
    r"\bfunction\b|=>|\breturn\b|\bvar |\bconst |\blet |[;{}][\w.#-]{1,60}\{|[\w-]{1,30}:[^;{}\"]{1,40};"
)
_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class MachineRange:
    """A range of a page, with the nature of its text."""

    start: int
    end: int
    reason: str


def machine_ranges(text: str) -> list[MachineRange]:
    """Return the ranges of machine text, in order and without overlap."""
    found = sorted(_found(text), key=lambda one: (one.start, -one.end))
    kept: list[MachineRange] = []
    for one in found:
        if kept and one.start < kept[-1].end + MOST_GAP:
            last = kept[-1]
            kept[-1] = MachineRange(last.start, max(last.end, one.end), last.reason)
        else:
            kept.append(one)
    return kept


def _found(text: str) -> Iterator[MachineRange]:
    # The cheap tests first: most texts need none of the patterns, which read every character.
    longest_word = max(map(len, text.split()), default=0)
    yield from _keys(text)
    if longest_word >= LEAST_BASE64_RUN:
        yield from (MachineRange(*one.span(), "base64") for one in _BASE64.finditer(text) if _is_base64(one.group()))
    if text.count("\n") >= LEAST_LINES:
        yield from (MachineRange(*one.span(), "a hex dump") for one in _HEX_DUMP.finditer(text))
        yield from (MachineRange(*one.span(), "uuencoded data") for one in _UUENCODED.finditer(text))
    if _may_be_hex(text):
        yield from (MachineRange(*one.span(), "a hex dump") for one in _HEX.finditer(text) if _is_hex(one.group()))
    yield from (MachineRange(*one.span(), "a minified script") for one in _LONG_LINE.finditer(text) if _is_script(one))
    if longest_word >= LEAST_IDENTIFIER:
        yield from _identifiers(text)


def _may_be_hex(text: str) -> bool:
    """Return False if no run is long enough: each would cover a whole window of half its length."""
    window = LEAST_CHARACTERS // 2
    return any(not text[start : start + window].strip(_HEX_SIGNS) for start in range(0, len(text), window))


def _keys(text: str) -> Iterator[MachineRange]:
    begin: re.Match[str] | None = None
    for mark in _PEM_MARK.finditer(text):
        if mark[1] == "BEGIN":
            begin = mark
        elif begin is not None:
            yield MachineRange(begin.start(), mark.end(), "a key or certificate")
            begin = None


def _is_base64(run: str) -> bool:
    if len(run) < LEAST_CHARACTERS:
        return False
    sample = run[:4_000]
    letters = sum(map(str.isalnum, sample))
    has_all = any(map(str.isdigit, sample)) and any(map(str.isupper, sample)) and any(map(str.islower, sample))
    return has_all and len(_CHANGE.findall(sample)) >= MIXED_SHARE * letters


def _is_hex(run: str) -> bool:
    """Return True for bytes: tables of numbers have no letters, words and sequences no digits. ASCII text has 0.08."""
    digits, letters = sum(map(str.isdigit, run)), sum(map(str.isalpha, run))
    return min(digits, letters) >= 0.04 * (digits + letters)


def _is_script(line: re.Match[str]) -> bool:
    sample = line.group()[:8_000]
    if len(sample.split()) - 1 > MINIFIED_BLANKS * len(sample):
        return False  # each word but the first follows a blank
    blanks, signs = len(_BLANK.findall(sample)), len(_SIGN.findall(sample))
    if blanks > MINIFIED_BLANKS * len(sample) or signs < MINIFIED_SIGNS * len(sample):
        return False
    return len(_SCRIPT.findall(sample)) >= len(sample) / 250


def _identifiers(text: str) -> Iterator[MachineRange]:
    """Yield the runs of many identifiers with next to nothing between them."""
    run: list[re.Match[str]] = []
    for one in _IDENTIFIER.finditer(text):
        if run and one.start() - run[-1].end() > 12:
            yield from _as_range(run)
            run = []
        run.append(one)
    yield from _as_range(run)


def _as_range(run: list[re.Match[str]]) -> Iterator[MachineRange]:
    if len(run) >= LEAST_IDENTIFIERS:
        start, end = run[0].start(), run[-1].end()
        if sum(one.end() - one.start() for one in run) >= IDENTIFIERS_SHARE * (end - start):
            yield MachineRange(start, end, "a list of identifiers")
