"""Colors of page objects, and other looks that make letters invisible."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from typing import Any

import pypdfium2.raw as pdfium_c

NEARLY_WHITE = 247
"""Least value of red, green and blue in a color that cannot be told from white."""

MAX_CLIP_SEGMENTS = 100
_INVISIBLE_MODES = {pdfium_c.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium_c.FPDF_TEXTRENDERMODE_CLIP}


def is_painted_white(page_object: Any) -> bool:
    """Return True if the object is filled with white, or with a transparent color."""
    parts = [ctypes.c_uint() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetFillColor(page_object, *map(ctypes.byref, parts)):
        return False
    red, green, blue, alpha = (part.value for part in parts)
    return alpha == 0 or min(red, green, blue) >= NEARLY_WHITE


def is_unpainted(text_object: Any) -> bool:
    """Return True for text that is not painted, as the words of a scan behind its picture, or that is clipped away."""
    return pdfium_c.FPDFTextObj_GetTextRenderMode(text_object) in _INVISIBLE_MODES or _is_clipped(text_object)


def _is_clipped(text_object: Any) -> bool:
    """Return True if the text lies beside the first area that it is clipped to."""
    clip = pdfium_c.FPDFPageObj_GetClipPath(text_object)
    if not clip or pdfium_c.FPDFClipPath_CountPaths(clip) < 1:
        return False
    edges = [ctypes.c_float() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetBounds(text_object, *map(ctypes.byref, edges)):
        return False
    left, bottom, right, top = (edge.value for edge in edges)
    x, y = ctypes.c_float(), ctypes.c_float()
    xs: list[float] = []
    ys: list[float] = []
    for index in range(min(pdfium_c.FPDFClipPath_CountPathSegments(clip, 0), MAX_CLIP_SEGMENTS)):
        segment = pdfium_c.FPDFClipPath_GetPathSegment(clip, 0, index)
        pdfium_c.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        xs.append(x.value)
        ys.append(y.value)
    if len(xs) < 3 or len(xs) == MAX_CLIP_SEGMENTS:
        return False
    return min(xs) > right or max(xs) < left or min(ys) > top or max(ys) < bottom
