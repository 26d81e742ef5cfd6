"""Corrections of pdfium's characters: reordered ligatures, joined hyphens, detected noise."""

# pyright: reportUnknownMemberType=false
# pypdfium2 ships without types.

import unicodedata
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

LAM = "\u0644"
ALEFS = "\u0627\u0622\u0623\u0625\u0671"
"""Alef bare, with madda, with hamza above and below, and wasla: the letters that form one glyph with a lam."""

_LINE_HYPHENS = str.maketrans("", "", "\x02\ufffe")
"""pdfium's marks for a hyphen at a line's end, where it joins the halves of the word."""

SAMPLED_CHARACTERS = 400
UNMAPPED_SHARE = 0.5


def join_hyphenated(text: str) -> str:
    """Drop the marks of hyphens caused by the line's end, and end lines with a line feed."""
    return text.translate(_LINE_HYPHENS).replace("\r\n", "\n")


def mend_ligatures(text_page: pdfium.PdfTextPage, text: str) -> str:
    """Put the letters of lam-alef ligatures into reading order.

    One glyph stands for both letters. pdfium reverses a right-to-left line letter by letter, so such a pair
    comes out as alef, lam. The same two letters are also the Arabic article, from two glyphs, so the letters
    cannot tell; their boxes can: the letters of one glyph share its box.
    """
    if LAM not in text:
        return text
    letters = list(text)
    for position, index in _alef_lam_pairs(text_page, text):
        if text_page.get_charbox(index) == text_page.get_charbox(index + 1):
            letters[position], letters[position + 1] = letters[position + 1], letters[position]
    return "".join(letters)


def _alef_lam_pairs(text_page: pdfium.PdfTextPage, text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions in `text` of an alef before a lam, each with pdfium's index of the alef."""
    wide_before = 0  # pdfium counts UTF-16 units
    for position, letter in enumerate(text[:-1]):
        if letter > "\uffff":
            wide_before += 1
        elif letter in ALEFS and text[position + 1] == LAM:
            index = pdfium_c.FPDFText_GetCharIndexFromTextIndex(text_page, position + wide_before)
            if index >= 0 and index + 1 < text_page.count_chars():
                yield position, index


def mostly_unmapped(text_page: pdfium.PdfTextPage, text: str) -> bool:
    """Return True if most glyphs map to no known character, so that only OCR can read them."""
    total = text_page.count_chars()
    step = max(total // SAMPLED_CHARACTERS, 1)
    sampled = range(0, total, step)
    has_error, raw = pdfium_c.FPDFText_HasUnicodeMapError, text_page.raw
    unmapped = [has_error(raw, index) for index in sampled].count(1)
    if unmapped > UNMAPPED_SHARE * len(sampled):
        return True
    visible = [letter for letter in text[:: max(len(text) // SAMPLED_CHARACTERS, 1)] if not letter.isspace()]
    strange = sum(unicodedata.category(letter) in {"Co", "Cn", "Cc"} or letter == "\ufffd" for letter in visible)
    return strange > UNMAPPED_SHARE * len(visible)
