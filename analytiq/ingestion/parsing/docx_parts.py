"""The parts of a Word document beside its body: headers, footers, comments, text boxes without a fallback."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from zipfile import ZipFile

from lxml import etree

from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

MAIN_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
"""Namespaces of transitional documents, which Word writes, and strict ones, which the standard prefers."""
COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"

_HEADER = re.compile(r"word/header\d*\.xml")
_FOOTER = re.compile(r"word/footer\d*\.xml")


@dataclass(frozen=True, slots=True)
class SideTexts:
    """The distinct texts, each once, in the order of the parts."""

    headers: tuple[str, ...]
    footers: tuple[str, ...]
    comments: tuple[str, ...]
    text_boxes: tuple[str, ...]


def read_side_texts(archive: ZipFile) -> SideTexts:
    """Read them from a package opened by `open_package`."""
    names = sorted(archive.namelist())
    return SideTexts(
        headers=_distinct(_part_text(archive, name) for name in names if _HEADER.fullmatch(name)),
        footers=_distinct(_part_text(archive, name) for name in names if _FOOTER.fullmatch(name)),
        comments=_distinct(_comments(archive, names)),
        text_boxes=_distinct(_lost_text_boxes(archive, names)),
    )


def _distinct(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _parsed(archive: ZipFile, name: str) -> Element:
    return parsed_xml(archive.read(name))


def _part_text(archive: ZipFile, name: str) -> str:
    return _text_of(_parsed(archive, name))


def _comments(archive: ZipFile, names: list[str]) -> Iterator[str]:
    if "word/comments.xml" not in names:
        return
    for element in _parsed(archive, "word/comments.xml"):
        text = _text_of(element)
        if text:
            authors = (element.get(f"{{{space}}}author") for space in MAIN_NAMESPACES)
            author = next(filter(None, authors), None)
            yield f"{author}: {text}" if author else text


def _lost_text_boxes(archive: ZipFile, names: list[str]) -> Iterator[str]:
    """Yield text boxes in the modern half of an alternative whose old half, which mammoth reads, has none."""
    if "word/document.xml" not in names:
        return
    for alternative in _parsed(archive, "word/document.xml").iter(f"{{{COMPATIBILITY}}}AlternateContent"):
        choice = alternative.find(f"{{{COMPATIBILITY}}}Choice")
        fallback = alternative.find(f"{{{COMPATIBILITY}}}Fallback")
        if choice is None or (fallback is not None and _text_of(fallback)):
            continue
        yield _text_of(choice)


def _text_of(root: Element) -> str:
    """Return the text of an element's paragraphs, a line each; deleted text is in other elements and is omitted."""
    lines: list[str] = []
    line: list[str] = []
    for element in root.iter("{*}p", "{*}t", "{*}tab", "{*}br"):
        name = etree.QName(element).localname
        if name == "p":
            lines.append("".join(line))
            line = []
        elif name == "t" and not _in_fallback(element, root):
            line.append(element.text or "")
        elif name in {"tab", "br"}:
            line.append(" ")
    lines.append("".join(line))
    return "\n".join(stripped for text in lines if (stripped := text.strip()))


def _in_fallback(element: Element, root: Element) -> bool:
    """Return True if the text is the second, compatible copy of a text in the first one."""
    for ancestor in element.iterancestors():
        if ancestor is root:
            return False
        if ancestor.tag == f"{{{COMPATIBILITY}}}Fallback":
            return True
    return False
