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

from analytiq.ingestion.parsing.pdf_characters import ALEFS, LAM
from analytiq.ingestion.parsing.pdf_layout.colors import is_painted_white, is_unpainted
from analytiq.ingestion.parsing.pdf_layout.layers import Layers
from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word, mirrored_word
from analytiq.ingestion.parsing.pdf_layout.right_to_left import LEAST_SHARE, is_right_to_left, share_of
from analytiq.ingestion.parsing.pdf_layout.turning import Turning, turned, turned_bounds

MAX_CHARACTERS = 50_000
"""Most characters of a page that is laid out."""
WORD_BLANK = 0.3
"""Least blank between words, in heights of letters."""
ASKEW = 4
"""The quarter of text that is not at a right angle to the page, such as a watermark."""
MOST_ASKEW = 0.15
"""Largest angle, in radians, that counts as straight: a scan may be skewed."""
LEAST_SHARE_DOWN = 0.3
MOST_UNPAINTED = 0.5
"""Largest share of a page's words that count as hidden because they are not painted."""
_Sides = tuple[float, float, float, float]
"""Left, lower, right and upper side."""
_FIRST_WIDE = "\u2e80"
"""The first of the Chinese, Japanese and Korean characters."""
_LAST_LEFT_TO_RIGHT = "\u0590"
"""No right-to-left letter comes before."""
_LINE_HYPHENS = (0x02, 0xFFFE)
"""pdfium's marks for a hyphen at a line's end."""
_BOLD_FONT = re.compile(r"bold|black|heavy|semibold|demi|medi$|CMBX|SFBX|CMB\d|[-,]B$", re.IGNORECASE)
_FORCED_BOLD = 1 << 18
_BOLD_WEIGHT = 600


@dataclass(slots=True)
class PageCharacters:
    """The words of a page.

    Attributes:
        turning: makes the commonest direction of text upright, and is mirrored if most letters run from the right.
        words: in the file's order, in upright coordinates.
        aside: words in other directions by quarter turns, in the file's order, each upright by its own turns; those of
            `ASKEW` in the page's own coordinates.
        white: for each word, True if its letters are white, transparent, not painted or clipped away.
        off: for each word, True if it is in a layer that is off.
        has_right_to_left: True if the page has a considerable share of right-to-left letters.
    """

    turning: Turning = field(default_factory=Turning)
    words: list[Word] = field(default_factory=list[Word])
    aside: dict[int, list[Word]] = field(default_factory=dict[int, list[Word]])
    white: list[bool] = field(default_factory=list[bool])
    off: list[bool] = field(default_factory=list[bool])
    has_right_to_left: bool = False


def read_characters(text_page: pdfium.PdfTextPage, layers: Layers | None = None) -> PageCharacters | None:
    """Return the words of a page; None for too many characters, or vertical writing.

    Args:
        text_page: of pdfium.
        layers: the document's layers that may be off.
    """
    if text_page.count_chars() > MAX_CHARACTERS:
        return None
    placed = _WordReader(text_page, layers).read()
    quarters: Counter[int] = Counter()
    for word in placed:
        if word.quarter != ASKEW:
            quarters[word.quarter] += len(word.word.text)
    turn = quarters.most_common(1)[0][0] if quarters else 0
    upright = [word for word in placed if word.quarter == turn]
    if _is_written_downwards([word.word for word in upright]):
        return None
    for word in placed:
        word.word.text = _normalized(word.word.text)
    words = [word.word for word in upright]
    share, is_mirrored = share_of(words)
    aside: dict[int, list[Word]] = {}
    for word in placed:
        if word.quarter != turn:
            aside.setdefault(word.quarter, []).append(word.word)
    return PageCharacters(
        Turning(turn, is_mirrored=is_mirrored),
        [mirrored_word(word) for word in words] if is_mirrored else words,
        aside,
        _unseen(upright),
        [word.is_off for word in upright],
        share > LEAST_SHARE,
    )


def _unseen(words: Sequence["_PlacedWord"]) -> list[bool]:
    """Tell the words that are white or not painted; a page of mostly unpainted words is a scan that was read."""
    unpainted = sum(word.unpainted for word in words)
    is_scan = unpainted > MOST_UNPAINTED * len(words)
    return [word.white or (word.unpainted and not is_scan) for word in words]


def _is_written_downwards(words: Sequence[Word]) -> bool:
    """Return True for Chinese and Japanese text from top to bottom."""
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
    """A word, turned upright by its own quarter turns.

    Attributes:
        last: the sides of its last character.
        is_off: True if it is in a layer that is off.
    """

    word: Word
    quarter: int
    white: bool
    unpainted: bool
    is_off: bool
    last: _Sides


@dataclass(frozen=True, slots=True)
class _Looks:
    """The properties that all characters of a text object share."""

    font: str
    is_bold: bool
    mark: int
    is_white: bool
    is_unpainted: bool
    is_off: bool


class _WordReader:
    """Joins characters to words; direction, base line and font are asked for once a word."""

    def __init__(self, text_page: pdfium.PdfTextPage, layers: Layers | None) -> None:
        self._layers = layers
        self._raw = cast("Any", text_page.raw)
        self._count = text_page.count_chars()
        self._fonts: dict[int, _Looks] = {}
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
        quarter = self._quarter_of(index, angle) if angle else 0
        pdfium_c.FPDFText_GetCharOrigin(self._raw, index, *self._origin)
        sides = _upright(quarter, bounds)
        x0, y0, x1, y1 = sides
        base = turned(quarter, self._x.value, self._y.value)[1] if quarter else self._y.value
        looks = self._looks_of(index)
        word = _PlacedWord(
            Word(text, x0, y0, x1, y1, round(y1 - y0, 1), base, looks.is_bold, looks.font, looks.mark),
            quarter,
            looks.is_white,
            looks.is_unpainted,
            looks.is_off,
            sides,
        )
        self._words.append(word)
        return word

    def _quarter_of(self, index: int, angle: float) -> int:
        quarter = _nearest_quarter(angle)
        matrix = pdfium_c.FS_MATRIX()
        if quarter == ASKEW and pdfium_c.FPDFText_GetMatrix(self._raw, index, ctypes.byref(matrix)):
            # Letters slanted by their matrix, as italics of a font without them, have an angle on a straight line.
            return _nearest_quarter(math.atan2(matrix.b, matrix.a))
        return quarter

    def _looks_of(self, index: int) -> _Looks:
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
            is_off = bool(text_object) and self._layers is not None and self._layers.hides(text_object)
            self._fonts[key] = _Looks(font, is_bold, int(mark), is_white, is_hidden, is_off)
        return self._fonts[key]


def _letter_of(code: int) -> str:
    """Return a code's character, "" for a blank and for no character."""
    text = "-" if code in _LINE_HYPHENS else chr(code) if 0 < code < 0x110000 else ""
    return "" if text.isspace() else text


def _nearest_quarter(angle: float) -> int:
    quarters = angle / (math.pi / 2)
    nearest = round(quarters)
    return nearest % 4 if abs(quarters - nearest) * (math.pi / 2) <= MOST_ASKEW else ASKEW


def _upright(quarter: int, bounds: _Sides) -> _Sides:
    if not quarter or quarter == ASKEW:
        return bounds
    area = turned_bounds(quarter, Bounds(*bounds))
    return area.x0, area.y0, area.x1, area.y1


def _extend(placed: _PlacedWord, text: str, bounds: _Sides) -> bool:
    """Add a character to a word; return False if it begins another."""
    sides = _upright(placed.quarter, bounds) if placed.quarter else bounds
    x0, y0, x1, y1 = sides
    word, size = placed.word, y1 - y0
    if placed.quarter != ASKEW:
        is_before = x0 < word.x0 - 0.3 * size or x1 < word.x0 + 0.05 * size
        is_apart = is_before or x0 - word.x1 > WORD_BLANK * size
        if not -0.3 * size <= y0 - word.y0 <= 0.3 * size:
            return False
        if text > _LAST_LEFT_TO_RIGHT and is_right_to_left(text):
            return _extend_right_to_left(placed, text, sides)
        if is_apart and not _is_sign_at_left(word, text, x1, size):
            return False
    word.text += text
    _enlarge(placed, sides)
    return True


def _is_sign_at_left(word: Word, text: str, x1: float, size: float) -> bool:
    """Return True for a sign behind a right-to-left word."""
    return not text.isalnum() and abs(x1 - word.x0) < WORD_BLANK * size and is_right_to_left(word.text)


def _extend_right_to_left(placed: _PlacedWord, text: str, sides: _Sides) -> bool:
    """Add a right-to-left letter at the left end of a word, or at its right end before its other letters."""
    word, size = placed.word, sides[3] - sides[1]
    blank = WORD_BLANK * size
    if not is_right_to_left(word.text) and word.text.isalnum():
        return False
    is_same_glyph = sides == placed.last
    is_over = word.x0 - blank <= sides[0] and sides[2] <= word.x1 + 0.1 * size
    if is_same_glyph and text == LAM and word.text[-1] in ALEFS:
        # One glyph stands for both; pdfium reverses its letters.
        word.text = word.text[:-1] + text + word.text[-1]
    elif is_same_glyph or is_over or (sides[0] < word.x0 and sides[2] > word.x0 - blank):
        word.text += text
    elif sides[0] < word.x1 + blank:
        word.text = text + word.text
    else:
        return False
    _enlarge(placed, sides)
    return True


def _enlarge(placed: _PlacedWord, sides: _Sides) -> None:
    x0, y0, x1, y1 = sides
    word = placed.word
    placed.last = sides
    if x1 > word.x1:
        word.x1 = x1
    if x0 < word.x0:
        word.x0 = x0
    if y1 > word.y1:
        word.y1 = y1
    if placed.quarter == ASKEW and y0 < word.y0:
        word.y0 = y0


def _normalized(text: str) -> str:
    """Return compatibility forms (ligatures, full width) as ordinary letters; only a last soft hyphen stays."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text)
    return text[:-1].replace("\u00ad", "") + text[-1:]
