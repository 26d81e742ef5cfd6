"""Form fields as words at their places, so that values stand beside their labels; notes and comments."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from analytiq.ingestion.parsing.pdf_layout.model import Bounds, Word
from analytiq.ingestion.parsing.pdf_layout.turning import Turning

MAX_ANNOTATIONS = 200_000
"""Most annotations of a page that are read; 100,000 take 0.4 s."""
MAX_VALUE_BYTES = 200_000
TALLEST_LINE = 11.0
"""Height of a value's letters, in points, in a box that is higher."""
SEVERAL_LINES = 30.0
"""Least height, in points, of a box for several lines, whose value begins at the top."""
_TICKED = {pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON}
_VALUED = {pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX}
_NOT_SHOWN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW
_WITHOUT_WORDS = {pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP}


def field_words(page: pdfium.PdfPage, turning: Turning) -> list[Word]:
    """Return the values of a page's fields: `[x]` and `[ ]` for boxes, with the choice of a radio button."""
    form = page.pdf.formenv
    if form is None:
        return []
    words: list[Word] = []
    for annotation in _annotations(page):
        if pdfium_c.FPDFAnnot_GetSubtype(annotation) != pdfium_c.FPDF_ANNOT_WIDGET:
            continue
        value = _value_of(form.raw, annotation)
        bounds = _bounds_of(annotation)
        if value and bounds is not None:
            words.append(_word_at(value, turning.bounds(bounds)))
    return words


def has_fields(page: pdfium.PdfPage) -> bool:
    """Return True if the page has form fields, so that it is no mere scan."""
    return any(
        pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_WIDGET for annotation in _annotations(page)
    )


def comments_of(page: pdfium.PdfPage) -> list[tuple[str, Bounds]]:
    """Return notes, typed text and comments on a page, with their places."""
    found: list[tuple[str, Bounds]] = []
    for annotation in _annotations(page):
        if pdfium_c.FPDFAnnot_GetSubtype(annotation) in _WITHOUT_WORDS:
            continue
        text = " ".join(_string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents").split())
        bounds = _bounds_of(annotation)
        if text and bounds is not None:
            found.append((text, bounds))
    return found


def _annotations(page: pdfium.PdfPage) -> Iterator[Any]:
    """Yield the visible annotations, each open until the next."""
    for index in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), MAX_ANNOTATIONS)):
        with _opened(page, index) as annotation:
            if annotation and not pdfium_c.FPDFAnnot_GetFlags(annotation) & _NOT_SHOWN:
                yield annotation


@contextmanager
def _opened(page: pdfium.PdfPage, index: int) -> Generator[Any]:
    annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _value_of(form: Any, annotation: Any) -> str:
    # pdfium looks each field up among all of the document: 40,000 take 33 s. A field's own text needs no look-up.
    if _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"FT") == "Tx":
        own = _string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"V")
        if own:
            return " ".join(own.split())
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _TICKED:
        mark = "[x]" if pdfium_c.FPDFAnnot_IsChecked(form, annotation) else "[ ]"
        if kind == pdfium_c.FPDF_FORMFIELD_RADIOBUTTON:
            mark = f"{mark} {_string(pdfium_c.FPDFAnnot_GetFormFieldExportValue, form, annotation)}"
        return mark.strip()
    if kind in _VALUED:
        return " ".join(_string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation).split())
    return ""


def _word_at(value: str, bounds: Bounds) -> Word:
    height = bounds.y1 - bounds.y0
    size = max(min(height, TALLEST_LINE), 1.0)
    middle = (bounds.y0 + bounds.y1) / 2 if height < SEVERAL_LINES else bounds.y1 - 8
    return Word(
        value, bounds.x0, middle - size / 2, max(bounds.x1, bounds.x0 + 1), middle + size / 2, size, middle - 0.3 * size
    )


def _bounds_of(annotation: Any) -> Bounds | None:
    rectangle = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle)):
        return None
    return Bounds(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)


def _string(read: Callable[..., int], *arguments: Any) -> str:
    """Call one of pdfium's functions that fill a buffer with UTF-16."""
    length = read(*arguments, None, 0)
    if not 2 < length <= MAX_VALUE_BYTES:
        return ""
    buffer = ctypes.create_string_buffer(length)
    read(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "replace")
