"""Fields of a paragraph: their results are text, their instructions are not."""

import re
from dataclasses import dataclass, field

from analytiq.ingestion.parsing.word.names import as_number, child_of, is_on, value_of
from analytiq.ingestion.parsing.word.symbols import symbol_of
from analytiq.ingestion.parsing.xml_part import Element

CHECKED, UNCHECKED = "☒", "☐"
_BUTTON = re.compile(r"\s*(?:MACROBUTTON|GOTOBUTTON)\s+\S+\s+(.*)", re.IGNORECASE | re.DOTALL)
_SYMBOL = re.compile(r"\s*SYMBOL\s+(\d{1,5}|0x[0-9a-f]{1,4})\b", re.IGNORECASE)
_SYMBOL_FONT = re.compile(r'\\f\s+(?:"([^"]*)"|(\S+))', re.IGNORECASE)
_OVERSTRIKE = re.compile(r"\s*EQ\s.*\\o", re.IGNORECASE | re.DOTALL)
"""A field that writes characters over others: the ruby of older documents, characters in a ring."""
_BESIDE_FIELDS = 200_000


@dataclass(slots=True)
class _Field:
    in_instruction: bool = True
    instruction: list[str] = field(default_factory=list[str])
    shown: str = ""
    has_result: bool = False


class Fields:
    """The open fields of a paragraph.

    A result may end in a later paragraph, as a table of contents does; an instruction ends in its own, so that a
    field without an end hides nothing.
    """

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._instructions = 0

    @property
    def hides_text(self) -> bool:
        """Return True within an instruction, where text is an argument of a field."""
        return self._instructions > 0

    def instruct(self, text: str) -> None:
        """Add to the instruction of the innermost field."""
        if self._open and self._open[-1].in_instruction:
            self._open[-1].instruction.append(text)

    def note_result(self) -> None:
        """Note that the innermost field has a result."""
        if self._open:
            self._open[-1].has_result = True

    def change(self, mark: Element, kind: str | None) -> str:
        """Follow a `fldChar`; return the text of a field that ends without a result, else ""."""
        if kind == "begin":
            self._open.append(_Field(shown=form_value(child_of(mark, "ffData"))))
            self._instructions += 1
        elif kind == "separate" and self._open:
            self._close_instruction(self._open[-1])
        elif kind == "end" and self._open:
            ended = self._open.pop()
            if ended.in_instruction:
                self._instructions -= 1
            if not ended.has_result:
                return ended.shown or shown_by_instruction("".join(ended.instruction))
        return ""

    def end_paragraph(self) -> None:
        """Forget the fields that are still open."""
        self._open.clear()
        self._instructions = 0

    def _close_instruction(self, last: _Field) -> None:
        if last.in_instruction:
            last.in_instruction = False
            self._instructions -= 1


def form_value(data: Element | None) -> str:
    """Return what an old form field shows by itself: its check mark, or its choice in a list."""
    box = child_of(data, "checkBox")
    if box is not None:
        checked = child_of(box, "checked")
        state = checked if checked is not None else child_of(box, "default")
        return CHECKED if is_on(state) else UNCHECKED
    choices = child_of(data, "ddList")
    if choices is not None:
        entries = [value_of(entry) for entry in choices.iterchildren("{*}listEntry")]
        chosen = child_of(choices, "result")
        index = as_number(value_of(chosen if chosen is not None else child_of(choices, "default")))
        return entries[index] if 0 <= index < len(entries) else ""
    return ""


def shown_by_instruction(instruction: str) -> str:
    """Return the text of a field that stores no result: a button's prompt, a symbol, the base of old ruby."""
    button = _BUTTON.match(instruction)
    if button:
        return button[1].strip()
    symbol = _SYMBOL.match(instruction)
    if symbol:
        font = _SYMBOL_FONT.search(instruction)
        code = int(symbol[1], 0) if symbol[1].lower().startswith("0x") else int(symbol[1])
        return symbol_of(f"{code:x}", (font[1] or font[2]) if font else "Symbol")
    if len(instruction) < _BESIDE_FIELDS and _OVERSTRIKE.match(instruction):
        return instruction.rpartition(")")[0].rpartition(",")[2].strip()
    return ""
