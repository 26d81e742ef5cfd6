"""Charts of Office Open XML as text: title, titles of axes, and the drawn values as a table."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from lxml import etree
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import CALENDAR_MAC_1904, CALENDAR_WINDOWS_1900

from analytiq.ingestion.parsing.cell_values import shown_value
from analytiq.ingestion.parsing.rows import render_row
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.table_lines import RowLine, TableLine, header_line
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element
from analytiq.models.blocks import BlockKind

_AXES = ("{*}catAx", "{*}dateAx", "{*}valAx", "{*}serAx")
_CACHES = ("{*}strCache", "{*}numCache", "{*}strLit", "{*}numLit", "{*}multiLvlStrCache")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")

_FIRST_CERTAIN_DAY = 60
"""Excel's 1900 has a 29 February; dates before are left as numbers."""

Points = dict[int, str]


@dataclass(frozen=True, slots=True)
class Series:
    """A series of a chart: its name, the label and the value of each point, and the cells that hold the values."""

    name: str
    labels: Points
    values: Points
    cells: str


def write_chart(builder: TextBuilder, root: Element, *, without_values_of: Sequence[str] = ()) -> None:
    """Add a chart's words.

    Args:
        builder: The page.
        root: The chart's part, of the classic or the extended form.
        without_values_of: Sheets whose cells are read anyway, so that their values need no table here.
    """
    title, *others = [*_titles(root), ""]
    builder.paragraph(title, kind=BlockKind.CAPTION)
    category, others = _category(root, others)
    builder.paragraph("\n".join(filter(None, others)), kind=BlockKind.CAPTION)
    series = list(_extended_series(root)) or list(_series(root))
    if series and all(_is_of(item.cells, without_values_of) for item in series):
        names = dict.fromkeys(item.name for item in series if item.name)
        builder.paragraph(" | ".join(names), kind=BlockKind.CAPTION)
        return
    for labels, group in groupby(series, key=lambda item: item.labels):
        drawn = list(group)
        places = sorted({*labels, *(place for item in drawn for place in item.values)})
        rows = ([labels.get(place, ""), *(item.values.get(place, "") for item in drawn)] for place in places)
        builder.table(chart_lines([category, *(item.name for item in drawn)], rows))


def chart_lines(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[TableLine]:
    """Yield the lines of a chart's values: the names of its series, even of a single one, are a header."""
    if any(names):
        yield header_line(names)
    yield from (RowLine(render_row(row, names)) for row in rows if any(row))


def _is_of(cells: str, sheets: Sequence[str]) -> bool:
    sheet = cells.rpartition("!")[0].strip("'").replace("''", "'")
    return bool(sheet) and sheet in sheets


def _titles(root: Element) -> Iterator[str]:
    """Yield the chart's own title, even if empty, then the words of data labels and text boxes set by hand."""
    own = root.find("{*}chart/{*}title")
    yield _words(own) if own is not None else ""
    for rich in root.iter("{*}rich"):
        parent = rich.getparent()
        holder = None if parent is None else parent.getparent()
        if holder is not None and etree.QName(holder).localname != "title":
            yield _words(rich)


def _category(root: Element, others: list[str]) -> tuple[str, list[str]]:
    """Return the title of the axis of categories, and the other words with those of the other axes."""
    category = ""
    for axis in root.iter(*_AXES):
        title = axis.find("{*}title")
        words = _words(title) if title is not None else ""
        if etree.QName(axis).localname in {"catAx", "dateAx"} and not category:
            category = words
        else:
            others = [*others, words]
    return category, others


def _words(element: Element) -> str:
    paragraphs = ("".join(text.text or "" for text in p.iter("{*}t")) for p in element.iter("{*}p"))
    return one_line(" ".join(paragraphs) or " ".join(value.text or "" for value in element.iter("{*}v")))


def _series(root: Element) -> Iterator[Series]:
    epoch = _epoch(root)
    for item in root.iter("{*}ser"):
        name = item.find("{*}tx")
        labels = _first(item, "{*}cat", "{*}xVal")
        values = _first(item, "{*}val", "{*}yVal")
        yield Series(
            name="" if name is None else _words(name),
            labels={} if labels is None else _points(labels, epoch),
            values={} if values is None else _points(values, epoch),
            cells="" if values is None else values.findtext("{*}numRef/{*}f") or "",
        )
        sizes = item.find("{*}bubbleSize")
        if sizes is not None:
            yield Series("", {} if labels is None else _points(labels, epoch), _points(sizes, epoch), "")


def _epoch(root: Element) -> datetime:
    mark = root.find("{*}date1904")
    is_1904 = mark is not None and mark.get("val", "1") in {"1", "true"}
    return CALENDAR_MAC_1904 if is_1904 else CALENDAR_WINDOWS_1900


def _first(element: Element, *tags: str) -> Element | None:
    return next(element.iterchildren(*tags), None)


def _points(element: Element, epoch: datetime) -> Points:
    cache = next(element.iter(*_CACHES), None)
    if cache is None:
        return {}
    number_format = cache.findtext("{*}formatCode") or "General"
    levels = [
        {
            _place(point): _shown(point.findtext("{*}v") or "", point.get("formatCode", number_format), epoch)
            for point in level.iterchildren("{*}pt")
        }
        for level in (list(cache.iterchildren("{*}lvl")) or [cache])
    ]
    inner, *outer = levels
    for level in outer:  # the label of a group is at its first point
        label = ""
        inner = dict(sorted(inner.items()))
        for place, text in inner.items():
            label = level.get(place, label)
            inner[place] = f"{label} {text}".strip()
    return inner


def _place(point: Element) -> int:
    place = point.get("idx", "")
    return int(place) if place.isdecimal() else 0


def _shown(text: str, number_format: str, epoch: datetime) -> str:
    if not _NUMBER.fullmatch(text):
        return one_line(text)
    value = float(text) if re.search(r"[.eE]", text) else int(text)
    if is_date_format(number_format) and 0 <= value < 2_900_000:
        return shown_value((epoch + timedelta(days=value)) if value >= _FIRST_CERTAIN_DAY else value)
    return shown_value(value, number_format)


def _extended_series(root: Element) -> Iterator[Series]:
    """Yield the series of charts of Office 2016 (waterfall, funnel, treemap), whose values stand apart from them."""
    names = [_words(name) for name in root.iterfind(".//{*}series/{*}tx")]
    for number, data in enumerate(root.iterfind("{*}chartData/{*}data")):
        labels = _dimension(data.find("{*}strDim"))
        values = _dimension(data.find("{*}numDim"))
        yield Series(names[number] if number < len(names) else "", labels, values, "")


def _dimension(element: Element | None) -> Points:
    if element is None:
        return {}
    points: Points = {}
    for level in reversed(list(element.iterchildren("{*}lvl"))):
        for point in level.iterchildren("{*}pt"):
            place = _place(point)
            points[place] = (
                f"{points.get(place, '')} {_shown(point.text or '', 'General', CALENDAR_WINDOWS_1900)}".strip()
            )
    return points
