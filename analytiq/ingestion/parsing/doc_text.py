"""The text of an old Word document, put together from its pieces (MS-DOC, piece table)."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.doc_properties import (
    ParagraphProperties,
    character_flags,
    character_runs,
    paragraph_properties,
    paragraph_runs,
)
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.ingestion.parsing.summary_information import stated_charset

NOUN = "document"
PARAGRAPH_END, CELL_END, PAGE_BREAK = "\r", "\x07", "\x0c"
FIELD_BEGIN, FIELD_RESULT, FIELD_END = "\x13", "\x14", "\x15"

_MAGICS = frozenset({0xA5EC, 0xA5DC})
_OLDEST_WITH_PIECES = 193
_ENCRYPTED, _TABLE_STREAM = 0x0100, 0x0200
_PARTS = ("text", "footnotes", "headers", "macros", "comments", "endnotes", "text_boxes", "header_text_boxes")
_CHARACTER_PAGES, _PARAGRAPH_PAGES, _PIECES = 12, 13, 33
"""Numbers of the tables in the file's head."""
_COMPRESSED = 0x40000000
_LEFT_OUT = dict.fromkeys(map(ord, "\x01\x02\x03\x04\x05\x06\x08\x1f"))
"""Anchors of pictures, notes and drawings, and soft hyphens."""
_SHOWN = _LEFT_OUT | {0x0B: "\n", 0x0E: "\n", 0x1E: "-", 0xA0: " "}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The words of a paragraph or a cell, and the mark that ends it."""

    text: str
    end: str
    properties: ParagraphProperties


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    place: int
    size: int
    is_wide: bool

    @property
    def characters(self) -> int:
        return self.size // 2 if self.is_wide else self.size


class _OpenFields:
    """The fields around a character, each in its instruction or in its result."""

    def __init__(self) -> None:
        self._in_instruction: list[bool] = []
        self._instructions = 0

    def take(self, character: str) -> bool:
        """Return True if the character marks a field or belongs to an instruction."""
        if character == FIELD_BEGIN:
            self._in_instruction.append(True)
            self._instructions += 1
        elif character == FIELD_RESULT and self._in_instruction:
            self._instructions -= self._in_instruction[-1]
            self._in_instruction[-1] = False
        elif character == FIELD_END and self._in_instruction:
            self._instructions -= self._in_instruction.pop()
        else:
            return self._instructions > 0 or character in {FIELD_RESULT, FIELD_END}
        return True


class DocText:
    """The parts of a document as paragraphs, and the numbers of words left out."""

    def __init__(self, file: CompoundFile, *, shows_deleted: bool) -> None:
        self._main = main = file.read(file.root, "WordDocument") or b""
        if len(main) < 0x200 or _number(main, 0) not in _MAGICS:
            raise _damaged("it has no head")
        version, flags = _number(main, 2), _number(main, 0x0A)
        if flags & _ENCRYPTED:
            raise needs_password(NOUN)
        self.hidden_words = 0
        self._shows_deleted = shows_deleted
        self._lengths: tuple[int, ...] = ()
        if version < _OLDEST_WITH_PIECES:
            first, end = struct.unpack_from("<2L", main, 0x18)
            self._pieces = [_Piece(0, first, max(min(end, len(main)) - first, 0), is_wide=False)]
            self._is_old, self._table, self._charset = True, b"", stated_charset(file)
        else:
            self._is_old, self._charset = False, None
            self._table = file.read(file.root, "1Table" if flags & _TABLE_STREAM else "0Table") or b""
            self._lengths = struct.unpack_from("<8L", main, 0x4C)
            self._pieces = list(_pieces(self._listed(_PIECES), len(main)))
        self._paragraphs = paragraph_runs(main, self._listed(_PARAGRAPH_PAGES))
        self._characters = character_runs(main, self._listed(_CHARACTER_PAGES))

    def parts(self) -> dict[str, list[Paragraph]]:
        """Return the paragraphs of each part of the document by its name, the text first."""
        parts: dict[str, list[Paragraph]] = {name: [] for name in _PARTS}
        ends, position = list[int](), 0
        for length in self._lengths:
            position += length
            ends.append(position)
        part, position = 0, 0
        words, fields = list[str](), _OpenFields()
        for piece, text in self._texts():
            for number, character in enumerate(text):
                while part < len(ends) - 1 and position >= ends[part]:
                    part, words, fields = part + 1, [], _OpenFields()
                position += 1
                if character in {PARAGRAPH_END, CELL_END, PAGE_BREAK}:
                    place = self._paragraphs.at(piece.place + number * (1 + piece.is_wide))
                    properties = paragraph_properties(self._main, place)
                    parts[_PARTS[part]].append(Paragraph(_shown(words), character, properties))
                    # An instruction without an end must not swallow the paragraphs below it.
                    words, fields = [], _OpenFields()
                elif not fields.take(character) and character != "\x00":
                    words.append(character)
        if words:
            parts[_PARTS[part]].append(Paragraph(_shown(words), PARAGRAPH_END, ParagraphProperties()))
        return parts

    def _texts(self) -> Iterator[tuple[_Piece, str]]:
        """Yield the pieces with their characters, NUL for those that are hidden."""
        for piece in self._pieces:
            data = self._main[piece.place : piece.place + piece.size]
            if piece.is_wide:
                # One unit a character, so that places stay: pairs of surrogates are joined later.
                text = "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data[: len(data) // 2 * 2])))
            elif self._is_old:
                text = decode_text(data, hint=self._charset).text
            else:
                text = data.decode("cp1252", errors="replace")
            yield piece, self._visible(piece, text)

    def _visible(self, piece: _Piece, text: str) -> str:
        width = 1 + piece.is_wide
        for start, end, place in self._characters.between(piece.place, piece.place + piece.size):
            is_hidden, is_deleted = character_flags(self._main, place)
            if is_hidden or (is_deleted and not self._shows_deleted):
                first, last = max((start - piece.place) // width, 0), min((end - piece.place) // width, len(text))
                self.hidden_words += len(text[first:last].split()) if is_hidden else 0
                kept = "".join(mark if mark in "\r\x07\x0c\x13\x14\x15" else "\x00" for mark in text[first:last])
                text = text[:first] + kept + text[last:]
        return text

    def _listed(self, number: int) -> bytes:
        if self._is_old:
            return b""
        start, size = struct.unpack_from("<2L", self._main, 0x9A + 8 * number)
        return self._table[start : start + size]


def _pieces(table: bytes, most: int) -> Iterator[_Piece]:
    """Yield the pieces; each character takes a byte of the file at least, so more characters than bytes are a lie."""
    at = 0
    while at + 3 <= len(table) and table[at] == 1:
        at += 3 + int.from_bytes(table[at + 1 : at + 3], "little")
    if at + 5 > len(table) or table[at] != 2:
        raise _damaged("it has no table of pieces")
    plan = table[at + 5 : at + 5 + int.from_bytes(table[at + 1 : at + 5], "little")]
    count = (len(plan) - 4) // 12
    if count < 1:
        raise _damaged("its table of pieces is empty")
    starts = struct.unpack_from(f"<{count + 1}L", plan)
    for index in range(count):
        (place,) = struct.unpack_from("<L", plan, 4 * (count + 1) + 8 * index + 2)
        characters = starts[index + 1] - starts[index]
        most -= characters
        if characters < 0 or most < 0:
            raise _damaged("its pieces are longer than the file")
        is_wide = not place & _COMPRESSED
        place &= _COMPRESSED - 1
        yield _Piece(starts[index], place if is_wide else place // 2, characters * (1 + is_wide), is_wide)


def _shown(characters: list[str]) -> str:
    """Return the words as they are shown; pairs of surrogates become one character."""
    text = "".join(characters).translate(_SHOWN)
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "little")


def _damaged(reason: str) -> CorruptFileError:
    return CorruptFileError(f"The {NOUN} is damaged ({reason}): save it again, then upload it.")
