"""Folding of equivalent spellings to one string: case, width, accents, forms of Arabic letters."""

import re
import unicodedata


class _Folds(dict[int, str]):
    """A cache from code points to their forms without accents."""

    def __missing__(self, code: int) -> str:
        folded = _without_accents(chr(code))
        self[code] = folded
        return folded


_ARABIC = {
    **dict.fromkeys("أإآٱ", "ا"),
    "ى": "ي",
    "ئ": "ي",
    "ی": "ي",
    "ؤ": "و",
    "ة": "ه",
    "ک": "ك",
    "ـ": "",
}
"""Forms of alef, ya and waw that writers interchange; ta marbuta; Persian letters; lengthening."""
_LATIN = {"ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "ŋ": "n", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
"""Letters that Unicode does not decompose."""
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200c\u200d\u2060\ufeff"), "")
"""Soft hyphens, joiners and byte order marks: invisible within words."""
_FOLDS = _Folds()
_JOINTS = re.compile(r"(?<=[a-z][a-z])(?=[A-Z][A-Za-z])|(?<=[A-Z])(?=[A-Z][a-z][a-z])")
"""Not within iPhone, McDonald and GmbH."""


def normalised(text: str) -> str:
    """Normalise a text to one width, composed and in lower case; keep accents, since stemmers read them."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", text).casefold().translate(_INVISIBLE)
    # Case folding can take a letter apart, as in `İ`.
    return unicodedata.normalize("NFC", composed)


def opened(text: str) -> str:
    """Part the words of identifiers, as in `retryLimit` and `HTTPServer`, by a sign that codes may have as well."""
    return _JOINTS.sub("_", text)


def folded(word: str) -> str:
    """Fold a normalised word to its spelling on a keyboard without accents."""
    return word if word.isascii() else word.translate(_FOLDS)


def _without_accents(character: str) -> str:
    special = _ARABIC.get(character) if character in _ARABIC else _LATIN.get(character)
    if special is not None:
        return special
    code = ord(character)
    if 0x0300 <= code <= 0x036F or 0x064B <= code <= 0x065F or code == 0x0670 or 0x06D6 <= code <= 0x06ED:
        return ""  # standalone accents; vowel signs of Arabic
    first, *marks = unicodedata.normalize("NFD", character)
    is_accented = marks and ord(first) < 0x0400 and all(unicodedata.combining(mark) for mark in marks)
    # In Cyrillic the breve makes another letter (й); only ё is written without its dots. In kana and Hangul
    # Unicode's decompositions are no accents at all.
    return first if is_accented or character == "ё" else character
