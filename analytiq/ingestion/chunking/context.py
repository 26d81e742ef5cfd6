"""The context of a chunk: its document's title, name and searched metadata, headings, sheet or slide, row and columns.

Pure. The context is embedded before the chunk and searched by keywords beside it; the chunk's text and offsets stay.
What it gains stands in docs/reference/evaluation.md. The title says most, so it stays, and the middle of the path goes
first.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analytiq.inference.tokens import count_tokens, prefix_end, without_surrogates
from analytiq.ingestion.chunking.code_names import CodeNames
from analytiq.ingestion.chunking.row_context import row_context
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import DocumentText, PageSpan

SHARE = 4
"""A context has at most one of so many of its chunk's tokens; the title alone may have TITLE_TOKENS."""
TITLE_TOKENS = 24
MOST_TOKENS = 128
LONGEST_EMBEDDED = 8191
"""Tokens that every provider's models take; a chunk that nearly fills them has no context."""
METADATA_TOKENS = 48
"""Most tokens of the metadata in a context: values such as a customer and a number, not notes."""
ROW_KEY_TOKENS = 24
"""Most tokens of the key of a row that a chunk continues, and of the name of its column."""
HEADER_CHUNK_TOKENS = 256
"""Longest chunk with the names of its columns: in longer ones they only dilute the rows."""
SEPARATOR = " > "
MOST_CHARACTERS = 200
"""Characters of a heading or title: anything longer is a paragraph in large letters."""
MOST_COLUMNS = 30

_BLANKS = re.compile(r"\s+")
_EXTENSION = re.compile(
    r"\.(?:pdf|docx?|dotx?|docm|pptx?|ppsx?|xls[xmb]?|od[tsp]|rtf|x?html?|md|markdown|txt|text|csv|tsv|json|jsonl|ndjson"
    r"|ya?ml|xml|eml|msg|mbox|epub|ipynb|png|jpe?g|gif|tiff?|bmp|webp|svg|zip|tar|gz|tgz|py|m?js|cjs|tsx?|jsx|go|java|rs"
    r"|cs|cpp|cc|c|hpp|h|sql|rb|php|sh|kt|swift|scala|log|ini|toml|cfg|conf|srt|vtt|tex|rst|org|adoc)$",
    re.IGNORECASE,
)
_JOINTS = re.compile(r"(?<=\w)[_\-]+(?=\w)|_+")
_WORDS = re.compile(r"\w{4}|\w+\s+\w+")
_NAME_WORDS = re.compile(r"[^\W_]+")
_WITHIN_NAME = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")
_NOISE = re.compile(
    r"microsoft\s*®?\s*(?:office\s*)?(?:word|excel|powerpoint|visio)\s*-.*"
    r"|.*\.(?:docx?|dotx?|pdf|pptx?|xlsx?|odt|ods|odp|rtf|indd|qxd|tex|dvi|html?|txt|md|eps|ai|cdr|pages|wpd)"
    r"|(?:untitled|no title|title|titel|document|dokument|doc|presentation|präsentation|powerpoint[ -](?:presentation"
    r"|präsentation)|slide|folie|book|mappe|workbook|scan|scanned document|image|img|dsc|page|layout|template|new)"
    r"[\s_\-]*(?:document)?[\s_\-]*\(?\d*\)?"
    r"|[\W\d_]*"
    r"|[0-9a-f\-]{16,}",
    re.IGNORECASE,
)
"""Titles that name a program, a file, a kind or nothing."""


@dataclass(frozen=True, slots=True)
class ChunkContext:
    """The context of a chunk.

    Attributes:
        text: searched by keywords, read by rerankers and shown; "" for none.
        embedded: the text as it is embedded before the chunk, without a name that only repeats the title.
        heading_path: the headings above the whole chunk, outermost first.
        page_name: of the sheet, slide or chapter that holds the whole chunk, else "".
    """

    text: str = ""
    heading_path: tuple[str, ...] = ()
    page_name: str = ""
    embedded: str = ""


def title_of(stated: str, document_name: str) -> str:
    """Return a document's title: what its file states unless it is noise, and its name without folders and extension.

    The name stays whole, so that codes in it are found, and stands beside its words without `_` and `-`.
    """
    name = _name_of(document_name)
    opened, stated = _clean(_JOINTS.sub(" ", name)), _clean(stated)
    parts = [] if _NOISE.fullmatch(stated) else [stated]
    for part in (name, opened):
        if part and part.casefold() not in (known.casefold() for known in parts):
            parts.append(part)
    if len(parts) > 2 and set(opened.casefold().split()) <= set(stated.casefold().split()):
        parts.remove(opened)
    return ", ".join(parts)


def _name_of(document_name: str) -> str:
    """Return a document's name without folders and extension."""
    return _EXTENSION.sub("", _clean(document_name.rpartition("/")[2])) or _clean(document_name)


def embedded_title_of(stated: str, document_name: str) -> str:
    """Return a document's title for an embedding model: as `title_of`, with each of its words from one source.

    A name that is repeated in two spellings moves the vectors of all chunks towards the document's name: without the
    repetition, nDCG@10 of the made set's misleading questions is .761 instead of .724.
    """
    name, stated = _name_of(document_name), _clean(stated)
    if not stated or _NOISE.fullmatch(stated):
        return name
    return stated if _words(name) <= _words(stated) else f"{stated}, {name}"


class ChunkContexts:
    """The contexts of one document's chunks, each found in O(log blocks) and the tokens of its own path."""

    def __init__(self, document: DocumentText, document_name: str, values: Sequence[str] = ()) -> None:
        """Read the outline of the document; `values`: the searched values of its metadata."""
        self._text = document.text
        self._blocks = document.blocks
        self._starts = [block.start for block in document.blocks]
        self._title = _cut(title_of(document.title, document_name))
        self._embedded_title = _cut(embedded_title_of(document.title, document_name))
        self._metadata = _cut(" | ".join(filter(None, map(_clean, values))), METADATA_TOKENS)
        self._stated = _clean(document.title).casefold()
        self._pages = document.pages
        self._page_starts = [page.start for page in document.pages]
        self._outline = _Outline(document)
        self._code_names: dict[int, CodeNames] = {}

    def of(self, start: int, end: int, token_count: int) -> ChunkContext:
        """Return the context of the chunk `text[start:end]`."""
        first, last = self._content(start, end)
        names = self._code_names_above(first, last + 1)
        headings = (*self._outline.above(first, last), *names)
        page_name = self._page_name(first, last)
        path = [_opened(part) if part in names else part for part in headings]
        known = {heading.casefold() for heading in headings}
        if page_name and page_name.casefold() not in known:
            path.insert(0, page_name)
        path = [part for part in path if part.casefold() not in (self._stated, self._title.casefold())]
        room = min(token_count // SHARE, MOST_TOKENS)
        has_room = token_count + MOST_TOKENS + METADATA_TOKENS < LONGEST_EMBEDDED
        more = [self._metadata, *self._of_table(start, end, token_count, room)] if has_room else []
        text, embedded = (
            "\n".join(filter(None, (_fitted(title, path, room) if has_room else "", *more)))
            for title in (self._title, self._embedded_title)
        )
        return ChunkContext(text, headings, page_name, embedded)

    def _content(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last position of the chunk's words, without marks and a heading parted from its text."""
        after, stop = self._block_at(start), bisect_left(self._starts, end)
        if after >= stop:
            return start, max(start, end - 1)
        first = max(start, self._starts[after])
        if self._has_words(start, first):
            first = start
        last = stop - 1
        if self._has_words(self._blocks[last].end, end):
            return first, end - 1
        while last > after and self._blocks[last].kind is BlockKind.HEADING:
            last -= 1
        return first, max(first, min(end, self._blocks[last].end) - 1)

    def _has_words(self, start: int, end: int) -> bool:
        """Return True if there is text between blocks, and not only the marks of Markdown and numbers of a list."""
        return start < end and _WORDS.search(self._text, start, end) is not None

    def _block_at(self, position: int) -> int:
        """Return the number of the first block that ends after a position."""
        number = bisect_right(self._starts, position) - 1
        return number if number >= 0 and self._blocks[number].end > position else number + 1

    def _code_names_above(self, start: int, end: int) -> tuple[str, ...]:
        """Return the names of the definitions that most of a chunk of code is in."""
        number = self._block_at(start)
        if number >= len(self._blocks) or self._blocks[number].kind is not BlockKind.CODE:
            return ()
        block = self._blocks[number]
        if not block.language or not block.start <= start < end <= block.end:
            return ()
        if number not in self._code_names:
            code = self._text[block.start : block.end]
            self._code_names[number] = CodeNames(code, block.language, start=block.start)
        return tuple(_clean(name) for name in self._code_names[number].above(start, end))

    def _page_name(self, first: int, last: int) -> str:
        page = self._page_at(first)
        return _clean(page.name) if page is not None and page is self._page_at(last) else ""

    def _page_at(self, position: int) -> PageSpan | None:
        number = bisect_right(self._page_starts, position) - 1
        return self._pages[number] if number >= 0 else None

    def _of_table(self, start: int, end: int, token_count: int, room: int) -> Iterator[str]:
        """Yield the row's key for a chunk that continues a row, and the columns for one that does not name them."""
        number = self._block_at(start)
        if number >= len(self._blocks) or self._blocks[number].start >= end:
            return
        table = self._blocks[number].table
        if table is None:
            return
        row = row_context(self._text, table, start)
        if row is not None and (key := _cut(_clean(row.key), ROW_KEY_TOKENS)):
            column = _cut(_clean(row.column), ROW_KEY_TOKENS)
            yield f"{key}; {column}" if column else key
        if token_count <= HEADER_CHUNK_TOKENS and (row is None or not row.names_columns):
            columns = self._columns(table, start, end)
            if columns and count_tokens(columns) <= max(room, TITLE_TOKENS):
                yield columns

    def _columns(self, table: TableShape, start: int, end: int) -> str:
        """Return the names of the columns, unless the chunk has most of them."""
        names = [_clean(name) for name in table.header[:MOST_COLUMNS] if name.strip()]
        shown = self._text[start:end].casefold()
        if not names or 2 * sum(name.casefold() in shown for name in names) >= len(names):
            return ""
        return " | ".join(names)


class _Outline:
    """The headings of a document as a tree in the order of the text.

    The headings above a range are those above both its ends: every node between the two lies below their last common
    one. A page with a name begins an outline of its own, since a slide is not part of the one before.
    """

    def __init__(self, document: DocumentText) -> None:
        self._starts: list[int] = []
        self._headings: list[str] = []
        self._parents: list[int] = []
        open_nodes: list[tuple[int, int]] = []
        named = [page.start for page in document.pages if page.name]
        headings = [block for block in document.blocks if block.kind is BlockKind.HEADING]
        places: list[tuple[int, Block | None]] = [(start, None) for start in named]
        places = sorted([*places, *((block.start, block) for block in headings)], key=_order)
        for start, block in places:
            level = 0 if block is None else max(1, block.level)
            while open_nodes and open_nodes[-1][0] >= level:
                open_nodes.pop()
            self._starts.append(start)
            self._headings.append("" if block is None else _heading(document.text, block))
            self._parents.append(open_nodes[-1][1] if open_nodes else -1)
            open_nodes.append((level, len(self._starts) - 1))

    def above(self, first: int, last: int) -> list[str]:
        """Return the headings above both positions, outermost first."""
        above_last = set(self._path(last))
        path = [node for node in self._path(first) if node in above_last and self._headings[node]]
        return [self._headings[node] for node in reversed(path)]

    def _path(self, position: int) -> list[int]:
        """Return the nodes above a position, innermost first."""
        node = bisect_right(self._starts, position) - 1
        path: list[int] = []
        while node >= 0:
            path.append(node)
            node = self._parents[node]
        return path


def _order(place: tuple[int, Block | None]) -> tuple[int, bool]:
    return place[0], place[1] is not None


def _heading(text: str, block: Block) -> str:
    return _clean(text[block.start : min(block.end, block.start + MOST_CHARACTERS)])


def _opened(name: str) -> str:
    """Return the name of a definition, and beside it its words: a model knows "parcel" and not "ParcelTracker"."""
    words = " ".join(_WITHIN_NAME.sub(" ", name).split())
    return name if words == name else f"{name}, {words.lower()}"


def _words(text: str) -> set[str]:
    return set(_NAME_WORDS.findall(text.casefold()))


def _clean(text: str) -> str:
    return _BLANKS.sub(" ", without_surrogates(text[:MOST_CHARACTERS])).strip()


def _cut(text: str, most_tokens: int = TITLE_TOKENS) -> str:
    cut, room = text, most_tokens
    while cut and room > 0:
        cut = text[: prefix_end(text, 0, len(text), room)].rstrip()
        # Without the white space that ended it, the same words can have more tokens.
        if count_tokens(cut) <= most_tokens:
            break
        room -= 1
    return cut


def _fitted(title: str, path: Sequence[str], room: int) -> str:
    """Join title and path within `room` tokens: the middle goes first, then the last heading, the title never."""
    parts = [part for part in (title, *path) if part]
    while len(parts) > 1 and count_tokens(SEPARATOR.join(parts)) > max(room, TITLE_TOKENS):
        del parts[len(parts) // 2]
    # A heading without a title before it may be too long by itself.
    return _cut(SEPARATOR.join(parts), max(room, TITLE_TOKENS))
