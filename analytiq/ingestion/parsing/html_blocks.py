"""HTML as blocks: what a browser shows, in its order, with the role that each element states."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from analytiq.ingestion.parsing.completeness import count_words
from analytiq.ingestion.parsing.html_code import code_language, preformatted_text
from analytiq.ingestion.parsing.html_fields import WORDLESS_INPUTS, chosen_options, says_something
from analytiq.ingestion.parsing.html_inline import InlineText
from analytiq.ingestion.parsing.html_lists import item_marker, list_markers
from analytiq.ingestion.parsing.html_math import math_text
from analytiq.ingestion.parsing.html_notes import holds_notes, is_back_link, is_reference
from analytiq.ingestion.parsing.html_pictures import PictureFile, PictureFiles, data_uris_only
from analytiq.ingestion.parsing.html_silent import SILENT, hidden_words_of
from analytiq.ingestion.parsing.html_style import Look, StyleSheet, blends, is_hidden, next_look
from analytiq.ingestion.parsing.html_table import cells_in_order, html_table_lines, is_layout
from analytiq.ingestion.parsing.html_tree import BLOCKS, CELLS, HEADINGS, LISTS, Element, html_tree
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind

SHORT_DESCRIPTION = 3
"""Words from which on the description of a picture among words is a block of its own, not a sign of the line."""
_BLOCK_DISPLAYS = frozenset({"block", "flex", "grid", "list-item", "table", "table-row", "table-cell", "table-caption"})


@dataclass(slots=True)
class _Item:
    """An item of a list whose first words are still to come."""

    marker: str
    depth: int
    term: str = ""


class HtmlBlocks:
    """Writes the blocks of a tree with a `TextBuilder`.

    Attributes:
        hidden_words: The number of words that nobody sees and that were left out.
    """

    def __init__(
        self,
        builder: TextBuilder,
        root: Element,
        *,
        left_out: Collection[int] = (),
        files: PictureFiles = data_uris_only,
    ) -> None:
        self.hidden_words = 0
        self._builder = builder
        self._root = root
        self._left_out = left_out
        self._styles = StyleSheet(root)
        self._inline = InlineText()
        self._images: list[str] = []
        self._files = files
        self._figures: list[PictureFile] = []
        self._kinds = [BlockKind.PARAGRAPH]
        self._lists: list[dict[int, str]] = []
        self._item: _Item | None = None
        self._terms: list[str] = []
        self._is_flat = False
        self._is_framed = False
        self._wrapper = ""
        self._readers: dict[str, Callable[[Element, Look], None]] = {
            **dict.fromkeys(LISTS, self._read_list),
            "li": self._read_item,
            "dl": self._read_definitions,
            "dt": self._read_term,
            "dd": self._read_definition,
            "blockquote": self._read_quote,
            "figcaption": self._read_caption,
            "caption": self._read_caption,
            "table": self._read_table,
            "tr": self._read_row,
            "pre": self._read_code,
            "br": self._read_break,
            "img": self._read_image,
            "svg": self._read_drawing,
            "math": self._read_math,
            "iframe": self._read_frame,
            "sup": self._read_raised,
            "a": self._read_link,
            "ruby": self._read_ruby,
            "rt": self._read_reading,
            "q": self._read_saying,
            "label": self._read_label,
            "input": self._read_input,
            "select": self._read_choice,
            "textarea": self._read_field,
            "button": self._read_button,
        }

    def write(self) -> None:
        """Write all blocks."""
        self._read_children(self._root, self._styles.first_look())
        self._flush()

    def _read_children(self, element: Element, look: Look) -> None:
        for child in element.children:
            if isinstance(child, Element):
                self._read(child, look)
            elif blends(look):
                self.hidden_words += count_words(child)
            else:
                self._inline.add(child)

    def _read(self, element: Element, look: Look) -> None:
        tag = element.tag
        if tag in SILENT or id(element) in self._left_out:
            return
        declared = self._styles.declarations(element)
        if tag == "template" or (tag == "dialog" and "open" not in element.attributes) or is_hidden(element, declared):
            self.hidden_words += hidden_words_of(element)
            return
        inside = next_look(look, element, declared)
        if tag in HEADINGS or element.get("role") == "heading":
            self._read_heading(element, inside)
        elif (special := self._readers.get(tag)) is not None:
            special(element, inside)
        elif tag in BLOCKS or tag in CELLS or tag == "caption" or declared.get("display") in _BLOCK_DISPLAYS:
            self._read_block(element, inside)
        else:
            self._inline.begin(element)
            self._read_children(element, inside)
            self._inline.end(element)

    def _read_block(self, element: Element, look: Look, kind: BlockKind | None = None) -> None:
        self._flush()
        if element.tag == "div":
            self._wrapper = element.get("class")
        kind = BlockKind.FOOTNOTE if holds_notes(element) else kind
        if kind is not None:
            self._kinds.append(kind)
        self._read_children(element, look)
        self._flush()
        if kind is not None:
            self._kinds.pop()

    def _flush(self) -> None:
        """End the paragraph."""
        if self._is_flat:
            self._inline.add_space()
            return
        text = self._inline.take()
        if text:
            self._write_paragraph(text)
        images, self._images = self._images, []
        for description in images:
            self._builder.paragraph(description, kind=BlockKind.IMAGE)
        self._write_figures()

    def _write_figures(self) -> None:
        figures, self._figures = self._figures, []
        for source, read in figures:
            self._builder.figure(source, read)

    def _write_paragraph(self, text: str) -> None:
        item, self._item = self._item, None
        kind = self._kinds[-1]
        if kind is BlockKind.FOOTNOTE:
            is_numbered = item is not None and item.marker != "-"
            self._builder.paragraph(f"{item.marker} {text}" if item and is_numbered else text, kind=kind)
        elif item is not None:
            self._builder.list_item(item.term + text, depth=item.depth, marker=item.marker)
        elif kind is BlockKind.QUOTE:
            self._builder.quote(text)
        else:
            self._builder.paragraph(text, kind=kind)

    def _flat_text(self, element: Element, look: Look) -> str:
        """Return the words of an element on one line, blocks and all."""
        before = self._inline, self._is_flat, self._images
        self._inline, self._is_flat = InlineText(), True
        self._read_children(element, look)
        text = " ".join(self._inline.take().split())
        self._inline, self._is_flat, self._images = before
        return text

    def _read_heading(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._read_block(element, look)
            return
        self._flush()
        text = self._flat_text(element, look)
        if not text:
            return
        level = element.tag[1] if element.tag in HEADINGS else element.get("aria-level").strip()
        item, self._item = self._item, None
        if item is not None and item.marker != "-":
            text = f"{item.marker} {text}"
        self._builder.heading(text, int(level) if level.isdecimal() and len(level) < 3 else 2)

    def _read_quote(self, element: Element, look: Look) -> None:
        self._read_block(element, look, BlockKind.QUOTE)

    def _read_caption(self, element: Element, look: Look) -> None:
        self._read_block(element, look, BlockKind.CAPTION)

    def _read_list(self, element: Element, look: Look) -> None:
        self._flush()
        self._item = None
        self._lists.append(list_markers(element, self._styles.declarations(element)))
        notes = holds_notes(element)
        if notes:
            self._kinds.append(BlockKind.FOOTNOTE)
        self._read_children(element, look)
        self._flush()
        if notes:
            self._kinds.pop()
        self._lists.pop()

    def _read_item(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._inline.add_mark("; ")
            self._read_children(element, look)
            return
        self._flush()
        marker = self._lists[-1].get(id(element), "-") if self._lists else item_marker(element)
        self._item = _Item(marker, max(len(self._lists), 1))
        if holds_notes(element):
            self._kinds.append(BlockKind.FOOTNOTE)
        self._read_children(element, look)
        self._flush()
        if holds_notes(element):
            self._kinds.pop()
        self._item = None

    def _read_definitions(self, element: Element, look: Look) -> None:
        self._flush()
        self._item = None
        self._lists.append({})
        self._read_children(element, look)
        self._flush()
        self._write_terms()
        self._lists.pop()

    def _read_term(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._read_item(element, look)
            return
        self._flush()
        self._item = None
        if any(child.tag in HEADINGS for child in element.walk()):
            self._read_block(element, look)
        elif term := self._flat_text(element, look):
            self._terms.append(term)

    def _read_definition(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._inline.add_mark(": ")
            self._read_children(element, look)
            return
        self._flush()
        terms, self._terms = ", ".join(self._terms), []
        ending = " " if terms.endswith((":", "?", "!", ".")) else ": "
        self._item = _Item("-", max(len(self._lists), 1), terms + ending if terms else "")
        self._read_children(element, look)
        self._flush()
        if terms and self._has_open_item:
            self._terms.append(terms)
            self._write_terms()
        self._item = None

    @property
    def _has_open_item(self) -> bool:
        return self._item is not None

    def _write_terms(self) -> None:
        terms, self._terms = self._terms, []
        if not self._is_flat:
            for term in terms:
                self._builder.list_item(term, depth=max(len(self._lists), 1))

    def _read_table(self, element: Element, look: Look) -> None:
        if self._is_flat:
            for cell in cells_in_order(element):
                self._inline.add_mark(" | ")
                self._read(cell, look)
            return
        self._flush()
        self._item = None
        if is_layout(element):
            self._read_children(element, look)
            self._flush()
            return
        self._builder.table(html_table_lines(element, lambda cell: self._cell_text(cell, look)))
        self._write_figures()

    def _cell_text(self, cell: Element, look: Look) -> str:
        declared = self._styles.declarations(cell)
        if id(cell) in self._left_out:
            return ""
        if is_hidden(cell, declared):
            self.hidden_words += hidden_words_of(cell)
            return ""
        return self._flat_text(cell, next_look(look, cell, declared))

    def _read_row(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._inline.add_mark("; ")
        self._read_children(element, look)

    def _read_code(self, element: Element, look: Look) -> None:
        if self._is_flat or blends(look):
            self._read_block(element, look)
            return
        self._flush()
        self._item = None
        self._builder.code(preformatted_text(element, self._is_seen), language=code_language(element, self._wrapper))

    def _is_seen(self, element: Element) -> bool:
        if element.tag in SILENT or not is_hidden(element, self._styles.declarations(element)):
            return element.tag not in SILENT
        self.hidden_words += hidden_words_of(element)
        return False

    def _read_break(self, element: Element, look: Look) -> None:
        if self._is_flat:
            self._inline.add_space()
        elif self._inline.is_line_blank:
            self._flush()
        else:
            self._inline.end_line()

    def _read_image(self, element: Element, look: Look) -> None:
        if not blends(look):
            self._add_image(" ".join(element.get("alt").split()))
            source = element.get("src")
            figure = self._files(source) if source else None
            if figure is not None:
                self._figures.append(figure)

    def _add_image(self, description: str) -> None:
        if not says_something(description):
            return
        if self._is_flat or (not self._inline.is_line_blank and len(description.split()) < SHORT_DESCRIPTION):
            self._inline.add(f" {description} ")
        elif self._inline.is_line_blank:
            self._flush()
            self._builder.paragraph(description, kind=BlockKind.IMAGE)
        else:
            self._images.append(description)

    def _read_drawing(self, element: Element, look: Look) -> None:
        """Read the words of a drawing, each label on its own line, and its title as a description."""
        words = [child for child in element.walk() if child.tag in {"text", "foreignobject"}]
        title = next((child for child in element.elements() if child.tag == "title"), None)
        if title is not None:
            self._add_image(" ".join(title.text().split()))
        if words:
            self._flush()
        for word in words:
            self._read(word, look)
            self._read_break(word, look)
        if words:
            self._flush()

    def _read_math(self, element: Element, look: Look) -> None:
        self._inline.add(math_text(element))

    def _read_frame(self, element: Element, look: Look) -> None:
        if (page := element.get("srcdoc")) and not self._is_framed:
            self._is_framed = True
            self._read_block(html_tree(page), look)
            self._is_framed = False

    def _read_raised(self, element: Element, look: Look) -> None:
        text = self._flat_text(element, look)
        if is_reference(element):
            self._inline.add(f"[{text.strip('[]() ')}]" if text.strip("[]() ") else "")
        else:
            self._inline.add_raised(text)

    def _read_link(self, element: Element, look: Look) -> None:
        if is_back_link(element):
            return
        self._inline.begin(element)
        if is_reference(element):
            text = self._flat_text(element, look).strip("[]() ")
            self._inline.add(f"[{text}]" if text else "")
        else:
            self._read_children(element, look)
        self._inline.end(element)

    def _read_ruby(self, element: Element, look: Look) -> None:
        self._inline.is_in_ruby = True
        self._read_children(element, look)
        self._inline.is_in_ruby = False

    def _read_reading(self, element: Element, look: Look) -> None:
        self._inline.add_reading(self._flat_text(element, look))

    def _read_saying(self, element: Element, look: Look) -> None:
        self._inline.add(f"“{self._flat_text(element, look)}”")

    def _read_label(self, element: Element, look: Look) -> None:
        if not self._inline.is_line_blank:
            self._read_break(element, look)
        self._read_children(element, look)
        self._inline.add_space()

    def _read_input(self, element: Element, look: Look) -> None:
        kind = element.get("type").lower()
        if kind in {"checkbox", "radio"}:
            self._inline.add(" ☒ " if "checked" in element.attributes else " ☐ ")
        elif kind in {"submit", "button", "reset"}:
            self._inline.add(f" {element.get('value')} ")
        elif kind not in WORDLESS_INPUTS:
            self._inline.add_value(element.get("value"))

    def _read_choice(self, element: Element, look: Look) -> None:
        self._inline.add_value(chosen_options(element))

    def _read_field(self, element: Element, look: Look) -> None:
        self._inline.add_value(element.text())

    def _read_button(self, element: Element, look: Look) -> None:
        self._inline.add_space()
        self._read_children(element, look)
        self._inline.add_space()
