"""Colors of page objects."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from typing import Any

import pypdfium2.raw as pdfium_c

NEARLY_WHITE = 247
"""Least value of red, green and blue in a color that cannot be told from white."""


def is_painted_white(page_object: Any) -> bool:
    """Return True if the object is filled with white, or with a transparent color."""
    parts = [ctypes.c_uint() for _ in range(4)]
    if not pdfium_c.FPDFPageObj_GetFillColor(page_object, *map(ctypes.byref, parts)):
        return False
    red, green, blue, alpha = (part.value for part in parts)
    return alpha == 0 or min(red, green, blue) >= NEARLY_WHITE
