"""The visible text of a part, collected without the reader: every text node, whatever stands around it."""

from dataclasses import dataclass, field

from analytiq.ingestion.parsing.word.inline import HIDDEN_BY_CHANGES, Changes, is_hidden, joins_next, look_of_run
from analytiq.ingestion.parsing.word.math import shown_math
from analytiq.ingestion.parsing.word.names import attribute, child_of, chosen_alternative, is_on, local_name, value_of
from analytiq.ingestion.parsing.word.styles import RunLook, Styles
from analytiq.ingestion.parsing.word.symbols import shown_text, symbol_of
from analytiq.ingestion.parsing.xml_part import Element

_BETWEEN_WORDS = frozenset({"tab", "ptab", "br", "cr", "noBreakHyphen", "footnoteReference", "endnoteReference"})
_HIDDEN = frozenset({"rt", "instrText", "delInstrText", "fldData", "pPr", "rPr", "sdtPr", "tblPr", "docPr", "binData"})
_CELL_MARKS = {"del": "cellDel", "ins": "cellIns"}
_MATH = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/math}",
    "{http://purl.oclc.org/ooxml/officeDocument/math}",
)


@dataclass(slots=True)
class TextNodes:
    """The collector of a document's texts, a piece for each paragraph."""

    styles: Styles
    changes: Changes
    _pieces: list[str] = field(default_factory=list[str])
    _parts: list[str] = field(default_factory=list[str])
    _carried: str = ""
    _look: RunLook = RunLook()  # noqa: RUF009 -- an immutable tuple
    _fields: list[bool] = field(default_factory=list[bool])
    _instructions: int = 0
    _is_on_page: bool = False

    def pieces_of(self, element: Element, *, is_on_page: bool = False) -> list[str]:
        """Return the texts of a block, in which white text is invisible if the page is its ground."""
        self._is_on_page = is_on_page
        self._element(element)
        self._end_piece("")
        pieces, self._pieces = self._pieces, []
        return pieces

    def _children(self, parent: Element) -> None:
        for child in parent:
            self._element(child)

    def _element(self, element: Element) -> None:
        name = local_name(element)
        match name:
            case "t" | "delText":
                self._text(element)
            case "p":
                self._paragraph(element)
            case "r":
                before, self._look = self._look, look_of_run(element, self.styles, self._look)
                self._children(element)
                self._look = before
            case "sym":
                self._parts.append(symbol_of(attribute(element, "char") or "", attribute(element, "font") or ""))
            case "fldChar":
                self._field(attribute(element, "fldCharType"))
            case "AlternateContent":
                chosen = chosen_alternative(element)
                if chosen is not None:
                    self._children(chosen)
            case "tbl" | "txbxContent":
                before_ground, self._is_on_page = self._is_on_page, False
                self._children(element)
                self._is_on_page = before_ground
            case _:
                self._other(element, name)

    def _other(self, element: Element, name: str) -> None:
        hidden = HIDDEN_BY_CHANGES[self.changes]
        if not name or name in _HIDDEN or name in hidden or (name in {"tr", "tc"} and self._is_gone(element, name)):
            return
        is_between = name in _BETWEEN_WORDS or str(element.tag).startswith(_MATH)
        if is_between:
            self._parts.append(" ")
        self._children(element)
        if is_between:
            self._parts.append(" ")

    def _is_gone(self, element: Element, name: str) -> bool:
        properties = child_of(element, f"{name}Pr")
        if properties is None or not len(properties):
            return False
        hidden = HIDDEN_BY_CHANGES[self.changes]
        marks = {mark for key in hidden for mark in (key, _CELL_MARKS.get(key, key))}
        return any(local_name(child) in marks for child in properties) or is_on(child_of(properties, "hidden"))

    def _text(self, element: Element) -> None:
        text = (element.text or "").replace("\xad", "")
        if not text or self._instructions or is_hidden(self._look, is_on_page=self._is_on_page):
            return
        if str(element.tag).startswith(_MATH):
            text = shown_math(text)
        self._parts.append(shown_text(text, self._look.font) if self._look.font else text)

    def _paragraph(self, paragraph: Element) -> None:
        outer = (self._parts, self._look, self._fields, self._instructions, self._is_on_page)
        properties = child_of(paragraph, "pPr")
        self._parts, self._fields, self._instructions = [], [], 0
        self._look = self.styles.paragraph(value_of(child_of(properties, "pStyle"))).look
        self._is_on_page = self._is_on_page and child_of(properties, "shd") is None
        carried, self._carried = self._carried, ""
        self._children(paragraph)
        if joins_next(properties, self.changes):
            self._carried = carried + "".join(self._parts)
        else:
            self._end_piece(carried)
        self._parts, self._look, self._fields, self._instructions, self._is_on_page = outer

    def _end_piece(self, before: str) -> None:
        piece = before + "".join(self._parts)
        if piece.strip():
            self._pieces.append(piece)
        self._parts = []

    def _field(self, kind: str | None) -> None:
        if kind == "begin":
            self._fields.append(True)
            self._instructions += 1
        elif kind == "separate" and self._fields:
            self._instructions -= self._fields[-1]
            self._fields[-1] = False
        elif kind == "end" and self._fields:
            self._instructions -= self._fields.pop()
