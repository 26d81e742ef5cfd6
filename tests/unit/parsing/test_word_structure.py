"""Headings, lists, tables and pages of Word documents."""

import pytest

from analytiq.models.blocks import BlockKind
from tests.unit.parsing.word_documents import WORD, WriteDocx
from tests.unit.parsing.word_markup import (
    blocks_of,
    cell,
    level,
    numbered,
    numbering,
    para,
    parsed,
    row,
    run,
    style,
    styled,
    styles,
    table,
    text_of,
)

SPAN = '<w:gridSpan w:val="{}"/>'
HEADER = "<w:tblHeader/>"


@pytest.mark.parametrize(
    ("style_id", "name", "more", "wanted"),
    [
        ("Heading2", "heading 2", "", 2),
        ("berschrift3", "Überschrift 3", "", 3),
        ("a4", "Заголовок 1", "", 1),
        ("x", "見出し 2", "", 2),
        ("Own", "Own heading", '<w:pPr><w:outlineLvl w:val="3"/></w:pPr>', 4),
        ("Chapter", "Chapter", '<w:basedOn w:val="Heading1"/>', 1),
        ("Title", "Title", "", 1),
    ],
)
def test_heading_is_told_by_name_outline_or_base_of_its_style(
    write_docx: WriteDocx, style_id: str, name: str, more: str, wanted: int
) -> None:
    parts = styles(style("Heading1", "heading 1") + style(style_id, name, more))
    document = parsed(write_docx(styled("The words", style_id) + para("Body."), parts))
    assert blocks_of(document) == [(BlockKind.HEADING, wanted, "The words"), (BlockKind.PARAGRAPH, 0, "Body.")]


def test_heading_of_a_document_without_styles_is_told_by_its_id(write_docx: WriteDocx) -> None:
    assert blocks_of(parsed(write_docx(styled("Top", "Heading1"), {}))) == [(BlockKind.HEADING, 1, "Top")]


def test_style_whose_outline_is_the_body_is_no_heading(write_docx: WriteDocx) -> None:
    parts = styles(
        style("Heading1", "heading 1")
        + style("TOCHeading", "TOC Heading", '<w:basedOn w:val="Heading1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>')
    )
    assert blocks_of(parsed(write_docx(styled("Contents", "TOCHeading"), parts)))[0][0] is BlockKind.PARAGRAPH


def test_styles_that_are_based_on_each_other_are_read(write_docx: WriteDocx) -> None:
    parts = styles(style("A", "a", '<w:basedOn w:val="B"/>') + style("B", "b", '<w:basedOn w:val="A"/>'))
    assert text_of(parsed(write_docx(styled("words", "A"), parts))) == "words"


def test_caption_quote_and_code_are_blocks_of_their_kinds(write_docx: WriteDocx) -> None:
    parts = styles(style("Caption", "caption") + style("Quote", "Intense Quote") + style("Code", "HTML Preformatted"))
    body = styled("Table 1", "Caption") + styled("Said he", "Quote") + styled("if x:", "Code") + styled("  y()", "Code")
    assert blocks_of(parsed(write_docx(body, parts))) == [
        (BlockKind.CAPTION, 0, "Table 1"),
        (BlockKind.QUOTE, 0, "Said he"),
        (BlockKind.CODE, 0, "if x:\n  y()"),
    ]


def test_numbers_of_levels_join_restart_and_go_on(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("Article %1"), level("%1.%2"), level("(%3)", "lowerLetter")]}, {1: (0, "")})
    body = "".join(
        numbered(*item) for item in [("a", 0), ("b", 1), ("c", 2), ("d", 2), ("e", 1), ("f", 2), ("g", 0), ("h", 1)]
    )
    lines = [line.strip() for line in text_of(parsed(write_docx(body, parts))).split("\n")]
    assert lines == ["Article 1 a", "1.1 b", "(a) c", "(b) d", "1.2 e", "(a) f", "Article 2 g", "2.1 h"]


def test_lists_of_one_definition_share_its_numbers_and_an_override_restarts_them(write_docx: WriteDocx) -> None:
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    parts = numbering({0: [level("%1.")]}, {1: (0, ""), 2: (0, ""), 3: (0, restart)})
    body = numbered("a", 0) + para("between") + numbered("b", 0, 2) + numbered("c", 0, 3) + numbered("d", 0, 3)
    assert text_of(parsed(write_docx(body, parts))).split("\n") == [
        "1. a", "", "between", "", "2. b", "1. c", "2. d"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "start", "wanted"),
    [
        ("upperRoman", 4, "IV."),
        ("lowerRoman", 9, "ix."),
        ("upperLetter", 27, "AA."),
        ("decimalZero", 7, "07."),
        ("ordinal", 22, "22nd."),
        ("ordinalText", 21, "Twenty-first."),
        ("chineseCounting", 12, "十二."),
        ("decimalEnclosedCircle", 3, "③."),
        ("russianLower", 2, "б."),
        ("unheardOf", 5, "5."),
    ],
)
def test_formats_of_numbers(write_docx: WriteDocx, kind: str, start: int, wanted: str) -> None:
    parts = numbering({0: [level("%1.", kind, start)]}, {1: (0, "")})
    assert text_of(parsed(write_docx(numbered("words", 0), parts))) == f"{wanted} words"


def test_legal_level_shows_upper_levels_in_digits(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("%1", "upperRoman"), level("%1.%2", more="<w:isLgl/>")]}, {1: (0, "")})
    assert "1.1 b" in text_of(parsed(write_docx(numbered("a", 0) + numbered("b", 1), parts)))


def test_level_that_never_restarts_counts_through(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("%1"), level("no. %2", more='<w:lvlRestart w:val="0"/>')]}, {1: (0, "")})
    body = numbered("a", 0) + numbered("b", 1) + numbered("c", 0) + numbered("d", 1)
    assert "no. 2 d" in text_of(parsed(write_docx(body, parts)))


def test_numbering_of_a_style_numbers_headings(write_docx: WriteDocx) -> None:
    number = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    parts = styles(style("Heading1", "heading 1", number) + style("Heading2", "heading 2", number)) | numbering(
        {
            0: [
                level("%1.", more='<w:pStyle w:val="Heading1"/>'),
                level("%1.%2", more='<w:pStyle w:val="Heading2"/>'),
            ]
        },
        {1: (0, "")},
    )
    body = styled("General", "Heading1") + styled("Terms", "Heading2") + styled("Liability", "Heading1")
    words = [words for _, _, words in blocks_of(parsed(write_docx(body, parts)))]
    assert words == ["1. General", "1.1 Terms", "2. Liability"]


def test_text_of_a_level_is_as_long_as_word_allows(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("x" * 100_000)]}, {1: (0, "")})
    assert len(text_of(parsed(write_docx(numbered("a", 0) * 100, parts)))) < 30_000


def test_bullets_and_depths_are_items(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("\uf0b7", "bullet"), level("o", "bullet")]}, {1: (0, "")})
    document = parsed(write_docx(numbered("a", 0) + numbered("b", 1), parts))
    assert text_of(document) == "- a\n  - b"
    assert blocks_of(document) == [(BlockKind.LIST_ITEM, 1, "a"), (BlockKind.LIST_ITEM, 2, "b")]


def test_paragraph_taken_out_of_its_list_has_no_number(write_docx: WriteDocx) -> None:
    parts = numbering({0: [level("%1.")]}, {1: (0, "")})
    assert text_of(parsed(write_docx(numbered("a", 0, 0), parts))) == "a"


def test_merged_cells_stand_in_every_row(write_docx: WriteDocx) -> None:
    merged, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    body = table(
        row("Region", "Product", "Price", properties=HEADER),
        row(cell("North", merged), "Apple", "11"),
        row(cell("", goes_on), "Pear", "12"),
        row(cell("One note for all", SPAN.format(3))),
        row(cell("South", SPAN.format(2)), "13"),
    )
    assert text_of(parsed(write_docx(body, {}))).split("\n") == [
        "Region | Product | Price",
        "Region: North; Product: Apple; Price: 11",
        "Region: North; Product: Pear; Price: 12",
        "One note for all",
        "Region: South; Product: South; Price: 13",
    ]


def test_header_of_two_rows_joins_its_names(write_docx: WriteDocx) -> None:
    restart, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    body = table(
        row(cell("Item", restart), cell("2024", SPAN.format(2)), properties=HEADER),
        row(cell("", goes_on), "Plan", "Actual", properties=HEADER),
        row("Rent", "5", "6"),
    )
    document = parsed(write_docx(body, {}))
    assert "Item: Rent; 2024 Plan: 5; 2024 Actual: 6" in text_of(document)
    shape = document.pages[0].blocks[0].table
    assert shape is not None
    assert shape.header == ("Item", "2024 Plan", "2024 Actual")


def test_first_row_that_its_table_sets_off_is_the_header(write_docx: WriteDocx) -> None:
    bold = [cell(para(run(text, "<w:b/>"))) for text in ("Clause", "Clause text")]
    body = table(row(*bold), row("Clause", "about clauses"), row("Term", "two years"))
    assert "Clause: Term; Clause text: two years" in text_of(parsed(write_docx(body, {})))


def test_form_with_names_at_the_side_has_no_header(write_docx: WriteDocx) -> None:
    body = table(row("Name:", "Ann"), row("City:", "Bern"), row("Phone:", "555"))
    assert "City: | Bern" in text_of(parsed(write_docx(body, {})))


def test_nested_table_is_read_in_its_cell_with_its_names(write_docx: WriteDocx) -> None:
    inner = table(row("Size", "Stock", properties=HEADER), row("L", "7"))
    body = table(row("Item", "Sizes", properties=HEADER), row("Shirt", cell(inner)))
    assert "Item: Shirt; Sizes: Size | Stock / Size: L; Stock: 7" in text_of(parsed(write_docx(body, {})))


def test_table_of_one_column_keeps_its_blocks(write_docx: WriteDocx) -> None:
    body = f"<w:tbl><w:tblGrid><w:gridCol/></w:tblGrid>{row(cell(styled('Boxed', 'Heading2') + para('words')))}</w:tbl>"
    assert blocks_of(parsed(write_docx(body, {}))) == [
        (BlockKind.HEADING, 2, "Boxed"),
        (BlockKind.PARAGRAPH, 0, "words"),
    ]


def test_merged_text_is_not_repeated_beyond_a_multiple_of_the_table(write_docx: WriteDocx) -> None:
    wide = SPAN.format(60)
    first = row(cell("long text " * 2000, f'{wide}<w:vMerge w:val="restart"/>'), "x")
    body = table(first, row(cell("", f"{wide}<w:vMerge/>"), "x") * 500)
    assert len(text_of(parsed(write_docx(body, {})))) < 1_000_000


def test_pages_begin_where_the_document_records_them(write_docx: WriteDocx) -> None:
    body = (
        para("one")
        + '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
        + "<w:p><w:r><w:lastRenderedPageBreak/><w:t>two</w:t></w:r></w:p>"
        + "<w:p><w:r><w:lastRenderedPageBreak/><w:t>three</w:t></w:r></w:p>"
    )
    assert [page.text for page in parsed(write_docx(body, {})).pages] == ["one", "two", "three"]


def test_table_goes_on_over_pages_under_its_names(write_docx: WriteDocx) -> None:
    broken = cell("<w:p><w:r><w:lastRenderedPageBreak/><w:t>b</w:t></w:r></w:p>")
    body = table(row("Name", "Price", properties=HEADER), row("a", "1"), row(broken, "2"))
    first, second = parsed(write_docx(body, {})).pages
    assert first.text == "Name | Price\nName: a; Price: 1"
    assert second.text == "Name: b; Price: 2"
    shape = second.blocks[0].table
    assert shape is not None
    assert shape.header == ("Name", "Price")
    assert len(shape.rows) == 1


def test_footnote_stands_at_the_end_of_its_page(write_docx: WriteDocx) -> None:
    notes = f'<w:footnotes {WORD}><w:footnote w:id="2">{para("the note")}</w:footnote></w:footnotes>'
    mark = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    body = para(run("words") + mark) + '<w:p><w:r><w:br w:type="page"/></w:r></w:p>' + para("next")
    document = parsed(write_docx(body, {"word/footnotes.xml": notes}))
    assert document.pages[0].text == "words[1]\n\n[1] the note"
    assert blocks_of(document)[1] == (BlockKind.FOOTNOTE, 0, "[1] the note")
