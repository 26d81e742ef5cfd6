"""PowerPoint presentations of the old format (PPT), read by their records (MS-PPT), with a page for each slide."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing import ppt_records as kinds
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.compound_file import CompoundFile
from analytiq.ingestion.parsing.passwords import needs_password
from analytiq.ingestion.parsing.ppt_records import Record, descendants, directory_entries, record_at, records_in
from analytiq.ingestion.parsing.sheet_text import one_line, sheet_lines
from analytiq.ingestion.parsing.summary_information import stated_title
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.models.text import ParsedDocument, ParsedPage

_NOUN = "presentation"
_ENCRYPTED = 0xF3D1C4DF
_SLIDES, _NOTES = 0, 2
"""Instances of the lists of slides."""
_TITLES, _BODIES, _OTHER = frozenset({0, 6}), frozenset({1, 5, 7, 8}), 4
"""Kinds of texts: titles, and texts with bullets."""
_SHOWN = str.maketrans({"\x0b": "\n"})


@dataclass(frozen=True, slots=True)
class _Text:
    kind: int
    text: str


@dataclass(slots=True)
class _Place:
    """A slide in a list: its record's number, its id, and its texts in the outline."""

    number: int
    slide_id: int
    texts: list[_Text] = field(default_factory=list[_Text])


class PptParser:
    """The slides in order: title, lists, texts, tables, and notes."""

    content_types = ("application/vnd.ms-powerpoint",)
    extensions = (".ppt", ".pps", ".pot")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the presentation as it was saved last: earlier versions of slides stay in the file, and are not read."""
        file = CompoundFile(path, noun=_NOUN)
        user = file.read(file.root, "Current User") or b""
        if len(user) >= 16 and struct.unpack_from("<L", user, 12)[0] == _ENCRYPTED:
            raise needs_password(_NOUN)
        data = file.read(file.root, "PowerPoint Document") or b""
        try:
            presentation = _Presentation(data, struct.unpack_from("<L", user, 16)[0])
            count = len(presentation.slides)
            if count > options.max_pages:
                raise LimitExceededError(f"The presentation has {count} slides; at most {options.max_pages} are read.")
            pages: list[ParsedPage] = []
            for number, slide in enumerate(presentation.slides, start=1):
                pages.append(presentation.page(number, slide))
                report_progress(number, count)
        except (struct.error, IndexError) as error:
            raise CorruptFileError(f"The {_NOUN} is damaged ({error}): save it again, then upload it.") from error
        if not pages:
            raise CorruptFileError(f"The {_NOUN} is damaged (it has no slide): save it again, then upload it.")
        first = next((page.name for page in pages if page.name), "")
        return ParsedDocument(tuple(pages), (), telling_title(stated_title(file), first))


class _Presentation:
    def __init__(self, data: bytes, last_edit: int) -> None:
        self._data = data
        self._places, document_number = self._saved(last_edit)
        document = self._record(document_number)
        lists = [] if document is None else list(records_in(data, document.start, document.end))
        found = {each.instance: list(self._listed(each)) for each in lists if each.kind == kinds.SLIDE_LIST}
        self.slides = found.get(_SLIDES, [])
        self._notes = {place.slide_id: place for place in found.get(_NOTES, [])}

    def page(self, page_number: int, place: _Place) -> ParsedPage:
        """Return a slide as a page, named by its title."""
        builder, title = TextBuilder(), ""
        record = self._record(place.number)
        texts = list(place.texts) if record is None else list(self._slide_texts(record, place))
        for text in texts:
            if isinstance(text, list):
                builder.table(sheet_lines(text))
            elif text.kind in _TITLES and not title:
                title = one_line(text.text)
                builder.heading(title, 1)
            else:
                _write(builder, text)
        notes = None if record is None else self._notes_of(record)
        if notes:
            builder.heading("Notes", 2)
            for text in notes:
                _write(builder, text)
        return builder.page(page_number, name=title)

    def _saved(self, last_edit: int) -> tuple[dict[int, int], int]:
        """Return where each numbered record stands, as of the last save, and the number of the document's own."""
        places: dict[int, int] = {}
        document, seen, edit = 0, set[int](), last_edit
        while edit and edit not in seen:
            seen.add(edit)
            record = record_at(self._data, edit, len(self._data))
            if record is None or record.kind != kinds.USER_EDIT:
                break
            edit, directory, number = struct.unpack_from("<3L", self._data, record.start + 8)
            document = document or number
            for number, place in directory_entries(self._data, directory):
                places.setdefault(number, place)
        return places, document

    def _record(self, number: int) -> Record | None:
        """Return a numbered record once: slides that share one would be read again and again."""
        place = self._places.pop(number, None)
        return None if place is None else record_at(self._data, place, len(self._data))

    def _listed(self, slide_list: Record) -> Iterator[_Place]:
        place, kind = None, _OTHER
        for record in records_in(self._data, slide_list.start, slide_list.end):
            if record.kind == kinds.SLIDE_PLACE:
                if place is not None:
                    yield place
                number, _, _, slide_id = struct.unpack_from("<4L", self._data, record.start)
                place = _Place(number, slide_id)
            elif record.kind == kinds.TEXT_HEAD:
                (kind,) = struct.unpack_from("<L", self._data, record.start)
                if place is not None:
                    place.texts.append(_Text(kind, ""))
            elif (words := self._words(record)) is not None and place is not None and place.texts:
                place.texts[-1] = _Text(kind, words)
        if place is not None:
            yield place

    def _slide_texts(self, slide: Record, place: _Place) -> Iterator["_Text | list[list[str]]"]:
        """Yield the texts of a slide's shapes in their order, and its tables as rows."""
        shown = set[int]()
        for record in self._shapes(slide):
            if record.kind == kinds.SHAPE_GROUP:
                yield from self._group(record, place, shown)
            else:
                yield from self._texts(record, place, shown)
        # A placeholder without a shape of its own, as in outlines.
        yield from (text for index, text in enumerate(place.texts) if index not in shown)

    def _shapes(self, slide: Record) -> Iterator[Record]:
        """Yield the shapes of a slide and its groups; the first group holds the others."""
        for child in descendants(self._data, slide):
            if child.kind == kinds.SHAPE_GROUP:
                inner = (kinds.SHAPE, kinds.SHAPE_GROUP)
                yield from (each for each in records_in(self._data, child.start, child.end) if each.kind in inner)
                return

    def _group(self, group: Record, place: _Place, shown: set[int]) -> Iterator["_Text | list[list[str]]"]:
        """Yield a group's cells as a table if they form a grid, else its texts."""
        cells: dict[tuple[int, int], list[_Text]] = {}
        texts: list[_Text] = []
        boxes = 0
        for shape in descendants(self._data, group):
            if shape.kind != kinds.SHAPE:
                continue
            found = list(self._texts(shape, place, shown))
            texts += found
            anchor = next(
                (each for each in records_in(self._data, shape.start, shape.end) if each.kind == kinds.CHILD_ANCHOR),
                None,
            )
            if anchor is not None and any(each.kind == kinds.SHAPE_TEXT for each in self._parts(shape)):
                left, top, _, _ = struct.unpack_from("<4l", self._data, anchor.start)
                boxes += 1
                cells.setdefault((top, left), []).extend(found)
        tops, lefts = sorted({top for top, _ in cells}), sorted({left for _, left in cells})
        if len(tops) > 1 and len(lefts) > 1 and len(cells) == boxes == len(tops) * len(lefts):
            yield [[one_line(" ".join(each.text for each in cells[top, left])) for left in lefts] for top in tops]
        else:
            yield from texts

    def _parts(self, shape: Record) -> Iterator[Record]:
        return records_in(self._data, shape.start, shape.end)

    def _texts(self, shape: Record, place: _Place, shown: set[int]) -> Iterator[_Text]:
        """Yield the texts of a shape: its own, or that of the outline which it names."""
        for box in self._parts(shape):
            if box.kind != kinds.SHAPE_TEXT:
                continue
            kind = _OTHER
            for record in records_in(self._data, box.start, box.end):
                if record.kind == kinds.TEXT_HEAD:
                    (kind,) = struct.unpack_from("<L", self._data, record.start)
                elif record.kind == kinds.OUTLINE_TEXT:
                    (index,) = struct.unpack_from("<L", self._data, record.start)
                    if index < len(place.texts) and index not in shown:
                        shown.add(index)
                        yield place.texts[index]
                elif (words := self._words(record)) is not None:
                    yield _Text(kind, words)

    def _notes_of(self, slide: Record) -> list[_Text]:
        for record in records_in(self._data, slide.start, slide.end):
            if record.kind == kinds.SLIDE_ATOM:
                (notes_id,) = struct.unpack_from("<L", self._data, record.start + 16)
                place = self._notes.get(notes_id)
                notes = None if place is None else self._record(place.number)
                if place is None or notes is None:
                    return []
                texts = [text for text in self._slide_texts(notes, place) if isinstance(text, _Text)]
                return [text for text in texts if text.kind == _NOTES and text.text.strip()]
        return []

    def _words(self, record: Record) -> str | None:
        data = self._data[record.start : record.end]
        if record.kind == kinds.TEXT_WIDE:
            return data.decode("utf-16-le", errors="replace")
        return data.decode("latin-1") if record.kind == kinds.TEXT_NARROW else None


def _write(builder: TextBuilder, text: _Text) -> None:
    for paragraph in text.text.translate(_SHOWN).split("\r"):
        if text.kind in _BODIES and paragraph.strip():
            builder.list_item(paragraph.strip())
        else:
            builder.paragraph(paragraph)
