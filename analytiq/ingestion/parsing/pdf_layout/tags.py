"""Tags of a tagged PDF: headings, list items, captions and notes.

Tables are not taken from tags, which lose empty cells.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 ships without types.

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

MAX_DEPTH = 40
MAX_ELEMENTS = 20_000
_HEADING = re.compile(r"^(?:H([1-9])?|Title)$")
_ROLES = {"LI": "item", "Caption": "caption", "Note": "note", "FENote": "note", "BlockQuote": "quote"}


@dataclass(frozen=True, slots=True)
class Tag:
    """The role of marked content: `number` tells the elements of a page apart."""

    role: str
    number: int
    level: int = 0


PageTags = Mapping[int, Tag]
"""Tags by the id of marked content."""


def tags_of(page: pdfium.PdfPage) -> PageTags:
    """Return the tags of a page; none of an untagged page."""
    tree = pdfium_c.FPDF_StructTree_GetForPage(page)
    if not tree:
        return {}
    try:
        walk = _TagWalk()
        for index in range(min(pdfium_c.FPDF_StructTree_CountChildren(tree), MAX_ELEMENTS)):
            element = pdfium_c.FPDF_StructTree_GetChildAtIndex(tree, index)
            if element:
                walk.visit(element, None, 0)
        return walk.tags
    finally:
        pdfium_c.FPDF_StructTree_Close(tree)


class _TagWalk:
    def __init__(self) -> None:
        self.tags: dict[int, Tag] = {}
        self._visited = 0

    def visit(self, element: Any, above: Tag | None, depth: int) -> None:
        self._visited += 1
        if depth > MAX_DEPTH or self._visited > MAX_ELEMENTS:
            return
        tag = self._tag_of(element) or above
        if tag is not None:
            for index in range(min(pdfium_c.FPDF_StructElement_GetMarkedContentIdCount(element), MAX_ELEMENTS)):
                mark = pdfium_c.FPDF_StructElement_GetMarkedContentIdAtIndex(element, index)
                if mark >= 0:
                    self.tags[mark] = tag
        for index in range(min(pdfium_c.FPDF_StructElement_CountChildren(element), MAX_ELEMENTS)):
            child = pdfium_c.FPDF_StructElement_GetChildAtIndex(element, index)
            if child:
                self.visit(child, tag, depth + 1)

    def _tag_of(self, element: Any) -> Tag | None:
        kind = _type_of(element)
        heading = _HEADING.match(kind)
        if heading is not None:
            return Tag("heading", self._visited, int(heading[1] or 1))
        role = _ROLES.get(kind)
        return Tag(role, self._visited) if role is not None else None


def _type_of(element: Any) -> str:
    buffer = ctypes.create_string_buffer(64)
    length = pdfium_c.FPDF_StructElement_GetType(element, buffer, 64)
    return buffer.raw[: max(length - 2, 0)].decode("utf-16-le", "replace") if length <= 64 else ""
