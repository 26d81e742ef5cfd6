"""PowerPoint presentations, read part by part, with a page for each slide."""

from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.archive import open_package
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.drawing_text import hidden_texts, paragraphs, shapes, visible_root
from analytiq.ingestion.parsing.office_words import append_lost, related_pieces
from analytiq.ingestion.parsing.open_xml import Relation, relations, stated_title
from analytiq.ingestion.parsing.sheet_text import hidden_slides, one_line
from analytiq.ingestion.parsing.slide_sight import SlideSight
from analytiq.ingestion.parsing.slide_text import ShapeWriter, placeholder
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.titles import telling_title
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument, ParsedPage

_TITLES = frozenset({"title", "ctrTitle"})
_UNREAD = frozenset({"sldNum", "sldImg"})
_FURNITURE = frozenset({"dt", "ftr", "hdr"})
"""Placeholders for date, footer and header: usually the same on every slide, so each text counts once."""


class PptxParser:
    """Title, texts in a screen reader's order, tables, charts, diagrams, notes, comments."""

    content_types = ("application/vnd.openxmlformats-officedocument.presentationml.presentation",)
    extensions = (".pptx", ".pptm", ".ppsx", ".potx")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read every slide, including hidden ones, which are numbered with the others and told in a warning."""
        with open_package(path, noun="presentation") as archive:
            parts = list(_slide_parts(archive))
            if len(parts) > options.max_pages:
                raise LimitExceededError(
                    f"The presentation has {len(parts)} slides; at most {options.max_pages} are read."
                )
            slides = _Slides(archive, _sight(archive))
            for page_number, part in enumerate(parts, start=1):
                slides.add(page_number, part)
                report_progress(page_number, len(parts))
            title = stated_title(archive)
        if not slides.pages:
            raise CorruptFileError("The presentation has no slides: upload one that has.")
        return ParsedDocument(tuple(slides.pages), tuple(slides.warnings()), telling_title(title, slides.pages[0].name))


def _slide_parts(archive: ZipFile) -> Iterator[str]:
    main = next((relation.part for relation in relations(archive, "") if relation.kind == "officeDocument"), None)
    root = parsed_xml(archive.read(main or "ppt/presentation.xml"))
    if not isinstance(root.tag, str) or not root.tag.endswith("}presentation"):
        raise ValueError("its main part is no presentation")
    parts = {relation.id: relation.part for relation in relations(archive, main or "ppt/presentation.xml")}
    for slide in root.iterfind("{*}sldIdLst/{*}sldId"):
        part = next((parts[value] for value in slide.attrib.values() if value in parts), None)
        if part is None:
            raise ValueError("a slide is missing")
        yield part


def _sight(archive: ZipFile) -> SlideSight:
    main = next((relation.part for relation in relations(archive, "") if relation.kind == "officeDocument"), None)
    size = parsed_xml(archive.read(main or "ppt/presentation.xml")).find("{*}sldSz")
    edges = ("0", "0") if size is None else (size.get("cx", "0"), size.get("cy", "0"))
    width, height = (int(edge) if edge.isdecimal() else 0 for edge in edges)
    return SlideSight(width, height) if width and height else SlideSight()


class _Slides:
    """Reads slide after slide."""

    def __init__(self, archive: ZipFile, sight: SlideSight) -> None:
        self._sight = sight
        self._hidden_slides: list[int] = []
        self.pages: list[ParsedPage] = []
        self._archive = archive
        self._furniture: set[str] = set()
        self._hidden_shapes = 0
        self._appended_words = 0

    def add(self, page_number: int, part: str) -> None:
        """Read a slide as the next page."""
        builder = TextBuilder()
        related = list(relations(self._archive, part))
        root = visible_root(parsed_xml(self._archive.read(part)))
        if root.get("show") in {"0", "false"}:
            self._hidden_slides.append(page_number)
        self._sight.remove_unseen(self._archive, part, root)
        tree = _shape_tree(root)
        self._hidden_shapes += sum(1 for _ in hidden_texts(tree))
        found = [shape for shape in shapes(tree) if placeholder(shape) not in _UNREAD]
        titles = [shape for shape in found if placeholder(shape) in _TITLES]
        title = one_line(" ".join(text for shape in titles for _, text in paragraphs(shape)))
        builder.heading(title, 1)
        writer = ShapeWriter(builder, self._archive, {relation.id: relation for relation in related})
        for shape in found:
            if placeholder(shape) in _FURNITURE:
                self._write_furniture(builder, shape)
            elif placeholder(shape) not in _TITLES:
                writer.write(shape)
        writer.write_unplaced()
        self._write_comments(builder, related)
        self._write_notes(builder, related)
        self._appended_words += append_lost(builder, related_pieces(self._archive, part, root))
        self.pages.append(builder.page(page_number, name=title))

    def warnings(self) -> Iterator[str]:
        """Yield what was left out because it is hidden."""
        yield from hidden_slides(self._hidden_slides)
        if self._sight.hidden_words:
            yield (
                f"{self._sight.hidden_words} hidden words are not read: white on white, transparent, too small, or "
                "beside the slide"
            )
        if self._hidden_shapes:
            yield f"{self._hidden_shapes} hidden shapes are not read; show what is to be searched"
        if self._appended_words:
            yield f"{self._appended_words} words stand in unusual places; they are at the end of their slides"

    def _write_furniture(self, builder: TextBuilder, shape: Element) -> None:
        text = "\n".join(text for _, text in paragraphs(shape))
        if text not in self._furniture:
            self._furniture.add(text)
            builder.paragraph(text, kind=BlockKind.FURNITURE)

    def _write_comments(self, builder: TextBuilder, related: list[Relation]) -> None:
        comments = [
            text
            for relation in related
            if relation.kind == "comments"
            for text in _comments(parsed_xml(self._archive.read(relation.part)))
        ]
        if comments:
            builder.heading("Comments", 2)
        for text in comments:
            builder.paragraph(text)

    def _write_notes(self, builder: TextBuilder, related: list[Relation]) -> None:
        for relation in related:
            if relation.kind != "notesSlide":
                continue
            tree = _shape_tree(visible_root(parsed_xml(self._archive.read(relation.part))))
            said = [
                "\n".join(text for _, text in paragraphs(shape))
                for shape in shapes(tree)
                if placeholder(shape) not in _UNREAD | _FURNITURE
            ]
            if any(said):
                builder.heading("Notes", 2)
            for text in said:
                builder.paragraph(text)


def _shape_tree(root: Element) -> Element:
    tree = root.find("{*}cSld/{*}spTree")
    if tree is None:
        raise ValueError("a slide has no shapes")
    return tree


def _comments(root: Element) -> Iterator[str]:
    """Yield texts of comments: in elements `text` in the older form, in paragraphs in the newer one."""
    for comment in root.iter("{*}cm"):
        older = (element.text or "" for element in comment.iter("{*}text"))
        text = one_line(" ".join([*older, *(text for _, text in paragraphs(comment))]))
        if text:
            yield text
