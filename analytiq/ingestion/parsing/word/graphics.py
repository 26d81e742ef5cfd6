"""Charts and diagrams (SmartArt), whose words and values are parts of their own."""

from collections.abc import Iterator
from math import isfinite

from analytiq.ingestion.parsing.rows import MAX_HEADER_CHARACTERS
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.table_lines import RowLine, TableLine, TitleLine, header_line
from analytiq.ingestion.parsing.word.names import as_number, child_of, local_name
from analytiq.ingestion.parsing.xml_part import Element

_DEEPEST = 9
_MOST_EXACT = 1e15
_TEXTS = ("{*}t", "{*}v", "{*}pt")


def chart_lines(root: Element) -> Iterator[TableLine]:
    """Yield a chart as a table: its title, the names of its series, a row for each category."""
    title = child_of(root, "chart", "title")
    heading = one_line(_drawn_text(title)) if title is not None else ""
    if heading:
        yield TitleLine(heading)
    columns = _series(root) or _dimensions(root)
    names = [name[:MAX_HEADER_CHARACTERS] for name, _ in columns]
    if any(names):
        yield header_line([name for name, _ in columns])
    rows: dict[int, list[str]] = {}
    for (_, points), name in zip(columns, names, strict=True):
        for index, value in points.items():
            rows.setdefault(index, []).append(f"{name}: {value}" if name else value)
    for index in sorted(rows):
        yield RowLine("; ".join(rows[index]))
    for element in root.iter("{*}title", "{*}dLbl"):
        text = one_line(_drawn_text(element))
        if text and element is not title:
            yield RowLine(text)


def diagram_items(root: Element) -> Iterator[tuple[str, int]]:
    """Yield the texts of a diagram, each with its depth."""
    texts: dict[str, str] = {}
    for point in root.iter("{*}pt"):
        texts[point.get("modelId", "")] = one_line(_drawn_text(point))
    children: dict[str, list[tuple[int, str]]] = {}
    below: set[str] = set()
    for link in root.iter("{*}cxn"):
        if link.get("type", "parOf") == "parOf":
            child = link.get("destId", "")
            children.setdefault(link.get("srcId", ""), []).append((as_number(link.get("srcOrd")), child))
            below.add(child)
    stack = [(model_id, 0) for model_id in reversed(texts) if model_id not in below]
    seen: set[str] = set()
    while stack:
        model_id, depth = stack.pop()
        if model_id in seen:
            continue
        seen.add(model_id)
        if texts.get(model_id):
            yield texts[model_id], min(max(depth, 1), _DEEPEST)
        stack += [(child, depth + 1) for _, child in sorted(children.get(model_id, ()), reverse=True)]
    yield from ((text, 1) for model_id, text in texts.items() if text and model_id not in seen)


def graphic_pieces(root: Element) -> set[str]:
    """Return the distinct texts and values of a chart or a diagram; each series repeats the categories."""
    pieces: set[str] = set()
    for element in root.iter(*_TEXTS):
        if element.text and element.text.strip() and local_name(element) in {"t", "v", "pt"}:
            pieces.add(shown_number(one_line(element.text)))
    return pieces


def shown_number(text: str) -> str:
    """Return a stored value without the noise of its last binary digits."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not isfinite(value) or "_" in text:
        return text
    return str(int(value)) if value.is_integer() and abs(value) < _MOST_EXACT else f"{value:.15g}"


def _drawn_text(element: Element) -> str:
    paragraphs = ("".join(text.text or "" for text in one.iter("{*}t")) for one in element.iter("{*}p"))
    return " ".join(paragraphs)


def _series(root: Element) -> list[tuple[str, dict[int, str]]]:
    """Return the categories, then each series; categories are the first series' own."""
    columns: list[tuple[str, dict[int, str]]] = []
    categories: list[dict[int, str]] = []
    for series in root.iter("{*}ser"):
        name = one_line(" ".join(value.text or "" for value in _iter_in(series, "tx", "{*}v")))
        for part in ("cat", "xVal"):
            points = _points(child_of(series, part))
            if points and points not in categories[-1:]:
                categories.append(points)
                columns.append(("", points))
        for part in ("val", "yVal", "bubbleSize"):
            points = _points(child_of(series, part))
            if points or (part == "val" and name):
                columns.append((name, points))
    return columns


def _dimensions(root: Element) -> list[tuple[str, dict[int, str]]]:
    """Return the columns of the newer kind of charts, such as waterfalls."""
    names = [
        one_line(" ".join(v.text or "" for v in _iter_in(series, "tx", "{*}v"))) for series in root.iter("{*}series")
    ]
    columns: list[tuple[str, dict[int, str]]] = []
    for dimension in root.iter("{*}strDim", "{*}numDim"):
        is_value = local_name(dimension) == "numDim"
        points = {
            as_number(point.get("idx")): shown_number(one_line(point.text or "")) for point in dimension.iter("{*}pt")
        }
        columns.append((names.pop(0) if is_value and names else "", points))
    return columns


def _iter_in(element: Element, name: str, wanted: str) -> Iterator[Element]:
    child = child_of(element, name)
    return iter(()) if child is None else child.iter(wanted)


def _points(element: Element | None) -> dict[int, str]:
    """Return the stored values by index; levels of categories are joined, the outer one first."""
    found: dict[int, str] = {}
    for point in () if element is None else element.iter("{*}pt"):
        index = as_number(point.get("idx"))
        value = shown_number(one_line(" ".join(v.text or "" for v in point.iter("{*}v"))))
        if value:
            found[index] = f"{value} {found[index]}" if index in found else value
    return found
