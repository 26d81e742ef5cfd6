"""A page's characters as words, with their places, looks and marks."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.ingestion.parsing.pdf_layout.colors import is_painted_white, is_unpainted
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word, turned, turned_bounds

MAX_CHARACTERS = 50_000
"""Most characters of a page that is laid out."""
WORD_BLANK = 0.3
"""Least blank between words, in heights of letters."""
LEAST_SHARE_UPRIGHT = 0.8
"""Least share of characters in the page's commonest direction."""
LEAST_SHARE_DOWN = 0.3
MOST_UNPAINTED = 0.5
"""Largest share of a page's words that count as hidden because they are not painted."""
_Sides = tuple[float, float, float, float]
"""Left, lower, right and upper side."""
_FIRST_WIDE = "\u2e80"
"""The first of the Chinese, Japanese and Korean characters."""
_LINE_HYPHENS = (0x02, 0xFFFE)
"""pdfium's marks for a hyphen at a line's end."""
_BOLD_FONT = re.compile(r"bold|black|heavy|semibold|demi|medi$|CMBX|SFBX|CMB\d|[-,]B$", re.IGNORECASE)
_FORCED_BOLD = 1 << 18
_BOLD_WEIGHT = 600


@dataclass(slots=True)
class PageCharacters:
    """The words of a page.

    Attributes:
        turn: quarter turns that make the commonest direction of text upright.
        words: in the file's order, in upright coordinates.
        aside: words in other directions, in the file's order, in the page's own coordinates.
        white: for each word, True if its letters are white, transparent, not painted or clipped away.
    """

    turn: int
    words: list[Word] = field(default_factory=list[Word])
    aside: list[Word] = field(default_factory=list[Word])
    white: list[bool] = field(default_factory=list[bool])


def read_characters(text_page: pdfium.PdfTextPage) -> PageCharacters | None:
    """Return the words of a page; None if it is not to be laid out.

    Such pages have too many characters, several directions, vertical writing, or writing from right to left.
    """
    if text_page.count_chars() > MAX_CHARACTERS:
        return None
    placed = _WordReader(text_page).read()
    quarters: Counter[int] = Counter()
    for word in placed:
        quarters[word.quarter] += len(word.word.text)
    if not quarters:
        return PageCharacters(0)
    turn, most = quarters.most_common(1)[0]
    if most < LEAST_SHARE_UPRIGHT * quarters.total() or _is_written_otherwise([word.word for word in placed]):
        return None
    upright = [word for word in placed if word.quarter == turn]
    for word in placed:
        word.word.text = _normalized(word.word.text)
    return PageCharacters(
        turn,
        [word.word for word in upright],
        [word.word for word in placed if word.quarter != turn],
        _unseen(upright),
    )


def _unseen(words: Sequence["_PlacedWord"]) -> list[bool]:
    """Tell the words that are white or not painted; a page of mostly unpainted words is a scan that was read."""
    unpainted = sum(word.unpainted for word in words)
    is_scan = unpainted > MOST_UNPAINTED * len(words)
    return [word.white or (word.unpainted and not is_scan) for word in words]


def _is_written_otherwise(words: Sequence[Word]) -> bool:
    """Return True for text from right to left, or from top to bottom."""
    letters = sum(len(word.text) for word in words)
    right_to_left = sum(
        unicodedata.bidirectional(letter) in {"R", "AL"}
        for word in words
        if not word.text.isascii()
        for letter in word.text
    )
    if right_to_left > 0.05 * letters:
        return True
    down = sum(
        one.text > _FIRST_WIDE
        and other.text > _FIRST_WIDE
        and abs(one.x0 - other.x0) < 0.2 * one.size
        and 0.3 * one.size < one.base - other.base < 2 * one.size
        for one, other in itertools.pairwise(words)
        if len(one.text) == len(other.text) == 1
    )
    wide = sum(letter > _FIRST_WIDE for word in words if not word.text.isascii() for letter in word.text)
    return down > LEAST_SHARE_DOWN * max(wide, 1)


@dataclass(slots=True)
class _PlacedWord:
    """A word, turned upright by its own quarter turns."""

    word: Word
    quarter: int
    white: bool
    unpainted: bool


class _WordReader:
    """Joins characters to words; direction, base line and font are asked for once a word."""

    def __init__(self, text_page: pdfium.PdfTextPage) -> None:
        self._raw = cast("Any", text_page.raw)
        self._count = text_page.count_chars()
        self._fonts: dict[int, tuple[str, bool, int, bool, bool]] = {}
        self._bold: dict[str, bool] = {}
        self._words: list[_PlacedWord] = []
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._origin = ctypes.byref(self._x), ctypes.byref(self._y)

    def read(self) -> list[_PlacedWord]:
        """Return the words in the file's order."""
        raw, rectangle = self._raw, pdfium_c.FS_RECTF()
        area = ctypes.byref(rectangle)
        unicode_of, box_of = pdfium_c.FPDFText_GetUnicode, pdfium_c.FPDFText_GetLooseCharBox
        letters: dict[int, str] = {}
        word: _PlacedWord | None = None
        high = 0
        for index in range(self._count):
            code = unicode_of(raw, index)
            if 0xD800 <= code < 0xE000:
                if code < 0xDC00:
                    high = code
                    continue
                code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00) if high else 0xFFFD
                high = 0
            text = letters.get(code)
            if text is None:
                text = letters[code] = _letter_of(code)
            if not text:
                word = None
            elif text == "-" and pdfium_c.FPDFText_IsGenerated(raw, index) == 1:
                continue
            elif box_of(raw, index, area):
                bounds = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
                if word is None or not _extend(word, text, bounds):
                    word = self._begin(index, text, bounds)
        return self._words

    def _begin(self, index: int, text: str, bounds: _Sides) -> _PlacedWord:
        angle = pdfium_c.FPDFText_GetCharAngle(self._raw, index)
        quarter = round(angle / (math.pi / 2)) % 4 if angle else 0
        pdfium_c.FPDFText_GetCharOrigin(self._raw, index, *self._origin)
        x0, y0, x1, y1 = _upright(quarter, bounds)
        base = turned(quarter, self._x.value, self._y.value)[1] if quarter else self._y.value
        font, bold, mark, white, unpainted = self._looks_of(index)
        word = _PlacedWord(
            Word(text, x0, y0, x1, y1, round(y1 - y0, 1), base, bold, font, mark), quarter, white, unpainted
        )
        self._words.append(word)
        return word

    def _looks_of(self, index: int) -> tuple[str, bool, int, bool, bool]:
        text_object = pdfium_c.FPDFText_GetTextObject(self._raw, index)
        key = ctypes.addressof(text_object.contents) if text_object else 0
        if key not in self._fonts:
            name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
            length = pdfium_c.FPDFText_GetFontInfo(self._raw, index, name, 128, ctypes.byref(flags))
            font = name.value.decode("latin-1").split("+")[-1] if length else ""
            if font not in self._bold:
                self._bold[font] = _BOLD_FONT.search(font) is not None
            is_bold = (
                self._bold[font]
                or bool(flags.value & _FORCED_BOLD)
                or pdfium_c.FPDFText_GetFontWeight(self._raw, index) >= _BOLD_WEIGHT
            )
            mark = pdfium_c.FPDFPageObj_GetMarkedContentID(text_object) if text_object else -1
            is_white = bool(text_object) and is_painted_white(text_object)
            is_hidden = bool(text_object) and is_unpainted(text_object)
            self._fonts[key] = (font, is_bold, int(mark), is_white, is_hidden)
        return self._fonts[key]


def _letter_of(code: int) -> str:
    """Return a code's character, "" for a blank and for no character."""
    text = "-" if code in _LINE_HYPHENS else chr(code) if 0 < code < 0x110000 else ""
    return "" if text.isspace() else text


def _upright(quarter: int, bounds: _Sides) -> _Sides:
    if not quarter:
        return bounds
    area = turned_bounds(quarter, Bounds(*bounds))
    return area.x0, area.y0, area.x1, area.y1


def _extend(placed: _PlacedWord, text: str, bounds: _Sides) -> bool:
    """Add a character to a word; return False if it begins another."""
    x0, y0, x1, y1 = _upright(placed.quarter, bounds) if placed.quarter else bounds
    word, size = placed.word, y1 - y0
    is_apart = x0 - word.x1 > WORD_BLANK * size or x0 < word.x0 - 0.5 * size
    if is_apart or not -0.3 * size <= y0 - word.y0 <= 0.3 * size:
        return False
    word.text += text
    if x1 > word.x1:
        word.x1 = x1
    if x0 < word.x0:
        word.x0 = x0
    if y1 > word.y1:
        word.y1 = y1
    return True


def _normalized(text: str) -> str:
    """Return compatibility forms (ligatures, full width) as ordinary letters; only a last soft hyphen stays."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return text[:-1].replace("\u00ad", "") + text[-1:]
