"""Rich text as blocks: one scan over its control words, with the state of each group."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from analytiq.ingestion.parsing.completeness import SourceWords, count_words
from analytiq.ingestion.parsing.rtf_look import LOOKS, Look, colors_that_are_white, is_shade
from analytiq.ingestion.parsing.rtf_tables import MAX_CELLS, RtfTable
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind

USUAL_CODE_PAGE = "cp1252"
_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
_SKIPPED = frozenset({
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "fldinst", "generator", "themedata", "datastore",
    "listtable", "listoverridetable", "rsidtbl", "latentstyles", "xmlnstbl", "colorschememapping", "filetbl",
    "revtbl", "bkmkstart", "bkmkend", "nonshppict", "mmathPr", "pgptbl", "wgrffmtfilter", "template", "passwordhash",
    "atnid", "atnauthor", "atnref", "atndate", "fontemb", "fchars", "lchars", "sp", "tc", "xe", "ftnsep", "ftnsepc",
    "aftnsep", "aftnsepc", "blipuid", "pnseclvl", "factoidname", "do", "docvar", "userprops", "datafield", "ffdata",
})  # fmt: skip
_FURNITURE = frozenset({
    "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf",
})  # fmt: skip
_DEFINING = frozenset({"trowd", "trhdr", "clmrg", "clvmgf", "clvmrg", "cellx", "clcbpat", "trcbpat", "clshdng"})
MAX_MARKER_CHARACTERS = 100
_ASIDE: "dict[str, Literal['note', 'furniture', 'box']]" = {
    **dict.fromkeys(("footnote", "annotation"), "note"),
    **dict.fromkeys(_FURNITURE, "furniture"),
    "shptxt": "box",
}
_SHOWN = frozenset({"shppict", "shptxt", "shpinst", "listtext", "pntext", "pn", "footnote", "annotation", "field"})
"""Destinations with text of their own, though marked as ones that a program may skip."""
_SIGNS = {
    "tab": "\t", "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ", "line": "\n", "lbr": "\n",
}  # fmt: skip
_SYMBOLS = {"~": " ", "_": "-", "-": "", "\\": "\\", "{": "{", "}": "}"}
_CHARSETS = {
    0: "cp1252", 77: "mac-roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "big5", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _State:
    """State that a group inherits from the one around it."""

    is_skipped: bool = False
    is_hidden: bool = False
    is_marker: bool = False
    aside: Literal["", "note", "furniture", "box"] = ""
    look: Look = field(default_factory=Look)
    codec: str = USUAL_CODE_PAGE
    fallback: int = 1
    """Signs after a Unicode one that stand for it in older programs."""


@dataclass(slots=True)
class _Paragraph:
    level: int = 0
    is_in_table: bool = False
    is_painted: bool = False
    marker: str = ""
    parts: list[str] = field(default_factory=list[str])


class RtfReader:
    """Writes the blocks of rich text.

    Attributes:
        hidden_words: The number of words that were left out: hidden, deleted, white on white or too small.
        appended_words: The number of words that stand at the end, since their place was lost.
    """

    def __init__(self, builder: TextBuilder, code_page: str, fonts: dict[int, str], styles: dict[int, int]) -> None:
        self.hidden_words = 0
        self.appended_words = 0
        self._builder = builder
        self._fonts = fonts
        self._styles = styles
        self._state = _State(codec=code_page)
        self._groups: list[_State] = []
        self._paragraph = _Paragraph()
        self._bytes = bytearray()
        self._hidden: list[str] = []
        self._note: list[str] = []
        self._notes: list[str] = []
        self._furniture: list[str] = []
        self._boxes: list[str] = []
        self._cells: list[str] = []
        self._table = RtfTable()
        self._whites: Sequence[bool] = ()
        self._has_background = False
        self._words = SourceWords()
        self._run: list[str] = []
        self._left = 0
        self._is_optional = False

    def read(self, source: str) -> None:
        """Read the whole source, of which each character is a byte."""
        self._whites = colors_that_are_white(source)
        self._has_background = "\\background" in source
        position = 0
        while (token := _TOKEN.match(source, position)) is not None:
            position = token.end()
            word, number, code, symbol, brace, text = token.groups()
            if word:
                if word == "bin":
                    position += max(int(number or 0), 0)
                self._control(word, int(number) if number else None)
            elif code:
                self._add_bytes(bytes([int(code, 16)]))
            elif symbol:
                self._symbol(symbol)
            elif brace:
                self._group(opens=brace == "{")
            elif text:
                self._add_bytes(text.encode("latin-1", errors="replace"))
        self._end_bytes()
        self._end_aside(self._state.aside)  # of a file that was cut off
        self._state = replace(self._state, aside="")
        self._end_paragraph()
        self._end_table()
        self._write_boxes()
        for note in self._notes:
            self._builder.paragraph(note, kind=BlockKind.FOOTNOTE)
        for line in dict.fromkeys(self._furniture):
            self._builder.paragraph(line, kind=BlockKind.FURNITURE)
        self.hidden_words = count_words("".join(self._hidden))
        self._append_lost()

    def _group(self, *, opens: bool) -> None:
        self._end_bytes()
        self._is_optional = False
        self._left = 0
        if opens:
            self._groups.append(self._state)
        elif self._groups:
            before, self._state = self._state, self._groups.pop()
            if before.aside and not self._state.aside:
                self._end_aside(before.aside)

    def _end_aside(self, kind: str) -> None:
        if self._note:
            text = _joined_surrogates("".join(self._note)).strip()
            self._note = []
            self._words.add(text)
            {"furniture": self._furniture, "box": self._boxes}.get(kind, self._notes).append(text)

    def _symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._is_optional = True
        elif symbol in "\r\n":
            self._end_paragraph()
        else:
            self._end_bytes()
            self._add(_SYMBOLS.get(symbol, ""))

    def _control(self, word: str, number: int | None) -> None:
        self._end_bytes()
        is_optional, self._is_optional = self._is_optional, False
        if word in _SKIPPED or (is_optional and word not in _SHOWN):
            self._state = replace(self._state, is_skipped=True)
        elif word == "u" and number is not None:
            self._add(chr(number % 65536))
            self._left = self._state.fallback
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word in {"v", "deleted"}:
            self._state = replace(self._state, is_hidden=number != 0)
        elif word in LOOKS:
            is_hidden = self._state.is_hidden and word != "plain"
            look = self._state.look.changed(word, number, self._whites)
            self._state = replace(self._state, is_hidden=is_hidden, look=look)
        elif word == "uc":
            self._state = replace(self._state, fallback=min(max(number or 0, 0), 10))
        elif word == "f":
            self._state = replace(self._state, codec=self._fonts.get(number or 0, self._state.codec))
        elif word in {"listtext", "pntext"}:
            self._state = replace(self._state, is_marker=True)
        elif word in _ASIDE:
            # A box has a ground of its own.
            look = replace(self._state.look, is_painted=_ASIDE[word] == "box")
            self._state = replace(self._state, aside=self._state.aside or _ASIDE[word], look=look)
        elif self._state.aside and not self._state.is_skipped:
            self._structure_aside(word)
        elif not self._state.is_skipped:
            self._structure(word, number)

    def _structure_aside(self, word: str) -> None:
        if word in {"par", "sect", "page", "row", "nestrow"}:
            self._add("\n")
        elif word in {"cell", "nestcell"}:
            self._add("\t")

    def _structure(self, word: str, number: int | None) -> None:
        paragraph = self._paragraph
        if word in {"par", "sect", "page"}:
            self._end_paragraph()
        elif word in {"cell", "nestcell"}:
            self._end_cell()
        elif word in {"row", "nestrow"}:
            self._end_row()
        elif word in _DEFINING:
            self._table.define(word, number, self._whites)
        elif word == "pard":
            paragraph.level, paragraph.is_in_table, paragraph.is_painted = 0, False, False
        elif word in {"cbpat", "shading"}:
            paragraph.is_painted |= is_shade(number, self._whites) or word == "shading"
        elif word == "intbl":
            paragraph.is_in_table = True
        elif word == "outlinelevel" and number is not None and 0 <= number < 9:
            paragraph.level = number + 1
        elif word == "s" and number is not None:
            paragraph.level = self._styles.get(number, 0)

    def _add_bytes(self, data: bytes) -> None:
        skipped = min(self._left, len(data))
        self._left -= skipped
        self._bytes += data[skipped:]

    def _end_bytes(self) -> None:
        if self._bytes:
            data, self._bytes = bytes(self._bytes), bytearray()
            self._add(data.decode(self._state.codec, errors="replace"))

    def _add(self, text: str) -> None:
        state = self._state
        if state.is_skipped or not text:
            return
        if state.is_hidden or self._is_unseen(state):
            self._hidden.append(text)
            return
        if self._hidden and self._hidden[-1] != " ":
            self._hidden.append(" ")
        if state.aside:
            self._note.append(text)
            return
        self._run.append(text)
        if state.is_marker and not self._paragraph.is_in_table:
            self._paragraph.marker = (self._paragraph.marker + text)[:MAX_MARKER_CHARACTERS]
        else:
            self._paragraph.parts.append(text)

    def _is_unseen(self, state: _State) -> bool:
        look = state.look
        if not look.is_white or look.is_painted or self._has_background:
            return look.is_tiny
        is_on_shade = self._paragraph.is_painted or (self._paragraph.is_in_table and self._table.is_painted)
        return look.is_tiny or not is_on_shade

    def _end_run(self) -> None:
        """Count the words since the last end; no word goes on over it."""
        run, self._run = self._run, []
        if run:
            self._words.add(_joined_surrogates("".join(run)))

    def _append_lost(self) -> None:
        """Add the words that were shown and that the text lacks."""
        self._end_run()
        lost = self._words.lost(self._builder.texts())
        self._builder.paragraph(" ".join(lost.elements()))
        self.appended_words = lost.total()

    def _write_boxes(self) -> None:
        boxes, self._boxes = self._boxes, []
        for box in boxes:
            for line in box.splitlines():
                self._builder.paragraph(line)

    def _take(self) -> str:
        self._end_bytes()
        text = _joined_surrogates("".join(self._paragraph.parts)).strip()
        self._paragraph.parts = []
        return text

    def _end_paragraph(self) -> None:
        self._end_bytes()
        if self._state.aside:
            self._add("\n")
            return
        self._end_run()
        paragraph = self._paragraph
        if paragraph.is_in_table or self._cells:
            paragraph.parts.append(" ")
            return
        text, marker = self._take(), paragraph.marker.strip()
        paragraph.marker = ""
        if text:
            self._write_paragraph(paragraph.level, marker, text)
        self._write_boxes()

    def _write_paragraph(self, level: int, marker: str, text: str) -> None:
        self._end_table()
        if level:
            self._builder.heading(f"{marker} {text}" if any(map(str.isalnum, marker)) else text, level)
        elif marker:
            self._builder.list_item(text, marker=marker if any(map(str.isalnum, marker)) else "-")
        else:
            self._builder.paragraph(text)

    def _end_cell(self) -> None:
        if len(self._cells) >= MAX_CELLS:
            self._end_row()
        self._cells.append(" ".join(self._take().split()))
        self._end_run()

    def _end_row(self) -> None:
        self._table.add(self._cells)
        self._cells = []

    def _end_table(self) -> None:
        self._end_row()
        if lines := self._table.take():
            self._builder.table(lines)


def _joined_surrogates(text: str) -> str:
    """Join the halves of emoji, which rich text writes separately and which are no characters alone."""
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def fonts_and_styles(source: str, code_page: str) -> tuple[dict[int, str], dict[int, int]]:
    """Return the code page of each font, and the level of each style that is a heading's."""
    fonts: dict[int, str] = {}
    for found in re.finditer(r"\\f(\d{1,5})(?:\\[a-z]{1,20}\d{0,10} ?){0,10}?\\fcharset(\d{1,3})", source[:100_000]):
        fonts.setdefault(int(found[1]), _known(_CHARSETS.get(int(found[2]), code_page), code_page))
    styles: dict[int, int] = {}
    for found in re.finditer(r"\\s(\d{1,5})\\([^{};]{0,200}) ?heading (\d);", source[:200_000], re.IGNORECASE):
        styles.setdefault(int(found[1]), int(found[3]))
    return fonts, styles


def _known(name: str, otherwise: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        return otherwise
    return name
