"""The reading of a whole Word document: its stories in order, and the words that they lack."""

import io
import re
from collections.abc import Iterator
from zipfile import ZipFile

from analytiq.ingestion.parsing.archive import check_members
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.completeness import SourceWords, lost_pieces, squeezed
from analytiq.ingestion.parsing.word.body import BlockReader, Source, stories
from analytiq.ingestion.parsing.word.graphics import graphic_pieces
from analytiq.ingestion.parsing.word.inline import InlineReader, Sight
from analytiq.ingestion.parsing.word.names import attribute, child_of
from analytiq.ingestion.parsing.word.notes import Notes, notes_of
from analytiq.ingestion.parsing.word.numbering import Numbering
from analytiq.ingestion.parsing.word.package import WordPackage
from analytiq.ingestion.parsing.word.stream import body_parts
from analytiq.ingestion.parsing.word.styles import Styles
from analytiq.ingestion.parsing.word.tables import TableReader
from analytiq.ingestion.parsing.word.visible_words import TextNodes
from analytiq.ingestion.parsing.word.writers import PageWriter, Writer
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument

_DEEPEST_NESTING = 3
_LEFTOVERS_HEADING = "Text without a place"
_GRAPHICS = ("charts", "diagrams")
_FURNITURE = ("header", "footer")
_NOTES = ("footnotes", "endnotes")
_FILE_LIKE_TITLE = re.compile(
    r"microsoft word\b.*|(?:word )?document ?\d*|untitled.*|dokument ?\d*|.*\.(?:docx?|docm|dotx?|rtf|pdf|odt|wpd)"
    r"|powerpoint presentation|title|template|\W*",
    re.IGNORECASE,
)
_LONGEST_TITLE = 500
_FEW_PIECES = 50
_LEAST_COMPARED = 20
"""Characters of a piece from which it cannot be in a text by chance."""


class DocumentReader:
    """Reads a package opened by `open_package`."""

    def __init__(self, package: WordPackage, options: ParseOptions, *, depth: int = 0) -> None:
        self._package = package
        self._options = options
        self._depth = depth
        styles = Styles(package.root(package.part("styles")))
        sight = Sight(options.word_changes)
        notes = Notes(
            {
                "footnote": notes_of(package.root(package.part("footnotes")), "footnote"),
                "endnote": notes_of(package.root(package.part("endnotes")), "endnote"),
            }
        )
        self._source = Source(
            package=package,
            styles=styles,
            numbering=Numbering(package.root(package.part("numbering")), styles.numbering_refs),
            notes=notes,
            sight=sight,
            inline=InlineReader(styles, notes, sight),
            part=package.main,
            read_nested=self._read_nested,
        )
        self._words = SourceWords()

    def read(self) -> ParsedDocument:
        """Return its pages: headers, body with its notes, comments, footers."""
        writer = PageWriter(self._options.max_pages)
        self._furniture(writer, "header")
        self.read_body(writer)
        self._comments(writer)
        self._furniture(writer, "footer")
        warnings = [*self._append_lost(writer), *self._hidden()]
        return ParsedDocument(writer.finish(), tuple(warnings), self._title())

    def read_body(self, writer: Writer) -> None:
        """Read the body with its notes, and the charts and diagrams that stand nowhere in it."""
        nodes = self._text_nodes()
        reader = BlockReader(self._source, writer, is_on_page=True)
        table: TableReader | None = None
        with self._package.open(self._package.main) as file:
            for kind, element in body_parts(file):
                if kind == "table_end":
                    reader.end_table(table or reader.table_reader())
                    table = None
                elif kind == "table_child":
                    if table is None:
                        reader.finish()
                        table = reader.table_reader()
                    reader.take_of_table(table, element)
                else:
                    reader.block(element)
                if kind != "table_end":
                    for piece in nodes.pieces_of(element, is_on_page=kind == "block"):
                        self._words.add(piece)
        reader.finish()
        self._notes(reader)
        self._loose_graphics(reader)

    def _notes(self, reader: BlockReader) -> None:
        reader.notes()
        for mark, element in self._source.notes.take("endnote"):
            reader.note(mark, element, part="endnotes")
        for element in self._source.notes.take_unmarked():
            reader.note("", element, part="footnotes")

    def _loose_graphics(self, reader: BlockReader) -> None:
        for name, kind in self._graphics():
            if name not in self._source.read_parts:
                reader.graphic(name, kind)

    def _graphics(self) -> Iterator[tuple[str, str]]:
        for name in self._package.parts_below(*_GRAPHICS):
            base = name.rpartition("/")[2]
            if base.startswith("chart"):
                yield name, "chart"
            elif base.startswith("data"):
                yield name, "diagram"

    def _furniture(self, writer: PageWriter, kind: str) -> None:
        """Write the distinct headers or footers of all sections."""
        reader = BlockReader(self._source, writer)
        texts = ("\n".join(reader.lines(root, name)) for name, root in stories(self._package, kind))
        for text in dict.fromkeys(texts):
            if text:
                writer.block(text, BlockKind.FURNITURE)

    def _comments(self, writer: PageWriter) -> None:
        if not self._options.word_comments:
            return
        reader = BlockReader(self._source, writer)
        texts: list[str] = []
        for name, root in stories(self._package, "comments"):
            for comment in root.iterchildren("{*}comment"):
                text = "\n".join(reader.lines(comment, name))
                author = attribute(comment, "author")
                texts.append(f"{author}: {text}" if author and text else text)
        if any(texts):
            writer.heading("Comments", 2)
        for text in texts:
            writer.block(text, BlockKind.PARAGRAPH)

    def _append_lost(self, writer: PageWriter) -> Iterator[str]:
        """Append the visible text that the pages lack, and yield a warning with its extent."""
        for piece in self._other_pieces():
            self._words.add(piece)
        lost = self._words.lost(writer.texts())
        count = lost.total()
        if not count:
            return
        pieces = [*lost_pieces(self._all_pieces(), lost)]
        if len(pieces) <= _FEW_PIECES:
            text = squeezed("".join(writer.texts()))
            pieces = [piece for piece in pieces if not _is_within(squeezed(piece), text)]
        if not pieces:
            return
        writer.heading(_LEFTOVERS_HEADING, 2)
        for piece in pieces:
            writer.block(piece, BlockKind.PARAGRAPH)
        yield f"Words without a place in the document's structure: {count}. They are at the end of the text."

    def _all_pieces(self) -> Iterator[str]:
        nodes = self._text_nodes()
        with self._package.open(self._package.main) as file:
            for kind, element in body_parts(file):
                if kind != "table_end":
                    yield from nodes.pieces_of(element, is_on_page=kind == "block")
        yield from self._other_pieces()

    def _other_pieces(self) -> Iterator[str]:
        """Yield the visible texts of all parts beside the body."""
        nodes = self._text_nodes()
        for kind in _NOTES if not self._options.word_comments else (*_NOTES, "comments"):
            for _, root in stories(self._package, kind):
                for child in root:
                    if attribute(child, "type") not in {"separator", "continuationSeparator", "continuationNotice"}:
                        yield from nodes.pieces_of(child)
        # A header that every section repeats is written once.
        furniture = (
            "\n".join(nodes.pieces_of(root)) for kind in _FURNITURE for _, root in stories(self._package, kind)
        )
        yield from dict.fromkeys(furniture)
        for name, _ in self._graphics():
            root = self._package.root(name)
            if root is not None:
                yield from graphic_pieces(root)

    def _text_nodes(self) -> TextNodes:
        return TextNodes(self._source.styles, self._options.word_changes)

    def _hidden(self) -> Iterator[str]:
        count = self._source.sight.hidden_words
        if count:
            yield (
                f"{count} hidden words of the document are left out: hidden, white on the page, or of at most one "
                "point. Show the text in Word and upload the document again to include it."
            )

    def _title(self) -> str:
        root = self._package.root("docProps/core.xml")
        stated = child_of(root, "title")
        title = " ".join((stated.text or "").split()) if stated is not None else ""
        if title and len(title) <= _LONGEST_TITLE and not _FILE_LIKE_TITLE.fullmatch(title):
            return title
        return self._source.title[:_LONGEST_TITLE]

    def _read_nested(self, content: bytes, writer: Writer) -> None:
        """Read a Word document within the document."""
        if self._depth >= _DEEPEST_NESTING:
            return
        with ZipFile(io.BytesIO(content)) as archive:
            check_members(archive.infolist())
            DocumentReader(WordPackage(archive), self._options, depth=self._depth + 1).read_body(writer)


def _is_within(piece: str, text: str) -> bool:
    """Return True if the text has the same letters and digits, with other gaps between its words."""
    return len(piece) >= _LEAST_COMPARED and piece in text
