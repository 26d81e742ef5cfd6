"""The body of a Word document, block by block, without the whole tree in memory."""

from collections.abc import Iterator
from typing import IO, Literal, NamedTuple

from lxml import etree

from analytiq.ingestion.parsing.word.names import STRICT, TRANSITIONAL, local_name
from analytiq.ingestion.parsing.xml_part import Element

_BODIES = frozenset({f"{{{TRANSITIONAL}}}body", f"{{{STRICT}}}body"})
_TABLES = frozenset({f"{{{TRANSITIONAL}}}tbl", f"{{{STRICT}}}tbl"})
_LANDMARKS = tuple(
    f"{{{space}}}{name}" for space in (TRANSITIONAL, STRICT) for name in ("p", "tbl", "tr", "sdt", "tblGrid", "body")
)
"""Elements whose end is reported. What else stands among them is read before the next of them."""


class BodyPart(NamedTuple):
    """A block of the body; or a child of a table of the body, and then the end of that table."""

    kind: Literal["block", "table_child", "table_end"]
    element: Element


def body_parts(file: IO[bytes]) -> Iterator[BodyPart]:
    """Yield the parts of the body in order; each is emptied when the next is asked for.

    Raises:
        etree.XMLSyntaxError: damaged, or beyond lxml's own limits of depth and size.
    """
    events = etree.iterparse(
        file, events=("end",), tag=_LANDMARKS, resolve_entities=False, no_network=True, load_dtd=False
    )
    table: Element | None = None
    for _, element in events:
        if element.tag in _BODIES:
            yield from (BodyPart("block", child) for child in _rest(element))
            continue
        parent = element.getparent()
        if parent is None:
            continue
        if parent.tag in _BODIES:
            yield from _blocks(parent, element, table)
            table = None
        elif parent.tag in _TABLES and (above := parent.getparent()) is not None and above.tag in _BODIES:
            if table is not parent:
                yield from (BodyPart("block", child) for child in _before(above, parent))
                table = parent
            yield from (BodyPart("table_child", child) for child in _up_to(parent, element))


def _blocks(body: Element, last: Element, table: Element | None) -> Iterator[BodyPart]:
    for child in _up_to(body, last):
        if child is table:
            yield from (BodyPart("table_child", one) for one in _rest(child))
            yield BodyPart("table_end", child)
        else:
            yield BodyPart("block", child)


_READ = "analytiq-read"
"""The attribute of an element that was read and emptied; it stays until the parser has left it."""


def _up_to(parent: Element, last: Element) -> Iterator[Element]:
    yield from _before(parent, last)
    yield last
    _empty(last)


def _before(parent: Element, last: Element) -> Iterator[Element]:
    """Yield the unread children before one that the parser still works on, and remove them."""
    while (first := next(iter(parent))) is not last:
        if first.get(_READ) is None if local_name(first) else False:
            yield first
        parent.remove(first)


def _rest(parent: Element) -> Iterator[Element]:
    for child in parent:
        if local_name(child) and child.get(_READ) is None:
            yield child


def _empty(element: Element) -> None:
    element.clear(keep_tail=True)
    element.set(_READ, "")
