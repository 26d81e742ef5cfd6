"""The content of a paragraph: its visible text, and what is anchored in it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from analytiq.ingestion.parsing.word.fields import CHECKED, UNCHECKED, Fields
from analytiq.ingestion.parsing.word.math import formula
from analytiq.ingestion.parsing.word.names import (
    any_attribute,
    attribute,
    child_of,
    chosen_alternative,
    local_name,
    value_of,
)
from analytiq.ingestion.parsing.word.notes import Notes
from analytiq.ingestion.parsing.word.styles import RunLook, Styles, look_of
from analytiq.ingestion.parsing.word.symbols import shown_text, symbol_of
from analytiq.ingestion.parsing.xml_part import Element

PAGE_BREAK, RENDERED_BREAK = "\f", "\x01"
"""Marks in the text of a paragraph for a break that its author made, and for one where Word began a page; XML has
neither character."""

Changes = Literal["accepted", "original", "all"]
"""The view of tracked changes: with insertions, with deletions, or with both."""
HIDDEN_BY_CHANGES: dict[Changes, frozenset[str]] = {
    "accepted": frozenset({"del", "moveFrom"}),
    "original": frozenset({"ins", "moveTo"}),
    "all": frozenset(),
}

_SKIPPED = frozenset({"rPr", "pPr", "sdtPr", "sdtEndPr", "rubyPr", "rt", "fldData", "instr", "tblPr", "trPr", "tcPr"})
_SOFT_HYPHEN = "\xad"
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|gif|bmp|tiff?|[ew]mf|svg|webp)$|^https?://\S*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Anchored:
    """A chart or a diagram, by its relation."""

    kind: Literal["chart", "diagram"]
    relation_id: str


@dataclass(slots=True)
class Inline:
    """A paragraph's content: text with marks of page breaks, text boxes, pictures' descriptions, charts, diagrams."""

    text: str
    boxes: list[Element] = field(default_factory=list[Element])
    pictures: list[str] = field(default_factory=list[str])
    figures: list[str] = field(default_factory=list[str])
    """Relations to the files of pictures."""
    objects: list[Anchored] = field(default_factory=list[Anchored])


@dataclass(slots=True)
class Sight:
    """The view of a document: which changes are in, and how many words were hidden."""

    changes: Changes = "accepted"
    hidden_words: int = 0
    has_background: bool = False


class InlineReader:
    """Reads the paragraphs of a document one after the other."""

    def __init__(self, styles: Styles, notes: Notes, sight: Sight) -> None:
        self._styles = styles
        self._notes = notes
        self._sight = sight
        self._skipped = _SKIPPED | HIDDEN_BY_CHANGES[sight.changes]
        self._fields = Fields()
        self._parts: list[str] = []
        self._found = Inline("")
        self._look = RunLook()
        self._base = RunLook()
        self._is_on_page = False
        self._handlers: dict[str, Callable[[Element], None]] = {
            "r": self._run,
            "t": self._text,
            "delText": self._text,
            "instrText": self._instruction,
            "delInstrText": self._instruction,
            "tab": self._tab,
            "ptab": self._tab,
            "br": self._break,
            "cr": self._break,
            "lastRenderedPageBreak": self._rendered_break,
            "noBreakHyphen": self._hyphen,
            "sym": self._symbol,
            "fldChar": self._field_mark,
            "footnoteReference": self._note,
            "endnoteReference": self._note,
            "AlternateContent": self._alternative,
            "ruby": self._ruby,
            "oMath": self._formula,
            "oMathPara": self._formula,
            "txbxContent": self._box,
            "p": self._drawing_paragraph,
            "textpath": self._word_art,
            "drawing": self._drawing,
            "chart": self._chart,
            "relIds": self._diagram,
            "blip": self._picture_file,
            "imagedata": self._picture_file,
            "sdt": self._control,
        }

    def read(self, paragraph: Element, base: RunLook, *, is_on_page: bool = False) -> Inline:
        """Return the content of an element with runs.

        Args:
            paragraph: The paragraph, or any other element.
            base: The look of its style.
            is_on_page: True if the page itself is its ground, so that white text is invisible.
        """
        self._parts, self._found, self._base, self._look = [], Inline(""), base, base
        self._is_on_page = is_on_page and not self._sight.has_background
        self._walk(paragraph)
        self._fields.end_paragraph()
        self._found.text = "".join(self._parts)
        return self._found

    def _walk(self, element: Element) -> None:
        for child in element:
            name = local_name(child)
            if name in self._skipped:
                continue
            handle = self._handlers.get(name)
            if handle is None:
                self._walk(child)
            else:
                handle(child)

    def _emit(self, text: str) -> None:
        if self._fields.hides_text:
            self._fields.instruct(text)
        elif self._is_hidden():
            self._count_hidden(text)
        else:
            self._fields.note_result()
            self._parts.append(text)

    def _is_hidden(self) -> bool:
        return is_hidden(self._look, is_on_page=self._is_on_page)

    def _count_hidden(self, text: str) -> None:
        # Word hides the page numbers of a table of contents from web pages; nobody misses them.
        is_number_of_page = not self._look.vanish and self._look.web_hidden and text.strip().isdigit()
        self._sight.hidden_words += 0 if is_number_of_page else len(text.split())

    def _run(self, run: Element) -> None:
        before = self._look
        self._look = look_of_run(run, self._styles, self._base)
        self._walk(run)
        self._look = before

    def _text(self, element: Element) -> None:
        text = (element.text or "").replace(_SOFT_HYPHEN, "")
        self._emit(shown_text(text, self._look.font) if self._look.font else text)

    def _instruction(self, element: Element) -> None:
        self._fields.instruct(element.text or "")

    def _tab(self, _element: Element) -> None:
        self._emit("\t")

    def _break(self, element: Element) -> None:
        self._emit(PAGE_BREAK if attribute(element, "type") == "page" else "\n")

    def _rendered_break(self, _element: Element) -> None:
        self._parts.append(RENDERED_BREAK)

    def _hyphen(self, _element: Element) -> None:
        self._emit("-")

    def _symbol(self, element: Element) -> None:
        self._emit(symbol_of(attribute(element, "char") or "", attribute(element, "font") or ""))

    def _field_mark(self, element: Element) -> None:
        shown = self._fields.change(element, attribute(element, "fldCharType"))
        if shown:
            self._emit(shown)

    def _note(self, element: Element) -> None:
        kind = "footnote" if local_name(element) == "footnoteReference" else "endnote"
        has_own_mark = is_on_value(attribute(element, "customMarkFollows"))
        self._emit(self._notes.mark(kind, attribute(element, "id") or "", has_own_mark=has_own_mark))

    def _alternative(self, element: Element) -> None:
        chosen = chosen_alternative(element)
        if chosen is not None:
            self._walk(chosen)

    def _ruby(self, element: Element) -> None:
        base = child_of(element, "rubyBase")
        if base is not None:
            self._walk(base)

    def _formula(self, element: Element) -> None:
        self._emit(formula(element))

    def _box(self, element: Element) -> None:
        if not self._is_hidden():
            self._found.boxes.append(element)

    def _drawing_paragraph(self, element: Element) -> None:
        self._walk(element)
        self._emit("\n")

    def _word_art(self, element: Element) -> None:
        self._emit(f" {element.get('string', '')} ")

    def _drawing(self, element: Element) -> None:
        has_picture = next(element.iter("{*}pic"), None) is not None
        properties = next(element.iter("{*}docPr"), None)
        description = (properties.get("descr") or "").strip() if properties is not None else ""
        if has_picture and description and not _FILE_NAME.search(description) and not self._is_hidden():
            self._found.pictures.append(description)
        self._walk(element)

    def _picture_file(self, element: Element) -> None:
        relation_id = any_attribute(element, "embed") or any_attribute(element, "id")
        if relation_id and not self._is_hidden():
            self._found.figures.append(relation_id)

    def _chart(self, element: Element) -> None:
        relation_id = any_attribute(element, "id")
        if relation_id:
            self._found.objects.append(Anchored("chart", relation_id))

    def _diagram(self, element: Element) -> None:
        relation_id = any_attribute(element, "dm")
        if relation_id:
            self._found.objects.append(Anchored("diagram", relation_id))

    def _control(self, element: Element) -> None:
        content = child_of(element, "sdtContent")
        mark = check_mark_of(element)
        if mark and (content is None or next(content.iter("{*}t", "{*}sym"), None) is None):
            self._emit(mark)
        elif content is not None:
            self._walk(content)


def joins_next(properties: Element | None, changes: Changes) -> bool:
    """Return True if a paragraph runs on into the next one: its end was deleted, or it is a dropped capital."""
    if properties is None:
        return False
    frame = child_of(properties, "framePr")
    if frame is not None and attribute(frame, "dropCap") in {"drop", "margin"}:
        return True
    mark = child_of(properties, "rPr")
    return mark is not None and any(local_name(child) in HIDDEN_BY_CHANGES[changes] for child in mark)


def check_mark_of(control: Element) -> str:
    """Return the mark of a content control that is a check box, else ""."""
    properties = child_of(control, "sdtPr")
    box = child_of(properties, "checkbox")
    if box is None:
        return ""
    state = child_of(box, "checked")
    return CHECKED if state is not None and is_on_value(any_attribute(state, "val") or "1") else UNCHECKED


def is_on_value(value: str | None) -> bool:
    """Return True if an attribute switches something on."""
    return value is not None and value.lower() not in {"0", "false", "off"}


def look_of_run(run: Element, styles: Styles, base: RunLook) -> RunLook:
    """Return the look of a run in a paragraph of the look `base`."""
    properties = child_of(run, "rPr")
    if properties is None:
        return base
    style = child_of(properties, "rStyle")
    if style is not None:
        base = styles.run(value_of(style)).over(base)
    return look_of(properties).over(base)


def is_hidden(look: RunLook, *, is_on_page: bool) -> bool:
    """Return True if text of this look is not seen: hidden, of a size of a point at most, or white on white."""
    return bool(look.vanish or look.web_hidden or look.tiny or (is_on_page and look.white and not look.shaded))
