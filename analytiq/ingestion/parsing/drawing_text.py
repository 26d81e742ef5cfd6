"""DrawingML: the words of shapes, which presentations and sheets share."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from zipfile import ZipFile

from lxml import etree

from analytiq.ingestion.parsing.open_xml import Relation
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import Element

_DEEPEST_GROUP = 50
_SHAPES = ("{*}sp", "{*}cxnSp", "{*}pic", "{*}graphicFrame", "{*}grpSp", "{*}AlternateContent")
_FILE_NAME = re.compile(r"\S*\.\w{2,5}|(?i:[\w-]+(?: \d+|(?<=[\w-]\d))|image|picture|bild|grafik|logo|photo|img[\w-]*)")
_MACHINE_NOTE = re.compile(
    r"\s*(Description automatically generated.*|Automatisch generierte Beschreibung.*)$", re.DOTALL
)


def visible_root(root: Element) -> Element:
    """Return a part's root without the fallbacks for older programs: they repeat their alternative, or excuse it."""
    for alternatives in list(root.iter("{*}AlternateContent")):
        choices = list(alternatives.iterchildren("{*}Choice", "{*}Fallback"))
        for unused in choices[1:]:
            alternatives.remove(unused)
    return root


def hidden_texts(tree: Element) -> Iterator[str]:
    """Yield the texts of shapes that the author hid."""
    for properties in tree.iter("{*}cNvPr"):
        holder = properties.getparent()
        shape = None if holder is None else holder.getparent()
        if shape is not None and is_hidden(shape):
            text = one_line(" ".join(text for _, text in paragraphs(shape)))
            if text:
                yield text


def shapes(tree: Element, depth: int = 0) -> Iterator[Element]:
    """Yield the shapes below an element, with those of a group in its place; hidden ones are left out."""
    for child in tree.iterchildren(*_SHAPES):
        name = etree.QName(child).localname
        if name == "AlternateContent":
            # Two forms of one shape; the compatible one is often a picture.
            choice = next(child.iterchildren("{*}Choice", "{*}Fallback"), None)
            if choice is not None:
                yield from shapes(choice, depth)
        elif is_hidden(child):
            continue
        elif name == "grpSp":
            if depth < _DEEPEST_GROUP:
                yield from shapes(child, depth + 1)
        else:
            yield child


def is_hidden(shape: Element) -> bool:
    """Return True if the author hid the shape."""
    properties = _properties(shape)
    return properties is not None and properties.get("hidden") in {"1", "true"}


def described(shape: Element) -> str:
    """Return a picture's description by its author; empty if it is the name of a file or a program's own."""
    properties = _properties(shape)
    if properties is None:
        return ""
    text = _MACHINE_NOTE.sub("", one_line(properties.get("descr") or ""))
    return "" if _FILE_NAME.fullmatch(text) else text


def write_picture(builder: TextBuilder, archive: ZipFile, related: Mapping[str, Relation], shape: Element) -> None:
    """Place the picture of a shape by the relations of its part."""
    for fill in shape.iterfind("{*}blipFill/{*}blip"):
        relation = next((related[value] for value in fill.attrib.values() if value in related), None)
        if relation is not None and relation.kind == "image":
            part = relation.part
            builder.figure(part, partial(archive.read, part))


def _properties(shape: Element) -> Element | None:
    return next((part for holder in shape.iterchildren() for part in holder.iterchildren("{*}cNvPr")), None)


def paragraphs(element: Element) -> Iterator[tuple[Element, str]]:
    """Yield the nonempty paragraphs below an element with their text, in order."""
    for paragraph in element.iter("{*}p"):
        text = "".join(_characters(paragraph)).strip()
        if text:
            yield paragraph, text


def _characters(paragraph: Element) -> Iterator[str]:
    for element in paragraph.iter("{*}t", "{*}br", "{*}tab"):
        yield (element.text or "") if etree.QName(element).localname == "t" else " "
