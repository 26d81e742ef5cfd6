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

from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word, turned, turned_bounds

MAX_CHARACTERS = 50_000
"""Most characters of a page that is laid out."""
WORD_BLANK = 0.3
"""Least blank between words, in heights of letters."""
LEAST_SHARE_UPRIGHT = 0.8
"""Least share of characters in the page's commonest direction."""
LEAST_SHARE_DOWN = 0.3
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
        indexes: for each word, pdfium's index of its first character.
    """

    turn: int
    words: list[Word] = field(default_factory=list[Word])
    aside: list[Word] = field(default_factory=list[Word])
    indexes: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class _Character:
    text: str
    bounds: Bounds
    quarter: int
    index: int
    x: float
    y: float


def read_characters(text_page: pdfium.PdfTextPage) -> PageCharacters | None:
    """Return the words of a page; None if it is not to be laid out.

    Such pages have too many characters, several directions, vertical writing, or writing from right to left.
    """
    if text_page.count_chars() > MAX_CHARACTERS:
        return None
    characters = _characters_of(text_page)
    quarters = Counter(character.quarter for character in characters if character is not None)
    if not quarters:
        return PageCharacters(0)
    turn, most = quarters.most_common(1)[0]
    if most < LEAST_SHARE_UPRIGHT * quarters.total() or _is_written_otherwise(characters):
        return None
    return _WordBuilder(text_page, turn).build(characters)


def _characters_of(text_page: pdfium.PdfTextPage) -> list[_Character | None]:
    """Return the visible characters; None where words part."""
    raw = cast("Any", text_page.raw)
    rectangle = pdfium_c.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    area, at_x, at_y = ctypes.byref(rectangle), ctypes.byref(x), ctypes.byref(y)
    unicode_of, is_generated = pdfium_c.FPDFText_GetUnicode, pdfium_c.FPDFText_IsGenerated
    angle_of, box_of, origin_of = (
        pdfium_c.FPDFText_GetCharAngle,
        pdfium_c.FPDFText_GetLooseCharBox,
        pdfium_c.FPDFText_GetCharOrigin,
    )
    out: list[_Character | None] = []
    high = 0
    for index in range(text_page.count_chars()):
        code = unicode_of(raw, index)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00) if high else 0xFFFD
            high = 0
        text = "-" if code in _LINE_HYPHENS else chr(code) if 0 < code < 0x110000 else ""
        if not text or text.isspace():
            out.append(None)
        elif is_generated(raw, index) == 1:
            if text != "-":
                out.append(None)
        elif box_of(raw, index, area):
            origin_of(raw, index, at_x, at_y)
            quarter = round(angle_of(raw, index) / (math.pi / 2)) % 4
            bounds = Bounds(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            out.append(_Character(text, bounds, quarter, index, x.value, y.value))
    return out


def _is_written_otherwise(characters: Sequence[_Character | None]) -> bool:
    """Return True for text from right to left, or from top to bottom."""
    visible = [character for character in characters if character is not None]
    right_to_left = sum(
        character.text > "\u0590" and unicodedata.bidirectional(character.text) in {"R", "AL"} for character in visible
    )
    if right_to_left > 0.05 * len(visible):
        return True
    down = wide = 0
    for one, other in itertools.pairwise(visible):
        if one.text > "\u2e80" and other.text > "\u2e80":
            wide += 1
            size = max(one.bounds.y1 - one.bounds.y0, 1)
            down += abs(one.x - other.x) < 0.2 * size and 0.3 * size < one.y - other.y < 2 * size
    return down > LEAST_SHARE_DOWN * max(wide, 1)


class _WordBuilder:
    """Joins characters to words."""

    def __init__(self, text_page: pdfium.PdfTextPage, turn: int) -> None:
        self._raw = cast("Any", text_page.raw)
        self._page = PageCharacters(turn)
        self._fonts: dict[int | None, tuple[str, bool, int]] = {}
        self._word: Word | None = None
        self._is_aside = False

    def build(self, characters: Sequence[_Character | None]) -> PageCharacters:
        turn = self._page.turn
        for character in characters:
            if character is None:
                self._end()
                continue
            is_aside = character.quarter != turn
            if is_aside != self._is_aside:
                self._end()
            self._is_aside = is_aside
            quarter = character.quarter
            bounds = turned_bounds(quarter, character.bounds)
            self._take(character, bounds, turned(quarter, character.x, character.y)[1])
        self._end()
        for word in self._page.words:
            word.text = _normalized(word.text)
        for word in self._page.aside:
            word.text = _normalized(word.text)
        return self._page

    def _take(self, character: _Character, bounds: Bounds, base: float) -> None:
        word, size = self._word, bounds.y1 - bounds.y0
        if word is not None and (
            abs(base - word.base) > 0.3 * max(size, 1)
            or bounds.x0 - word.x1 > WORD_BLANK * size
            or bounds.x0 < word.x0 - 0.5 * size
        ):
            self._end()
            word = None
        if word is None:
            font, bold, mark = self._font_of(character.index)
            self._word = Word(
                character.text, bounds.x0, bounds.y0, bounds.x1, bounds.y1, round(size, 1), base, bold, font, mark
            )
            if not self._is_aside:
                self._page.indexes.append(character.index)
        else:
            word.text += character.text
            word.x0, word.x1 = min(word.x0, bounds.x0), max(word.x1, bounds.x1)
            word.y0, word.y1 = min(word.y0, bounds.y0), max(word.y1, bounds.y1)

    def _end(self) -> None:
        if self._word is not None:
            (self._page.aside if self._is_aside else self._page.words).append(self._word)
            self._word = None

    def _font_of(self, index: int) -> tuple[str, bool, int]:
        text_object = pdfium_c.FPDFText_GetTextObject(self._raw, index)
        key = ctypes.cast(text_object, ctypes.c_void_p).value if text_object else None
        if key not in self._fonts:
            name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
            length = pdfium_c.FPDFText_GetFontInfo(self._raw, index, name, 128, ctypes.byref(flags))
            font = name.value.decode("latin-1").split("+")[-1] if length else ""
            is_bold = (
                _BOLD_FONT.search(font) is not None
                or bool(flags.value & _FORCED_BOLD)
                or pdfium_c.FPDFText_GetFontWeight(self._raw, index) >= _BOLD_WEIGHT
            )
            mark = pdfium_c.FPDFPageObj_GetMarkedContentID(text_object) if text_object else -1
            self._fonts[key] = (font, is_bold, int(mark))
        return self._fonts[key]


def _normalized(text: str) -> str:
    """Return compatibility forms (ligatures, full width) as ordinary letters; only a last soft hyphen stays."""
    text = unicodedata.normalize("NFKC", text)
    return text[:-1].replace("\u00ad", "") + text[-1:]
