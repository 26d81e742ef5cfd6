"""Layers (optional content groups) that are off when the document is opened."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pikepdf
import pypdfium2.raw as pdfium_c

MOST_MARKS = 20
"""Most nested marks of an object that are looked at."""
MAX_LAYERS = 5_000
_NAME_BYTES = 512


class Layers:
    """The layers of a document; read when the first object that belongs to one is met."""

    def __init__(self, path: Path) -> None:
        """Keep the path of the document."""
        self._path = path
        self._off: frozenset[str] | None = None

    def hides(self, page_object: Any) -> bool:
        """Return True if an object is in a layer that is off."""
        for index in range(min(pdfium_c.FPDFPageObj_CountMarks(page_object), MOST_MARKS)):
            mark = pdfium_c.FPDFPageObj_GetMark(page_object, index)
            if mark and _string(pdfium_c.FPDFPageObjMark_GetName, mark) == "OC":
                name = _string(pdfium_c.FPDFPageObjMark_GetParamStringValue, mark, b"Name")
                if name and name in self._names_off():
                    return True
        return False

    def _names_off(self) -> frozenset[str]:
        if self._off is None:
            self._off = _names_off_in(self._path)
        return self._off


def _names_off_in(path: Path) -> frozenset[str]:
    """Return the names of the layers that are off; a name that is on and off counts as on."""
    try:
        with pikepdf.open(path, suppress_warnings=True) as document:
            properties = document.Root.get("/OCProperties")
            if not isinstance(properties, pikepdf.Dictionary):
                return frozenset()
            groups = list(_groups(properties.get("/OCGs")))
            default = properties.get("/D", pikepdf.Dictionary())
            on = {group.objgen for group in _groups(default.get("/ON"))}
            off = {group.objgen for group in _groups(default.get("/OFF"))}
            if str(default.get("/BaseState", "")) == "/OFF":
                off |= {group.objgen for group in groups} - on
            shown = {str(group.get("/Name", "")) for group in groups if group.objgen not in off}
            return frozenset(str(group.get("/Name", "")) for group in groups if group.objgen in off) - shown
    # A RuntimeError: for an encrypted file, qpdf wants a random device, and the sandbox has none.
    except (pikepdf.PdfError, pikepdf.PasswordError, RuntimeError, ValueError, TypeError, KeyError, AttributeError):
        return frozenset()


def _groups(array: Any) -> Iterator[Any]:
    if isinstance(array, pikepdf.Array):
        for index in range(min(len(array), MAX_LAYERS)):
            if isinstance(array[index], pikepdf.Dictionary):
                yield array[index]


def _string(read: Any, *arguments: Any) -> str:
    """Call one of pdfium's functions that fill a buffer with UTF-16; "" for a text that is too long."""
    buffer, length = (ctypes.c_ushort * (_NAME_BYTES // 2))(), ctypes.c_ulong()
    if not read(*arguments, buffer, _NAME_BYTES, ctypes.byref(length)) or not 2 < length.value <= _NAME_BYTES:
        return ""
    return bytes(buffer)[: length.value - 2].decode("utf-16-le", "replace")
