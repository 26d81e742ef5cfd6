"""The contract of the chunkers by structure over made texts with blocks, and what each of them keeps together."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.parsing.table_lines import HeaderLine, RowLine, TableLine
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.blocks import BlockKind
from analytiq.models.chunk import Chunk
from analytiq.models.text import DocumentText, join_pages, unstructured

CHUNKERS = ("auto", "code", "page", "qa", "row", "section")
SENTENCES = "The pump moves water. It needs oil once a year! Is the valve shut? "


def cut(chunker_type: str, document: DocumentText, size: int = 512, overlap: int = 0) -> Sequence[Chunk]:
    chunker = create_chunker(chunker_type, chunk_size=size, chunk_overlap=overlap, embed_texts=None)
    return chunker.chunk(document)


def built(*steps: tuple[str, str, int]) -> DocumentText:
    """Return a text of the steps: kind, words, and a heading's level or the number of repetitions."""
    builder, pages = TextBuilder(), []
    for kind, words, number in steps:
        match kind:
            case "heading":
                builder.heading(words, number)
            case "table":
                lines: list[TableLine] = [HeaderLine("Name | Price", ("Name", "Price"))]
                lines += [RowLine(f"Name: {words} {row}; Price: {row * 7} EUR") for row in range(number)]
                builder.table(lines)
            case "code":
                builder.code("".join(f"def f{at}():\n    return '{words}'\n\n" for at in range(number)), language="py")
            case "page":
                pages.append(builder.page(len(pages) + 1))
            case "item":
                builder.list_item(words, depth=number)
            case _:
                builder.paragraph(words * number, kind=BlockKind(kind))
    return join_pages([*pages, builder.page(len(pages) + 1)])


def check(document: DocumentText, chunks: Sequence[Chunk], size: int) -> None:
    text = document.text
    covered = bytearray(len(text))
    for index, piece in enumerate(chunks):
        assert piece.chunk_index == index
        assert piece.text == text[piece.start : piece.end]
        assert piece.text == piece.text.strip() != ""
        assert piece.token_count == count_tokens(piece.text) <= size
        covered[piece.start : piece.end] = b"\x01" * (piece.end - piece.start)
    assert [piece.start for piece in chunks] == sorted(piece.start for piece in chunks)
    assert [piece.end for piece in chunks] == sorted({piece.end for piece in chunks})
    is_all = all(block.kind is BlockKind.FURNITURE for block in document.blocks)
    for block in document.blocks:
        if block.kind is BlockKind.FURNITURE and not is_all:
            covered[block.start : block.end] = b"\x01" * (block.end - block.start)
    assert all(covered[at] or character.isspace() for at, character in enumerate(text))


STEP = st.one_of(
    st.tuples(st.just("heading"), st.sampled_from(["Pumps", "What is it?", "漢字", "x" * 200]), st.integers(1, 9)),
    st.tuples(
        st.sampled_from(["paragraph", "furniture", "caption", "quote", "footnote"]),
        st.sampled_from(["ok ", SENTENCES, "Q: Is it?\nA: Yes.\n", "漢字仮名。", "👩‍👩‍👧", "y" * 90, "```\n"]),
        st.integers(1, 12),
    ),
    st.tuples(st.just("item"), st.sampled_from(["ok", "Why?", SENTENCES]), st.integers(1, 3)),
    st.tuples(st.just("table"), st.sampled_from(["Pump", "Pump; " * 40, "漢"]), st.integers(1, 20)),
    st.tuples(st.just("code"), st.sampled_from(["a", "é漢", "b" * 200]), st.integers(1, 12)),
    st.just(("page", "", 0)),
)  # fmt: skip


@pytest.mark.parametrize("chunker_type", CHUNKERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(STEP, max_size=25), sizes=st.sampled_from([(4, 0), (16, 6), (64, 63), (128, 32), (512, 128)]))
def test_chunks_of_structured_text_keep_the_contract(
    chunker_type: str, steps: list[tuple[str, str, int]], sizes: tuple[int, int]
) -> None:
    document = built(*steps)
    check(document, cut(chunker_type, document, *sizes), sizes[0])


@pytest.mark.parametrize("chunker_type", CHUNKERS)
def test_no_chunk_is_a_few_words(chunker_type: str) -> None:
    document = built(
        ("paragraph", "ok", 1), ("heading", "Pumps", 1), ("paragraph", SENTENCES, 40), ("paragraph", "a | b", 1),
        ("heading", "Valves", 1), ("paragraph", SENTENCES, 33), ("paragraph", "ok", 1), ("page", "", 0),
        ("table", "Valve", 60), ("paragraph", "ok", 1),
    )  # fmt: skip
    chunks = cut(chunker_type, document, 256, 32)
    assert min(chunk.token_count for chunk in chunks) >= 16
    assert [chunk.text for chunk in cut(chunker_type, unstructured("ok"), 256)] == ["ok"]


@pytest.mark.parametrize("chunker_type", ["auto", "code", "row", "section"])
@pytest.mark.parametrize("size", [64, 128, 512])
def test_no_chunk_ends_in_a_heading(chunker_type: str, size: int) -> None:
    steps: list[tuple[str, str, int]] = []
    for number in range(40):
        steps += [("heading", f"Product {number}", 1), ("heading", "Use", 2), ("paragraph", SENTENCES, 1 + number % 9)]
        steps += [("heading", "Prices", 2), ("table", "Pump", 1 + number % 15)]
    document = built(*steps)
    chunks = cut(chunker_type, document, size, size // 4)
    assert not [chunk.text for chunk in chunks if re.match(r"#+ ", chunk.text.splitlines()[-1])]


@pytest.mark.parametrize("chunker_type", ["auto", "code", "row", "section"])
def test_sections_side_by_side_fill_a_chunk_to_three_quarters(chunker_type: str) -> None:
    document = built(
        *(step for number in range(5) for step in (("heading", f"Part {number}", 1), ("paragraph", SENTENCES, 12)))
    )
    starts = [chunk.text.split("\n")[0] for chunk in cut(chunker_type, document, 512, 128)]
    assert starts == ["# Part 0", "# Part 2", "# Part 4"]


def test_a_title_with_few_words_is_merged_with_a_part_of_what_follows() -> None:
    steps = [("heading", "Harbour Act", 1), ("heading", "Part 1", 2), ("paragraph", "The port.", 1)]
    steps += [("heading", "Part 2", 2)]
    for number in range(6):
        steps += [("heading", f"Article {number}", 3), ("paragraph", SENTENCES, 12)]
    first = cut("section", built(*steps), 512)[0]
    assert first.text.startswith("# Harbour Act")
    assert "### Article 0" in first.text


def test_small_sections_are_merged_under_the_same_parent_only() -> None:
    steps: list[tuple[str, str, int]] = []
    for number in range(4):
        steps += [("heading", f"Product {number}", 1), ("heading", "Use", 2), ("paragraph", SENTENCES, 5)]
        steps += [("heading", "Care", 2), ("paragraph", SENTENCES, 5), ("heading", "Price", 2), ("paragraph", "9", 1)]
    chunks = cut("section", built(*steps), 512)
    assert [chunk.text.count("# Product") for chunk in chunks] == [1, 1, 1, 1]


def sections(*levels: int, sentences: int = 6) -> DocumentText:
    return built(
        *(step for level in levels for step in (("heading", f"H{level}", level), ("paragraph", SENTENCES, sentences)))
    )


@pytest.mark.parametrize("chunker_type", ["auto", "code", "row", "section"])
@pytest.mark.parametrize(
    ("section_level", "headings"),
    [(1, [[1, 2, 3], [1, 2, 3]]), (2, [[1], [2, 3], [1], [2, 3]]), (3, [[1], [2], [3], [1], [2], [3]])],
)
def test_no_chunk_crosses_a_heading_of_the_chosen_level(
    chunker_type: str, section_level: int, headings: list[list[int]]
) -> None:
    document = sections(1, 2, 3, 1, 2, 3)
    chunker = create_chunker(
        chunker_type, chunk_size=2048, chunk_overlap=0, embed_texts=None, section_level=section_level
    )
    chunks = chunker.chunk(document)
    check(document, chunks, 2048)
    assert [[len(mark) for mark in re.findall(r"^#+", piece.text, re.MULTILINE)] for piece in chunks] == headings


def test_title_and_bare_headings_stay_with_what_follows_at_any_section_level() -> None:
    document = built(
        ("heading", "Manual", 1), ("paragraph", "Of a pump. ", 1), ("heading", "Safety", 2), ("heading", "At work", 3),
        ("paragraph", SENTENCES, 2), ("heading", "Cleaning", 2), ("paragraph", SENTENCES, 2),
    )  # fmt: skip
    chunker = create_chunker("section", chunk_size=512, chunk_overlap=0, embed_texts=None, section_level=6)
    first, second = chunker.chunk(document)
    assert first.text.startswith("# Manual\n\nOf a pump.\n\n## Safety\n\n### At work\n\nThe pump")
    assert second.text.startswith("## Cleaning")


def test_overlap_stays_within_a_section() -> None:
    document = built(
        *(step for number in range(3) for step in (("heading", f"Part {number}", 1), ("paragraph", SENTENCES, 40)))
    )
    chunks = cut("section", document, 256, 64)
    assert any(after.start < before.end for before, after in pairwise(chunks))
    for chunk in chunks:
        assert "# Part" not in chunk.text[1:]


@pytest.mark.parametrize("chunker_type", ["auto", "row"])
def test_rows_are_whole(chunker_type: str) -> None:
    document = built(("heading", "Prices", 1), ("table", "Pump", 300))
    for chunk in cut(chunker_type, document, 128, 32):
        for line in chunk.text.splitlines():
            assert line.startswith(("Name: Pump", "# ", "Name | Price")) or not line
            assert not line.startswith("Name: Pump") or line.endswith("EUR")


@pytest.mark.parametrize("chunker_type", ["row", "auto"])
@pytest.mark.parametrize("words", ["Blue valve H", "Oak hose", "Rapid, heavy relay"])
def test_many_rows_are_whole_though_their_separators_take_tokens(chunker_type: str, words: str) -> None:
    document = built(("table", words, 400))
    (table,) = document.blocks
    assert table.table is not None
    starts = {table.start, *(start for start, _ in table.table.rows)}
    ends = {end for _, end in table.table.rows}
    for size, overlap in ((512, 128), (100, 0)):
        chunks = cut(chunker_type, document, size, overlap)
        assert all(piece.start in starts and piece.end in ends for piece in chunks)


def test_wide_row_is_cut_between_cells() -> None:
    builder = TextBuilder()
    row = "; ".join(f"Column {number}: value {number}" for number in range(300))
    builder.table([HeaderLine("Columns", ("Columns",)), RowLine(row)])
    for chunk in cut("row", join_pages([builder.page(1)]), 128, 32)[1:]:
        assert chunk.text.startswith("Column ")


def test_furniture_is_left_out_where_chunks_end() -> None:
    document = built(
        ("paragraph", SENTENCES, 15), ("furniture", "Page 1 of 2", 1), ("page", "", 0),
        ("furniture", "Manual of pumps", 1), ("paragraph", SENTENCES, 15), ("furniture", "Page 2 of 2", 1),
    )  # fmt: skip
    text = " ".join(chunk.text for chunk in cut("section", document, 512))
    assert "Page" not in text
    assert "Manual" not in text


def test_text_of_furniture_alone_is_chunked() -> None:
    [chunk] = cut("auto", built(("furniture", "Page 1", 1)))
    assert chunk.text == "Page 1"


def test_page_is_one_chunk() -> None:
    document = built(("paragraph", SENTENCES, 3), ("page", "", 0), ("heading", "Two", 1), ("paragraph", SENTENCES, 5))
    chunks = cut("page", document, 512)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [
        (page.start, page.start + len(document.text[page.start : page.end].rstrip())) for page in document.pages
    ]


FAQ = """# Questions about pumps

Q: Is it loud?
A: No.
Q: Is it heavy?
A: Not at all.

**Who repairs it?**

Our partners do.

They come within a day.

## How is it cleaned?

With water. Use no soap because soap harms the seal.

Can I return it?

Yes, within a month.

## Warranty

Two years on all parts that are not worn by their use, and on the work of those who mount them.
"""


@pytest.mark.parametrize("text", [FAQ, FAQ.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_question_and_answer_are_one_chunk(text: str) -> None:
    chunks = [re.sub(r"\s+", " ", chunk.text) for chunk in cut("qa", unstructured(text), 256)]
    assert chunks == [
        "# Questions about pumps Q: Is it loud? A: No.",
        "Q: Is it heavy? A: Not at all.",
        "**Who repairs it?** Our partners do. They come within a day.",
        "## How is it cleaned? With water. Use no soap because soap harms the seal.",
        "Can I return it? Yes, within a month.",
        "## Warranty Two years on all parts that are not worn by their use, and on the work of those who mount them.",
    ]  # fmt: skip


def test_rows_of_questions_are_one_chunk_each() -> None:
    builder = TextBuilder()
    builder.table(
        [HeaderLine("Question | Answer", ("Question", "Answer"))]
        + [RowLine(f"Question: Is {number} even?; Answer: {number % 2 == 0}") for number in range(9)]
    )
    chunks = cut("qa", join_pages([builder.page(1)]), 256)
    assert [chunk.text.count("Answer:") for chunk in chunks] == [1] * 9


SOURCES = {
    "python": '# Adds.\n@cached\ndef {0}(a):\n    """Say."""\n{1}    return a\n',
    "javascript": "/** Adds. */\nfunction {0}(a) {{\n{1}    return a;\n}}\n",
    "typescript": "// Adds.\nexport function {0}(a: number): number {{\n{1}    return a;\n}}\n",
    "tsx": "// Adds.\nexport const {0} = (p: P) => {{\n{1}    return <b>{{p.a}}</b>;\n}};\n",
    "go": "// Adds.\nfunc {0}(a int) int {{\n{1}    return a\n}}\n",
    "java": "class A{0} {{\n    // Adds.\n    @Override\n    int {0}(int a) {{\n{1}        return a;\n    }}\n}}\n",
    "rust": "/// Adds.\n#[inline]\nfn {0}(a: i32) -> i32 {{\n{1}    return a;\n}}\n",
    "c#": "// Adds.\nclass A{0} {{\n    int {0}(int a) {{\n{1}        return a;\n    }}\n}}\n",
    "c": "/* Adds. */\nint {0}(int a) {{\n{1}    return a;\n}}\n",
    "c++": "// Adds.\ntemplate <class T>\nT {0}(T a) {{\n{1}    return a;\n}}\n",
    "sql": "-- Adds.\nCREATE TABLE {0} (\n    a int,\n    b int\n);\n",
}


@pytest.mark.parametrize("chunker_type", ["auto", "code"])
@pytest.mark.parametrize("language", SOURCES)
def test_definitions_stay_whole_with_their_comments(chunker_type: str, language: str) -> None:
    definitions = [SOURCES[language].format(f"name{number}", "    foo(12);\n" * 9) for number in range(40)]
    builder = TextBuilder()
    builder.code("\n".join(definitions), language=language)
    document = join_pages([builder.page(1)])
    chunks = cut(chunker_type, document, 256, 64)
    check(document, chunks, 256)
    assert len(chunks) > 8
    for definition in definitions:
        assert sum(definition.strip() in chunk.text for chunk in chunks) == 1


def test_large_class_is_cut_between_methods() -> None:
    methods = [f"    # Number {at}.\n    def m{at}(self):\n" + "        call(12)\n" * 12 for at in range(30)]
    builder = TextBuilder()
    builder.code("class A:\n    '''Doc.'''\n\n" + "\n".join(methods), language="python")
    chunks = cut("code", join_pages([builder.page(1)]), 256)
    for method in methods:
        assert sum(method.strip() in chunk.text for chunk in chunks) == 1


def test_headings_and_tables_of_text_without_blocks_are_recognized() -> None:
    table = "| Name | Price |\n|---|---|\n" + "".join(f"| Pump {number} | {number * 7} EUR |\n" for number in range(60))
    text = f"# Pumps\n\n{SENTENCES * 12}\n\n# Prices\n\n{table}\n```python\nx = 1\n```\n"
    chunks = cut("auto", unstructured(text), 256, 32)
    assert chunks[0].text.startswith("# Pumps")
    assert [chunk for chunk in chunks if chunk.text.startswith("# Prices\n\n| Name | Price |")]
    for chunk in chunks:
        assert all(line.endswith("|") for line in chunk.text.splitlines() if line.startswith("|"))
