"""Rich text as blocks: one scan over its control words, with the state of each group."""

import codecs
import re
from dataclasses import dataclass, field, replace

from analytiq.ingestion.parsing.completeness import count_words
from analytiq.ingestion.parsing.html_table import names_above_numbers
from analytiq.ingestion.parsing.table_lines import RowLine, TableLine, lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind

USUAL_CODE_PAGE = "cp1252"
MAX_CELLS = 1000
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
MAX_MARKER_CHARACTERS = 100
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
    is_aside: bool = False
    is_furniture: bool = False
    codec: str = USUAL_CODE_PAGE
    fallback: int = 1
    """Signs after a Unicode one that stand for it in older programs."""


@dataclass(slots=True)
class _Paragraph:
    level: int = 0
    is_in_table: bool = False
    marker: str = ""
    parts: list[str] = field(default_factory=list[str])


class RtfReader:
    """Writes the blocks of rich text.

    Attributes:
        hidden_words: The number of words formatted as hidden or deleted, which were left out.
    """

    def __init__(self, builder: TextBuilder, code_page: str, fonts: dict[int, str], styles: dict[int, int]) -> None:
        self.hidden_words = 0
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
        self._cells: list[str] = []
        self._rows: list[list[str]] = []
        self._left = 0
        self._is_optional = False

    def read(self, source: str) -> None:
        """Read the whole source, of which each character is a byte."""
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
        self._end_paragraph()
        self._end_table()
        for note in self._notes:
            self._builder.paragraph(note, kind=BlockKind.FOOTNOTE)
        for line in dict.fromkeys(self._furniture):
            self._builder.paragraph(line, kind=BlockKind.FURNITURE)
        self.hidden_words = count_words("".join(self._hidden))

    def _group(self, *, opens: bool) -> None:
        self._end_bytes()
        self._is_optional = False
        self._left = 0
        if opens:
            self._groups.append(self._state)
        elif self._groups:
            before, self._state = self._state, self._groups.pop()
            if before.is_aside and not self._state.is_aside and self._note:
                kept = self._furniture if before.is_furniture else self._notes
                kept.append(_joined_surrogates("".join(self._note)).strip())
                self._note = []

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
        elif word == "plain":
            self._state = replace(self._state, is_hidden=False)
        elif word == "uc":
            self._state = replace(self._state, fallback=min(max(number or 0, 0), 10))
        elif word == "f":
            self._state = replace(self._state, codec=self._fonts.get(number or 0, self._state.codec))
        elif word in {"listtext", "pntext"}:
            self._state = replace(self._state, is_marker=True)
        elif word in {"footnote", "annotation"}:
            self._state = replace(self._state, is_aside=True)
        elif word in _FURNITURE:
            self._state = replace(self._state, is_aside=True, is_furniture=True)
        elif not self._state.is_skipped:
            self._structure(word, number)

    def _structure(self, word: str, number: int | None) -> None:
        paragraph = self._paragraph
        if word in {"par", "sect", "page"}:
            self._end_paragraph()
        elif word in {"cell", "nestcell"}:
            self._end_cell()
        elif word in {"row", "nestrow"}:
            self._end_row()
        elif word == "pard":
            paragraph.level, paragraph.is_in_table = 0, False
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
        if state.is_hidden:
            self._hidden.append(text)
        elif state.is_aside:
            self._note.append(text)
        elif state.is_marker:
            self._paragraph.marker = (self._paragraph.marker + text)[:MAX_MARKER_CHARACTERS]
        else:
            self._paragraph.parts.append(text)

    def _take(self) -> str:
        self._end_bytes()
        text = _joined_surrogates("".join(self._paragraph.parts)).strip()
        self._paragraph.parts = []
        return text

    def _end_paragraph(self) -> None:
        self._end_bytes()
        if self._state.is_aside:
            self._add("\n")
            return
        paragraph = self._paragraph
        if paragraph.is_in_table or self._cells:
            paragraph.parts.append(" ")
            return
        text, marker = self._take(), paragraph.marker.strip()
        paragraph.marker = ""
        if not text:
            return
        self._end_table()
        if paragraph.level:
            self._builder.heading(f"{marker} {text}" if any(map(str.isalnum, marker)) else text, paragraph.level)
        elif marker:
            self._builder.list_item(text, marker=marker if any(map(str.isalnum, marker)) else "-")
        else:
            self._builder.paragraph(text)

    def _end_cell(self) -> None:
        if len(self._cells) >= MAX_CELLS:
            self._end_row()
        self._cells.append(" ".join(self._take().split()))
        self._paragraph.marker = ""

    def _end_row(self) -> None:
        if any(self._cells):
            self._rows.append(self._cells)
        self._cells = []

    def _end_table(self) -> None:
        self._end_row()
        rows, self._rows = self._rows, []
        if rows:
            self._builder.table(_table_lines(rows))


def _table_lines(rows: list[list[str]]) -> list[TableLine]:
    if names_above_numbers(rows):
        return list(lines_below_header(rows[:1], rows[1:]))
    return [RowLine(" | ".join(filter(None, row))) for row in rows]


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
