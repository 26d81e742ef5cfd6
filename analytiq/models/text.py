"""Extracted text: one string per document, with the range of each page."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from analytiq.models.blocks import Block, BlockKind, sound_blocks
from analytiq.models.flaws import Flaw, sound_flaws
from analytiq.models.parts import FoundPart
from analytiq.models.pictures import Figure, Picture


class TextSource(StrEnum):
    """The source of a page's text."""

    EMBEDDED = "embedded"
    OCR = "ocr"
    NEEDS_OCR = "needs_ocr"
    """The page is an image, and no OCR language data is installed."""
    VISION = "vision"
    """Read from the page's image by the organization's vision model."""


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One page from a parser, numbered from 1. Formats without pages have a single one.

    Attributes:
        name: of the sheet, slide or chapter, "" if it has none.
        blocks: ranges of `text`, in order.
        flaws: ranges of `text`, in order, as the quality gate finds them.
        figures: of the page, if the parser was asked for them.
        scan: key of the page's picture among the document's, if OCR has read it badly and another reading is wanted.
    """

    page_number: int
    text: str
    source: TextSource = TextSource.EMBEDDED
    name: str = ""
    blocks: tuple[Block, ...] = ()
    flaws: tuple[Flaw, ...] = ()
    figures: tuple[Figure, ...] = ()
    scan: str = ""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The output of a parser: pages in order, warnings for the document's owner, and the title that the file states.

    `parts` are the files in it that become documents of their own; see `analytiq.ingestion.parsing.parts`.
    `pictures`: those of figures and badly read pages, by key.
    """

    pages: tuple[ParsedPage, ...]
    warnings: tuple[str, ...] = ()
    title: str = ""
    parts: tuple[FoundPart, ...] = ()
    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture])


@dataclass(frozen=True, slots=True)
class PageSpan:
    """The range of page `page_number` (from 1) in a document's text: `text[start:end]`, in characters."""

    page_number: int
    start: int
    end: int
    source: TextSource = TextSource.EMBEDDED
    name: str = ""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's whole text; `pages` are in order, do not overlap, and are joined by PAGE_SEPARATOR.

    `blocks` and `flaws` are in order and do not overlap; a text extracted by an older release has none.
    """

    text: str
    pages: tuple[PageSpan, ...]
    blocks: tuple[Block, ...] = ()
    title: str = ""
    flaws: tuple[Flaw, ...] = ()

    @property
    def is_passage(self) -> bool:
        """Return True if the text is to be one chunk, whatever the sizes of the knowledge base."""
        return [block.kind for block in self.blocks] == [BlockKind.PASSAGE]

    @property
    def has_tables(self) -> bool:
        """Return True if a table names several columns; those on pages that were read from pictures do not count."""
        starts = [page.start for page in self.pages]
        for block in self.blocks:
            shape = block.table
            if shape is not None and len(shape.header) > 1 and any(shape.header) and shape.rows:
                page = self.pages[max(bisect_right(starts, block.start) - 1, 0)]
                if page.source is TextSource.EMBEDDED:
                    return True
        return False

    def beginning(self, length: int) -> "DocumentText":
        """Return the first `length` characters with their pages and blocks."""
        pages = tuple(replace(page, end=min(page.end, length)) for page in self.pages if page.start <= length)
        blocks = tuple(block.before(length) for block in self.blocks if block.start < length)
        flaws = tuple(replace(flaw, end=min(flaw.end, length)) for flaw in self.flaws if flaw.start < length)
        return DocumentText(self.text[:length], pages, blocks, self.title, flaws)


@dataclass(frozen=True, slots=True)
class CurrentTexts:
    """The hashes of documents' present texts, by document id."""

    hashes: Mapping[str, str] = field(default_factory=dict[str, str])

    def is_current(self, document_id: str, text_hash: str | None) -> bool | None:
        """Compare the text hash of stored offsets with the present one; return None if it was not recorded."""
        if text_hash is None:
            return None
        return self.hashes.get(document_id) == text_hash


PAGE_SEPARATOR = "\n\n"


def join_pages(pages: Sequence[ParsedPage], *, title: str = "") -> DocumentText:
    """Return a document's whole text, to which every offset refers.

    Chunks, passages, citations and highlights are slices of this string. It is stored, archived and served unchanged;
    nothing else joins pages.
    """
    parts: list[str] = []
    spans: list[PageSpan] = []
    blocks: list[Block] = []
    flaws: list[Flaw] = []
    position = 0
    for page in pages:
        if parts:
            parts.append(PAGE_SEPARATOR)
            position += len(PAGE_SEPARATOR)
        parts.append(page.text)
        spans.append(PageSpan(page.page_number, position, position + len(page.text), page.source, page.name))
        blocks += (block.moved(position) for block in sound_blocks(page.blocks, len(page.text)))
        flaws += (flaw.moved(position) for flaw in sound_flaws(page.flaws, len(page.text)))
        position += len(page.text)
    return DocumentText("".join(parts), tuple(spans), tuple(blocks), title, tuple(flaws))


def unstructured(text: str) -> DocumentText:
    """Return a text of one page without blocks."""
    return DocumentText(text, (PageSpan(1, 0, len(text)),))


class PageLocator:
    """Finds the pages of character ranges in O(log pages)."""

    def __init__(self, pages: Sequence[PageSpan]) -> None:
        if not pages:
            raise ValueError("A text has at least one page.")
        self._pages = pages
        self._starts = [page.start for page in pages]

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and last page that `text[start:end]` touches; a separator belongs to the page before."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        last = max(bisect_left(self._starts, max(end, start + 1)) - 1, first)
        if first < last and self._pages[first].end <= start:
            first += 1
        return self._pages[first].page_number, self._pages[last].page_number
