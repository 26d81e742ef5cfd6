"""Codes, matched letter by letter: invoice numbers, part codes, addresses, versions, account numbers.

A code is the same with any separators between its parts, as long as no two numbers become one: `AX-42-B`, `AX/42/B` and
`AX42B` are the same, `1.23` and `12.3` are not.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analytiq.retrieval.terms.folding import folded
from analytiq.retrieval.terms.scripts import SPACED, SPACED_WORD, WITHIN_WORD

MOST_PARTS = 12
"""Most parts of a code: anything longer is a path or a list, whose parts are indexed instead."""
LONGEST_CODE = 100
_GLUE = "[-_./\\\\:@+#&\u2010\u2011]|(?<=\\d),(?=\\d)"
# They begin where a word does: tried within a word, n characters would be scanned n times.
CHAIN = re.compile(f"(?<!{WITHIN_WORD}){SPACED}(?:(?:{_GLUE}){SPACED})+")
"""Words joined by single signs."""
_ASCII_CHAIN = re.compile(f"(?<![a-z0-9])[a-z0-9]++(?:(?:{_GLUE})[a-z0-9]++)+")
CASED_ASCII_CHAIN = re.compile(f"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:(?:{_GLUE})[A-Za-z0-9]++)+")
"""The same as CHAIN for a text of ASCII alone, and faster."""
_LEVELS = (re.compile(r"[:@+#&]"), re.compile(r"[:@+#&/\\]"))
"""Signs that delimit codes: within a path, behind a label, and in an address."""
_SIGNED = re.compile(r"(?<![^\W_])[a-z](?:\+\+|#)(?![^\W_])")
"""Names that end with a sign: C++, C#, F#."""
_IBAN = re.compile(r"(?<![^\W_])[a-z]{2}\d{2}(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,3})?(?![^\W_])", re.ASCII)
_IBAN_ALONE = re.compile(r"[a-z]{2}\d{2}[a-z0-9]{10,30}", re.ASCII)
_IBAN_MODULUS = 97
_HAS_DIGIT = re.compile(r"\d")
_HAS_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Whole:
    """A term for parts joined by signs, with the parts. `is_code`: it contains a number, or is an address."""

    term: str
    parts: tuple[str, ...]
    is_code: bool


def joined_words(plain: str) -> list[Whole]:
    """Find the parts joined by hyphens and other signs in a normalised text, also within paths and addresses."""
    chain = _ASCII_CHAIN if plain.isascii() else CHAIN
    # Most runs between spaces are letters alone, which needs no expression.
    pieces = [piece for piece in plain.split() if not piece.isalnum()]
    return [whole for piece in pieces for found in chain.findall(piece) for whole in wholes_of(found)]


def wholes_of(chain: str) -> list[Whole]:
    """Return a chain as one term, and the chains within it."""
    pieces = [chain, *(piece for level in _LEVELS if level.search(chain) for piece in level.split(chain))]
    found: dict[str, Whole] = {}
    for piece in pieces:
        parts = SPACED_WORD.findall(piece)
        if 1 < len(parts) <= MOST_PARTS:
            term = _joined(parts)
            found[term] = Whole(term, tuple(parts), "@" in chain or _HAS_DIGIT.search(term) is not None)
    return list(found.values())


def single_codes(plain: str, words: Iterable[str]) -> list[Whole]:
    """Find codes without separators, account numbers in groups of four, and names of programming languages.

    `words`: those of the normalised text.
    """
    mixed = [word for word in words if not (word.isalpha() or word.isdigit()) and _is_mixed(word)]
    terms = [folded(word) for word in mixed]
    if any(len(word) == len("de89") for word in mixed):
        found = [match.group().replace(" ", "") for match in _IBAN.finditer(plain)]
        terms += [number for number in found if _is_iban(number)]
    if "+" in plain or "#" in plain:
        terms += _SIGNED.findall(plain)
    return [Whole(term, (), is_code=True) for term in terms]


def parts_of_single(term: str) -> list[str]:
    """Return the other spellings of a code without separators: in groups of four, and without its signs."""
    if _IBAN_ALONE.fullmatch(term) and _is_iban(term):
        return [term, *(term[start : start + 4] for start in range(0, len(term), 4))]
    return SPACED_WORD.findall(term)


def _joined(parts: Sequence[str]) -> str:
    whole = parts[0]
    for part in parts[1:]:
        whole += f"-{part}" if whole[-1].isdigit() and part[0].isdigit() else part
    return folded(whole)[:LONGEST_CODE]


def _is_mixed(word: str) -> bool:
    return _HAS_DIGIT.search(word) is not None and _HAS_LETTER.search(word) is not None and len(word) <= LONGEST_CODE


def _is_iban(number: str) -> bool:
    digits = "".join(str(int(character, 36)) for character in number[4:] + number[:4])
    return int(digits) % _IBAN_MODULUS == 1
