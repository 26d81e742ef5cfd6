"""Diagrams (SmartArt) as lists: each point below the point that holds it."""

from collections import defaultdict
from collections.abc import Iterator

from analytiq.ingestion.parsing.drawing_text import paragraphs
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element

_NO_PART = "parOf"


def write_diagram(builder: TextBuilder, root: Element) -> None:
    """Add a diagram's points as items of a list."""
    points = list(root.iter("{*}pt"))
    if not points:
        for _, text in paragraphs(root):
            builder.paragraph(text)
        return
    texts = {point.get("modelId", ""): one_line(" ".join(text for _, text in paragraphs(point))) for point in points}
    roots = [point.get("modelId", "") for point in points if point.get("type") == "doc"]
    for depth, point in _in_order(root, [*roots, *texts]):
        builder.list_item(texts.get(point, ""), depth=max(depth, 1))


def _in_order(root: Element, starts: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each point once with its depth: those below the first start, then any that no connection reaches."""
    below: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for connection in root.iter("{*}cxn"):
        if connection.get("type", _NO_PART) == _NO_PART:
            order = connection.get("srcOrd", "0")
            place = int(order) if order.isdecimal() else 0
            below[connection.get("srcId", "")].append((place, connection.get("destId", "")))
    seen: set[str] = set()
    for start in starts:
        waiting = [(0, start)]
        while waiting:
            depth, point = waiting.pop()
            if point not in seen:
                seen.add(point)
                yield depth, point
                waiting += ((depth + 1, child) for _, child in sorted(below[point], reverse=True))
