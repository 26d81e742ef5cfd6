"""The text of a page, put together block by block: every parser writes its pages with a `TextBuilder`.

Headings, list items, quotes and code carry the marks of Markdown, which people and language models read as they
are; the range of a block begins behind its mark. Blocks stand apart by an empty line, items of a list by a line end.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from analytiq.ingestion.parsing.figures import figures_wanted
from analytiq.ingestion.parsing.sanitize import sanitize_text
from analytiq.ingestion.parsing.table_lines import HeaderLine, RowLine, TableLine, TitleLine
from analytiq.ingestion.tables.collecting import rows_wanted
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.boxes import Box
from analytiq.models.pictures import Figure
from analytiq.models.text import ParsedPage, TextSource

DEEPEST_LEVEL = 9
_BETWEEN_BLOCKS = "\n\n"


class TextBuilder:
    """Builds one page; `page` returns it and leaves the builder empty for the next."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._figures: list[Figure] = []
        self._length = 0
        self._last: BlockKind | None = None

    @property
    def is_empty(self) -> bool:
        """Return True as long as nothing was added."""
        return not self._parts

    @property
    def text(self) -> str:
        """Return the page's text so far."""
        return "".join(self._parts)

    def heading(self, text: str, level: int, *, box: Box | None = None) -> None:
        """Add a heading of one line; level 1 is the highest."""
        level = min(max(level, 1), DEEPEST_LEVEL)
        self._add(BlockKind.HEADING, " ".join(text.split()), before="#" * level + " ", level=level, box=box)

    def paragraph(self, text: str, *, kind: BlockKind = BlockKind.PARAGRAPH, box: Box | None = None) -> None:
        """Add a paragraph, or another block of words without a mark: caption, footnote, furniture, image."""
        self._add(kind, text, box=box)

    def list_item(self, text: str, *, depth: int = 1, marker: str = "-", box: Box | None = None) -> None:
        """Add an item of a list; `marker` is its bullet or its number as shown, such as `3.` or `(b)`."""
        indent = "  " * (min(max(depth, 1), DEEPEST_LEVEL) - 1)
        self._add(BlockKind.LIST_ITEM, text, before=f"{indent}{marker} ", level=max(depth, 1), box=box)

    def quote(self, text: str, *, box: Box | None = None) -> None:
        """Add a quotation."""
        self._add(BlockKind.QUOTE, text, before="> ", box=box)

    def code(self, text: str, *, language: str = "", box: Box | None = None) -> None:
        """Add code, whose blanks and line ends stay."""
        code = sanitize_text(text).strip("\n").rstrip()
        if code.strip():
            fence = "```" if "```" not in code else "~~~~"
            self._separate(BlockKind.CODE)
            self._write(f"{fence}{language}\n")
            self._append(
                Block(BlockKind.CODE, self._length, self._length + len(code), language=language, box=box), code
            )
            self._write(f"\n{fence}")

    def table(self, lines: Iterable[TableLine], *, box: Box | None = None) -> None:
        """Add a table from its lines; see `analytiq.ingestion.parsing.table_lines`.

        A title above the table is a caption; names of columns that change midway begin another table. A header
        without text gives names to a table that goes on from the page before.
        """
        rows: list[tuple[int, int]] = []
        start, header = self._length, ()
        is_open = False
        collector = rows_wanted()
        if collector is not None:
            collector.begin()

        def close() -> None:
            nonlocal is_open
            if is_open:
                shape = TableShape(tuple(header), tuple(rows))
                self._blocks.append(Block(BlockKind.TABLE, start, self._length, table=shape, box=box))
                rows.clear()
            is_open = False

        for line in lines:
            match line:
                case TitleLine(text):
                    close()
                    header = ()
                    self.paragraph(text, kind=BlockKind.CAPTION)
                    if collector is not None:
                        collector.begin(text)
                case HeaderLine(text, names, goes_on):
                    close()
                    header = names
                    if collector is not None and (goes_on or not text):
                        collector.resume(names)
                    if text:
                        is_open, start = True, self._open_table()
                        self._write(sanitize_text(text))
                case RowLine(text, cells, names):
                    if not is_open:
                        is_open, start = True, self._open_table()
                    elif self._length > start:
                        self._write("\n")
                    begin = self._length
                    self._write(sanitize_text(text))
                    rows.append((begin, self._length))
                    if collector is not None and cells:
                        collector.add(id(self), names, cells, begin, self._length)
        close()

    def figure(self, source: str, read: Callable[[], bytes]) -> None:
        """Place a picture behind the block before, if pictures are to be described.

        Args:
            source: a name of the picture within the document; a source is read once.
            read: returns the picture's file.
        """
        pictures = figures_wanted()
        key = None if pictures is None else pictures.add_figure(source, read)
        if key is not None:
            self._figures.append(Figure(key, self._length))

    def texts(self) -> Iterable[str]:
        """Return the pieces of the page so far; no word goes on from one to the next."""
        return tuple(self._parts)

    def include(self, page: ParsedPage) -> None:
        """Add a page that another builder wrote, its blocks included."""
        if page.text:
            self._separate(BlockKind.PARAGRAPH)
            self._blocks += (block.moved(self._length) for block in page.blocks)
        self._figures += (replace(figure, position=figure.position + self._length) for figure in page.figures)
        self._write(page.text)

    def page(self, page_number: int, *, name: str = "", source: TextSource = TextSource.EMBEDDED) -> ParsedPage:
        """Return the page, and begin another."""
        page = ParsedPage(
            page_number, "".join(self._parts), source, name, tuple(self._blocks), figures=tuple(self._figures)
        )
        collector = rows_wanted()
        if collector is not None:
            collector.end_page(id(self), page_number, name)
        self.__init__()
        return page

    def _open_table(self) -> int:
        self._separate(BlockKind.TABLE)
        return self._length

    def _add(self, kind: BlockKind, text: str, *, before: str = "", level: int = 0, box: Box | None = None) -> None:
        words = sanitize_text(text).strip()
        if not words:
            return
        self._separate(kind)
        self._write(before)
        self._append(Block(kind, self._length, self._length + len(words), level=level, box=box), words)

    def _append(self, block: Block, text: str) -> None:
        self._write(text)
        self._blocks.append(block)

    def _separate(self, kind: BlockKind) -> None:
        if self._parts:
            is_list = kind is self._last is BlockKind.LIST_ITEM
            self._write("\n" if is_list else _BETWEEN_BLOCKS)
        self._last = kind

    def _write(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
