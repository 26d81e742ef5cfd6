"""The context of a chunk: title, headings above the whole chunk, sheet, columns; bounded by the chunk's size."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.context import (
    SHARE,
    TITLE_TOKENS,
    ChunkContext,
    ChunkContexts,
    title_of,
)
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.chunking.row_context import (
    CELLS_LOOKED_BACK,
    CHARACTERS_LOOKED_BACK,
    RowContext,
    row_context,
)
from analytiq.ingestion.parsing.table_lines import RowLine, lines_below_header
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import DocumentText, PageSpan, ParsedPage, join_pages
from analytiq.models.vector import in_context

LONG = 1000
"""Tokens of a chunk whose share bounds nothing here."""


def a_manual() -> DocumentText:
    page = TextBuilder()
    page.heading("Zebra 4000", 1)
    page.paragraph("A printer of labels.")
    page.heading("Safety", 2)
    page.paragraph("Unplug it before opening.")
    page.heading("Cleaning", 3)
    page.paragraph("Use a dry cloth.")
    page.heading("Warranty", 2)
    page.paragraph("Two years.")
    return join_pages([page.page(1)])


def context_of(text: DocumentText, begin: str, end: str, *, tokens: int = LONG, name: str = "m.pdf") -> ChunkContext:
    start = text.text.index(begin)
    return ChunkContexts(text, name).of(start, text.text.index(end, start) + len(end), tokens)


@pytest.mark.parametrize(
    ("stated", "name", "title"),
    [
        ("", "Zebra-4000-manual.pdf", "Zebra-4000-manual, Zebra 4000 manual"),
        ("Zebra 4000 Operating Manual", "Zebra-4000-manual.pdf", "Zebra 4000 Operating Manual, Zebra-4000-manual"),
        ("Operating Manual", "zebra_4000.pdf", "Operating Manual, zebra_4000, zebra 4000"),
        ("Annual Report", "reports/2024/Annual report.docx", "Annual Report"),
        ("Microsoft Word - x.doc", "Lease.pdf", "Lease"),
        ("scan0001", "Lease.pdf", "Lease"),
        ("Untitled", "Lease.pdf", "Lease"),
        ("Presentation1", "Lease.pdf", "Lease"),
        ("PowerPoint Presentation", "Lease.pdf", "Lease"),
        ("lease_v3_final.docx", "Lease.pdf", "Lease"),
        ("d41d8cd98f00b204e9800998ecf8427e", "Lease.pdf", "Lease"),
        ("2024", "Lease.pdf", "Lease"),
        ("", "contract 4711.B", "contract 4711.B"),
        ("", "Übersicht_Preise.xlsx", "Übersicht_Preise, Übersicht Preise"),
        ("", ".pdf", ".pdf"),
    ],
)
def test_a_title_is_what_the_file_states_unless_it_is_noise_and_its_name(stated: str, name: str, title: str) -> None:
    assert title_of(stated, name) == title


@pytest.mark.parametrize(
    ("stated", "name", "title"),
    [
        ("", "Zebra-4000-manual.pdf", "Zebra-4000-manual"),
        ("Zebra 4000: Operating Manual", "Zebra-4000-manual.pdf", "Zebra 4000: Operating Manual"),
        ("Operating Manual", "zebra_4000.pdf", "Operating Manual, zebra_4000"),
        ("Minutes", "Smith, John 2.md", "Minutes, Smith, John 2"),
        ("Straße und Weg", "STRASSE.md", "Straße und Weg"),
        ("scan0001", "a/Lease_2.pdf", "Lease_2"),
        ("", ".pdf", ".pdf"),
    ],
)
def test_a_model_reads_each_word_of_title_and_name_once(stated: str, name: str, title: str) -> None:
    document = DocumentText("Some text.", (PageSpan(1, 0, 10),), (), stated)
    assert ChunkContexts(document, name).of(0, 10, LONG).embedded == title


def test_headings_above_the_chunk_follow_the_title() -> None:
    context = context_of(a_manual(), "Use a dry", "cloth.")
    assert context.text == "m > Zebra 4000 > Safety > Cleaning"
    assert context.heading_path == ("Zebra 4000", "Safety", "Cleaning")


def test_a_chunk_of_several_sections_has_the_path_that_is_common_to_all_of_it() -> None:
    assert context_of(a_manual(), "Unplug", "cloth.").heading_path == ("Zebra 4000", "Safety")
    assert context_of(a_manual(), "Use a dry", "Two years.").heading_path == ("Zebra 4000",)


def test_a_heading_at_the_end_without_its_text_does_not_count() -> None:
    assert context_of(a_manual(), "Use a dry", "Warranty").heading_path == ("Zebra 4000", "Safety", "Cleaning")


def test_the_heading_that_the_chunk_begins_with_is_in_its_context() -> None:
    context = context_of(a_manual(), "### Cleaning", "cloth.")
    assert context.text == "m > Zebra 4000 > Safety > Cleaning"
    assert context.heading_path == ("Zebra 4000", "Safety", "Cleaning")


def test_a_heading_that_repeats_the_title_is_left_out() -> None:
    text = a_manual()
    titled = DocumentText(text.text, text.pages, text.blocks, "Zebra 4000")
    assert context_of(titled, "Unplug", "opening.").text == "Zebra 4000, m > Safety"


def test_text_in_no_block_before_a_heading_is_not_below_it() -> None:
    text = "Words in no block at all.\n\nHeading\n\nText"
    blocks = (Block(BlockKind.HEADING, 27, 34, level=1), Block(BlockKind.PARAGRAPH, 36, 40))
    document = DocumentText(text, (PageSpan(1, 0, len(text)),), blocks)
    assert ChunkContexts(document, "m.txt").of(0, len(text), LONG).heading_path == ()


def test_a_slide_is_not_below_the_heading_of_the_slide_before() -> None:
    first, second = TextBuilder(), TextBuilder()
    first.heading("Intro", 1)
    first.paragraph("Hello.")
    second.paragraph("Prices rise.")
    pages = [first.page(1, name="Welcome"), second.page(2, name="Outlook")]
    context = context_of(join_pages(pages), "Prices", "rise.", name="talk.pptx")
    assert context == ChunkContext("talk > Outlook", (), "Outlook", "talk > Outlook")
    assert context_of(join_pages(pages), "Hello", "rise.", name="talk.pptx") == ChunkContext("talk", embedded="talk")


def test_the_names_of_columns_precede_rows_without_them_in_small_chunks() -> None:
    text = "Item | Price\nBolt | 3 €\nNut | 2 €"
    rows = ((13, 23), (24, 33))
    table = Block(BlockKind.TABLE, 0, len(text), table=TableShape(("Item", "Price"), rows))
    document = DocumentText(text, (PageSpan(1, 0, len(text)),), (table,))
    contexts = ChunkContexts(document, "list.md")
    assert contexts.of(24, 33, 100).text == "list\nItem | Price"
    assert contexts.of(24, 33, 300).text == "list"
    assert contexts.of(0, 33, 100).text == "list"


def test_rows_that_name_their_columns_need_no_header() -> None:
    page = TextBuilder()
    page.table(list(lines_below_header([["Item", "Price"]], [["Bolt", "3 €"], ["Nut", "2 €"]])))
    assert context_of(join_pages([page.page(1)]), "Item: Nut", "2 €", tokens=100).text == "m"


def a_wide_row(*first: tuple[str, str], columns: int = 40) -> DocumentText:
    """Return a table of one row: the first cells, then as many columns of some words."""
    cells = [*first, *((f"Column {number}", f"some words; of cell: {number} " * 4) for number in range(columns))]
    page = TextBuilder()
    page.table(list(lines_below_header([[name for name, _ in cells]], [[value for _, value in cells]])))
    return join_pages([page.page(1)])


@pytest.mark.parametrize(
    ("first", "key"),
    [
        ([("Product", "Zebra 4000")], "Product: Zebra 4000"),
        ([("No", "12"), ("Product", "Zebra 4000"), ("Colour", "red")], "No: 12; Product: Zebra 4000"),
        ([("No", "1"), ("Year", "2024"), ("Sum", "3"), ("Due", "4")], "No: 1; Year: 2024; Sum: 3"),
    ],
)
def test_each_piece_of_a_wide_row_has_the_key_of_the_row(first: list[tuple[str, str]], key: str) -> None:
    document = a_wide_row(*first)
    chunks = create_chunker("row", chunk_size=128, chunk_overlap=0, embed_texts=None).chunk(document)
    contexts = ChunkContexts(document, "m.csv")
    within = [chunk for chunk in chunks if chunk.start > document.blocks[0].table.rows[0][0]]  # type: ignore[union-attr]
    assert len(within) > 10
    for chunk in within:
        line = contexts.of(chunk.start, chunk.end, chunk.token_count).text.partition("\n")[2]
        assert line.partition("; Column")[0] == key
        assert line.count("Column") == (0 if chunk.text.startswith("Column ") else 1)


def test_each_piece_of_a_cell_has_the_name_of_its_column() -> None:
    page = TextBuilder()
    rows = [["Zebra 4000", "5", "Prints labels. " * 200], ["Yak 1", "6", "Short."]]
    page.table(list(lines_below_header([["Product", "Price", "Notes: all"]], rows)))
    document = join_pages([page.page(1)])
    contexts, start = ChunkContexts(document, "m.csv"), document.text.index("Prints labels. ") + 900
    assert contexts.of(start, start + 100, 100).text == "m\nProduct: Zebra 4000; Notes: all"
    start = document.text.index("Notes: all: Prints")
    assert contexts.of(start, start + 100, 100).text == "m\nProduct: Zebra 4000"
    start = document.text.index("Product: Yak")
    assert contexts.of(start, start + 30, 100).text == "m"


def test_rows_without_names_of_columns_have_their_first_cell() -> None:
    page = TextBuilder()
    page.table([RowLine("Zebra 4000 | " + " | ".join(f"words {number} " * 9 for number in range(40)))])
    document = join_pages([page.page(1)])
    start = document.text.index("words 30")
    assert ChunkContexts(document, "m.csv").of(start, start + 100, 100).text == "m\nZebra 4000"


def test_time_of_a_cell_of_a_megabyte_grows_as_its_pieces() -> None:
    looked: list[int] = []

    class Watched(str):
        __slots__ = ()

        def rfind(self, *args: int) -> int:  # type: ignore[override]
            looked.append(args[2] - args[1])
            return super().rfind(*args)  # type: ignore[arg-type]

    text = "Product: Zebra; Notes: " + "a; b: c " * 100_000
    table = TableShape(("Product", "Notes"), ((0, len(text)),))
    assert row_context(Watched(text), table, 700_000) == RowContext("Product: Zebra", "", names_columns=True)
    assert sum(looked) <= CELLS_LOOKED_BACK * CHARACTERS_LOOKED_BACK


def test_the_middle_of_a_long_path_goes_first_and_the_title_never() -> None:
    text = a_manual()
    assert context_of(text, "Use a dry", "cloth.", tokens=4, name="m.pdf").text.startswith("m")
    page = TextBuilder()
    for level, word in enumerate(("One", "Two", "Three"), start=1):
        page.heading(f"{word} {'and so on ' * 4}".strip(), level)
    page.paragraph("End.")
    context = context_of(join_pages([page.page(1)]), "End", ".", tokens=4 * 30)
    assert context.text.startswith("m > ")
    assert "Three" in context.text
    assert "Two" not in context.text


def test_an_older_text_without_blocks_has_its_name() -> None:
    document = join_pages([ParsedPage(1, "Some text.")])
    assert ChunkContexts(document, "Lease_2024.pdf").of(0, 10, LONG).text == "Lease_2024, Lease 2024"


def test_the_context_stands_apart_from_the_text() -> None:
    assert in_context("A > B", "text") == "A > B\n\ntext"
    assert in_context("", "text") == "text"


def test_heading_of_a_document_without_title_is_cut_to_the_bound() -> None:
    long = "0𐀀𐀀𐀀\U0001114e𓎀\U00016280"
    document = DocumentText("Words.", (PageSpan(1, 0, 6, name=long),), (), "")
    context = ChunkContexts(document, "").of(0, 6, 1)
    assert count_tokens(long) > TITLE_TOKENS >= count_tokens(context.text) > 0


blocks = st.lists(
    st.tuples(st.sampled_from(list(BlockKind)), st.integers(0, 12), st.integers(1, 12), st.integers(0, 9)), max_size=20
)


@settings(max_examples=200, deadline=None)
@given(
    made=blocks,
    text=st.text(max_size=200),
    title=st.text(max_size=30),
    name=st.text(max_size=30),
    ends=st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(1, 300)),
    page_name=st.text(max_size=10),
)
def test_any_document_and_range_have_a_bounded_context(
    made: list[tuple[BlockKind, int, int, int]],
    text: str,
    title: str,
    name: str,
    ends: tuple[int, int, int],
    page_name: str,
) -> None:
    position, found = 0, list[Block]()
    for kind, gap, length, level in made:
        start = position + gap
        position = start + length
        if position > len(text):
            break
        table = TableShape(("a", "b"), ()) if kind is BlockKind.TABLE else None
        found.append(Block(kind, start, position, level=level, table=table))
    document = DocumentText(text, (PageSpan(1, 0, len(text), name=page_name),), tuple(found), title)
    start, end = sorted(min(place, len(text)) for place in ends[:2])
    context = ChunkContexts(document, name).of(start, max(end, start + 1), ends[2])
    path = context.text.partition("\n")[0]
    assert count_tokens(path) <= max(ends[2] // SHARE, TITLE_TOKENS)
    covering = [block for block in found if block.kind is BlockKind.HEADING and block.start < max(end, start + 1)]
    assert set(context.heading_path) <= {" ".join(text[block.start : block.end].split()) for block in covering}
