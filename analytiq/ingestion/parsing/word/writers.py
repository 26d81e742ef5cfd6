"""Destinations of the blocks of a Word document: the pages of its text, or to the lines of a cell, a note, a header."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.sheet_text import one_line
from analytiq.ingestion.parsing.table_lines import HeaderLine, TableLine, TitleLine
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedPage

PictureFile = tuple[str, Callable[[], bytes]]
"""The name of a picture's part, and a function that reads it."""


class PageStart:
    """A page that begins between two rows of a table."""


PAGE_START = PageStart()
TablePart = TableLine | PageStart


class Writer(Protocol):
    """The receiver of blocks."""

    def heading(self, text: str, level: int) -> None:
        """Take a heading."""
        ...

    def list_item(self, text: str, *, depth: int, marker: str) -> None:
        """Take an item of a list."""
        ...

    def block(self, text: str, kind: BlockKind) -> None:
        """Take a paragraph, a quotation, code, a caption, a note, furniture or the description of a picture."""
        ...

    def table(self, lines: Iterable[TablePart]) -> None:
        """Take a table."""
        ...

    def figure(self, name: str, read: Callable[[], bytes]) -> None:
        """Take a picture of the part `name`."""
        ...

    def page_break(self, *, is_rendered: bool) -> None:
        """Begin a page; a rendered break behind another one is the same."""
        ...


class PageWriter:
    """Writes pages with a `TextBuilder`."""

    def __init__(self, max_pages: int) -> None:
        self._builder = TextBuilder()
        self._pages: list[ParsedPage] = []
        self._max_pages = max_pages
        self._is_fresh = True

    def heading(self, text: str, level: int) -> None:
        """Write a heading."""
        self._is_fresh = False
        self._builder.heading(text, level)

    def list_item(self, text: str, *, depth: int, marker: str) -> None:
        """Write an item of a list."""
        self._is_fresh = False
        self._builder.list_item(text, depth=depth, marker=marker)

    def block(self, text: str, kind: BlockKind) -> None:
        """Write another block."""
        self._is_fresh = False
        match kind:
            case BlockKind.QUOTE:
                self._builder.quote(text)
            case BlockKind.CODE:
                self._builder.code(text)
            case _:
                self._builder.paragraph(text, kind=kind)

    def figure(self, name: str, read: Callable[[], bytes]) -> None:
        """Place a picture."""
        self._builder.figure(name, read)

    def table(self, lines: Iterable[TablePart]) -> None:
        """Write a table; on another page it goes on under the same names, which are not repeated."""
        group: list[TableLine] = []
        names: tuple[str, ...] = ()
        for line in lines:
            if isinstance(line, PageStart):
                self._rows(group)
                self.page_break(is_rendered=True)
                group = [HeaderLine("", names)] if names else []
                continue
            if isinstance(line, HeaderLine):
                names = line.names
            elif isinstance(line, TitleLine):
                names = ()
            group.append(line)
        self._rows(group)

    def _rows(self, group: list[TableLine]) -> None:
        if any(line.text for line in group):
            self._is_fresh = False
            self._builder.table(group)

    def page_break(self, *, is_rendered: bool) -> None:
        """Begin a page."""
        if is_rendered and self._is_fresh:
            return
        if len(self._pages) + 1 >= self._max_pages:
            raise LimitExceededError(f"The document has more than {self._max_pages} pages: split it.")
        self._pages.append(self._builder.page(len(self._pages) + 1))
        self._is_fresh = True

    def texts(self) -> Iterator[str]:
        """Yield what was written so far."""
        yield from (page.text for page in self._pages)
        yield from self._builder.texts()

    def finish(self) -> tuple[ParsedPage, ...]:
        """Return the pages; an empty one at the end is left out."""
        if not self._pages or not self._builder.is_empty:
            self._pages.append(self._builder.page(len(self._pages) + 1))
        return tuple(self._pages)


class LineWriter:
    """Collects blocks as plain lines, and counts the pages that begin among them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.figures: list[PictureFile] = []
        self.leading_breaks = 0
        self.breaks = 0

    @property
    def cell(self) -> str:
        """Return the lines as one."""
        return one_line(" ".join(self.lines))

    def heading(self, text: str, level: int) -> None:
        """Collect a heading."""
        self._add(text)

    def list_item(self, text: str, *, depth: int, marker: str) -> None:
        """Collect an item of a list, with its number and without its bullet."""
        self._add(text if marker == "-" else f"{marker} {text}")

    def block(self, text: str, kind: BlockKind) -> None:
        """Collect another block."""
        self._add(text)

    def figure(self, name: str, read: Callable[[], bytes]) -> None:
        """Collect a picture, to be placed behind the table around it."""
        self.figures.append((name, read))

    def table(self, lines: Iterable[TablePart]) -> None:
        """Collect the rows of a table, set apart by strokes."""
        texts = (line.text for line in lines if not isinstance(line, PageStart))
        self._add(" / ".join(text for text in texts if text))

    def page_break(self, *, is_rendered: bool) -> None:
        """Count a break."""
        if self.lines:
            self.breaks += 1
        else:
            self.leading_breaks = 1

    def _add(self, text: str) -> None:
        text = text.strip()
        if text:
            self.lines.append(text)
