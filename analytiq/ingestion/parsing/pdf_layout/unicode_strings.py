"""Text of fonts whose strings are Unicode, for pages of which pdfium reads nothing.

pdfium has no glyphs for vertical Japanese, Chinese and Korean fonts that are not embedded, and skips their text. Their
encoding, such as `UniJIS-UCS2-V`, says that the strings are UTF-16.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pikepdf

MAX_PAGES = 200
MAX_INSTRUCTIONS = 200_000
_SHOWING = {"Tj", "TJ", "'", '"'}
_MOVING = {"Td", "TD", "T*", "Tm", "'", '"', "ET"}


def texts_of_pages(path: Path, page_numbers: Iterable[int]) -> dict[int, str]:
    """Return the text of those pages that have fonts of this kind."""
    found: dict[int, str] = {}
    try:
        with pikepdf.open(path, suppress_warnings=True) as document:
            for page_number in list(page_numbers)[:MAX_PAGES]:
                text = _text_of(document.pages[page_number - 1])
                if text:
                    found[page_number] = text
    # A RuntimeError: for an encrypted file, qpdf wants a random device, and the sandbox has none.
    except (
        pikepdf.PdfError,
        pikepdf.PasswordError,
        RuntimeError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
    ):
        return found
    return found


def _text_of(page: pikepdf.Page) -> str:
    fonts = {name for name, font in _fonts_of(page).items() if _is_unicode(font)}
    if not fonts:
        return ""
    is_shown = False
    parts: list[str] = []
    for number, instruction in enumerate(pikepdf.parse_content_stream(page)):
        operator = str(instruction.operator)
        if number > MAX_INSTRUCTIONS:
            break
        if operator == "Tf":
            is_shown = str(instruction.operands[0]) in fonts
        if operator in _MOVING and parts and parts[-1] != "\n":
            parts.append("\n")
        if operator in _SHOWING and is_shown:
            parts += (bytes(string).decode("utf-16-be", "ignore") for string in _strings(instruction.operands))
    return "".join(parts).strip()


def _fonts_of(page: pikepdf.Page) -> dict[str, Any]:
    fonts = page.resources.get("/Font")
    return dict(fonts.items()) if isinstance(fonts, pikepdf.Dictionary) else {}


def _is_unicode(font: Any) -> bool:
    encoding = str(font.get("/Encoding", "")) if isinstance(font, pikepdf.Dictionary) else ""
    return encoding.startswith("/Uni") and ("UCS2" in encoding or "UTF16" in encoding)


def _strings(operands: Iterable[Any]) -> Iterable[Any]:
    for operand in operands:
        if isinstance(operand, pikepdf.Array):
            yield from _strings(operand)
        elif isinstance(operand, pikepdf.String):
            yield operand
