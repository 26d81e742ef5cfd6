"""The words of Open XML and OpenDocument parts, collected without the parsers, to find what a parser lost."""

from collections.abc import Iterable, Iterator
from zipfile import ZipFile

from analytiq.ingestion.parsing.completeness import lost_pieces, lost_words
from analytiq.ingestion.parsing.open_xml import relations
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

_ELSEWHERE = frozenset(
    {"slideLayout", "slideMaster", "notesMaster", "handoutMaster", "theme", "themeOverride", "tags", "commentAuthors"}
    | {"authors", "slide", "table", "pivotTable", "person", "chartStyle", "chartColorStyle", "diagramDrawing"}
    | {"diagramLayout", "diagramQuickStyle", "diagramColors", "customXml", "tableStyles", "queryTable"}
)
"""Kinds of related parts whose words are repeated, of the layout, or of other pages."""
_MOST_PARTS = 1_000
_SKIPPED = frozenset({"Fallback", "rPh", "txEffectClr"})
_PLACES = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
_TRUE = frozenset({"1", "true", "on"})


def related_pieces(archive: ZipFile, part: str, root: Element | None = None) -> Iterator[str]:
    """Yield the paragraphs of a part and of the parts that it needs, each part once.

    Args:
        archive: the package.
        part: the name of the part.
        root: the part without what is hidden; None to read the part itself.
    """
    waiting, seen = [part], {part}
    while waiting and len(seen) <= _MOST_PARTS:
        current = waiting.pop()
        if current.endswith(".xml"):
            given = root if current == part else None
            yield from pieces(parsed_xml(archive.read(current)) if given is None else given)
        for relation in relations(archive, current):
            if relation.kind not in _ELSEWHERE and relation.part not in seen and relation.part.endswith(".xml"):
                seen.add(relation.part)
                waiting.append(relation.part)


def pieces(root: Element) -> Iterator[str]:
    """Yield the text of each visible paragraph of DrawingML, and of each older comment, in order."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        name = _name(element)
        if name in _SKIPPED or _is_hidden(element):
            continue
        if name in {"p", "text"}:
            runs = (run.text or "" if _name(run) == "t" else " " for run in element.iter("{*}t", "{*}br", "{*}tab"))
            yield "".join(runs) or (element.text or "")
        else:
            waiting.extend(reversed(element))


def _is_hidden(element: Element) -> bool:
    if element.get("hMerge") in _TRUE or element.get("vMerge") in _TRUE:
        return True
    properties = element.find("{*}cNvPr")  # of the shape that holds this element
    if properties is not None and properties.get("hidden") in _TRUE:
        return True
    for holder in element.iterchildren("{*}nvSpPr", "{*}nvPicPr", "{*}nvGraphicFramePr", "{*}nvGrpSpPr"):
        own = holder.find("{*}cNvPr")
        place = holder.find("{*}nvPr/{*}ph")
        if own is not None and own.get("hidden") in _TRUE:
            return True
        if place is not None and place.get("type") in _PLACES:
            return True
    return False


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def append_lost(builder: TextBuilder, source: Iterable[str]) -> int:
    """Add the pieces whose words the page lacks, and return the number of those words."""
    collected = list(source)
    lost = lost_words(collected, [builder.text])
    count = lost.total()
    for piece in lost_pieces(collected, lost):
        builder.paragraph(piece)
    return count
