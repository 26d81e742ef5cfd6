"""Formats of named values, subtitles and source code, and the blocks of plain text."""

from itertools import pairwise
from pathlib import Path

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.plain_text import PlainTextParser, parse_utf8
from analytiq.ingestion.parsing.registry import CODE_TYPE, SOURCE_CODE_EXTENSIONS, default_registry
from analytiq.ingestion.parsing.sanitize import sanitize_document
from analytiq.ingestion.parsing.source_code import LANGUAGES, SourceCodeParser
from analytiq.ingestion.parsing.structured_data import StructuredDataParser
from analytiq.ingestion.parsing.subtitles import SubtitleParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import ParsedDocument

API = """openapi: 3.0.0
info: {title: Pet API, version: "1"}
paths:
  /pets/{id}:
    parameters:
      - $ref: '#/components/parameters/Id'
    get:
      summary: Get a pet
      parameters:
        - {name: verbose, in: query, description: More fields, schema: {type: boolean}}
      responses:
        '200': {description: OK, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
    delete: {summary: Remove a pet}
components:
  parameters:
    Id: {name: id, in: path, required: true, description: Number of the pet, schema: {type: integer}}
  schemas:
    Pet: {properties: {age: {type: integer, description: Years}}}
"""

ALIASES = "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghi"))


def parsed(
    parser: PlainTextParser | StructuredDataParser | SubtitleParser | SourceCodeParser,
    tmp_path: Path,
    name: str,
    content: str | bytes,
) -> ParsedDocument:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return sanitize_document(parser.parse(path, ParseOptions(), lambda _done, _total: None))


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, page.text[block.start : block.end]) for page in document.pages for block in page.blocks]


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.json", r'{"shop": {"name": "Caf\u00e9", "price": 1.10}}', ["shop.name: Café", "shop.price: 1.10"]),
        ("a.json", r'{"t": "bad \ud83d end", "smile": "\ud83d\ude00"}', ["t: bad \ufffd end", "smile: 😀"]),
        ("a.json", '{"n": 12345678901234567890123, "a": ["x", "y"]}', ["n: 12345678901234567890123", "a: x, y"]),
        ("a.yaml", '# told\ntitle: "Gr\\u00f6\\u00dfe"\nflag: no\n', ["told", "title: Größe", "flag: no"]),
        ("a.xml", "<d><t lang='en'>Caf&#233; &amp; Sohn</t></d>", ["d.t: Café & Sohn", "d.t.lang: en"]),
        ("a.xml", "<d><p>Some <b>bold</b> words</p></d>", ["d.p: Some bold words"]),
        ("a.json", r'{"broken": "caf\u00e9",', ['{"broken": "café",']),
        ("a.xml", "<p>Caf&eacute; &#233; never closed", ["<p>Caf&eacute; é never closed"]),
    ],
)
def test_values_stand_with_their_names(tmp_path: Path, name: str, content: str, lines: list[str]) -> None:
    text = parsed(StructuredDataParser(), tmp_path, name, content).pages[0].text
    assert set(lines) <= set(text.split("\n"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"id": 1, "name": "Ann"}\n\n{"id": 2, "name": "Bob"}\n'),
        ("a.json", '[{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}]'),
        ("a.yaml", "- id: 1\n  name: Ann\n- id: 2\n  name: Bob\n"),
    ],
)
def test_record_is_a_block(tmp_path: Path, name: str, content: str) -> None:
    document = parsed(StructuredDataParser(), tmp_path, name, content)
    assert blocks(document) == [("paragraph", "id: 1\nname: Ann"), ("paragraph", "id: 2\nname: Bob")]


def test_elements_of_one_name_are_blocks(tmp_path: Path) -> None:
    content = "<c><book id='1'><title>One</title></book><book id='2'><title>Two</title></book></c>"
    document = parsed(StructuredDataParser(), tmp_path, "a.xml", content)
    assert [text for _, text in blocks(document)] == [
        "c.book.id: 1\nc.book.title: One",
        "c.book.id: 2\nc.book.title: Two",
    ]


def test_operation_of_an_api_is_a_section_with_its_parameters_and_bodies(tmp_path: Path) -> None:
    found = blocks(parsed(StructuredDataParser(), tmp_path, "api.yaml", API))
    assert ("heading", "Pet API") in found
    place = found.index(("heading", "GET /pets/{id}: Get a pet"))
    kind, words = found[place + 1]
    assert kind == "paragraph"
    for line in (
        "Parameter id (path, integer, required): Number of the pet",
        "Parameter verbose (query, boolean): More fields",
        "responses.200.description: OK",
        "age: integer, Years",
    ):
        assert line in words.split("\n")
    assert ("heading", "DELETE /pets/{id}: Remove a pet") in found


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bomb.yaml", "a: &a [x,x,x,x,x,x,x,x]\n" + ALIASES),
        ("empty.yaml", "a: &a []\n" + ALIASES),
        ("deep.json", "[" * 100_000 + "]" * 100_000),
        ("deep.xml", "<a>" * 10_000 + "x" + "</a>" * 10_000),
        ("names.json", '{"' + "k" * 50_000 + '": [' + '{"a": 1},' * 20_000 + "1]}"),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_hostile_structure_is_no_more_than_a_few_times_its_length(tmp_path: Path, name: str, content: str) -> None:
    document = parsed(StructuredDataParser(), tmp_path, name, content)
    assert len(document.pages[0].text) <= 13 * len(content) + 10_000


def test_cues_of_subtitles_are_paragraphs_with_times(tmp_path: Path) -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:04,000\n<i>The bridge</i> opens\n\n2\n00:00:05,000 --> 00:00:06,000\nat nine.\n"
        "\n3\n00:01:00,000 --> 00:01:01,500\nLater.\n"
    )
    document = parsed(SubtitleParser(), tmp_path, "a.srt", srt)
    assert [text for _, text in blocks(document)] == [
        "00:00:01\u201300:00:06 The bridge opens at nine.",
        "00:01:00\u201300:01:01 Later.",
    ]
    vtt = "WEBVTT\n\nSTYLE\n::cue {}\n\n00:01.000 --> 00:04.000 align:start\n<v Ann>Hello &amp; welcome\n"
    document = parsed(SubtitleParser(), tmp_path, "a.vtt", vtt)
    assert [text for _, text in blocks(document)] == ["00:00:01\u201300:00:04 Ann: Hello & welcome"]


def test_source_code_is_one_block_of_its_language(tmp_path: Path) -> None:
    code = "\nexport function A() {\n  return 1\n}\n"
    (page,) = parsed(SourceCodeParser(), tmp_path, "a.tsx", code).pages
    assert page.text == code
    (block,) = page.blocks
    assert (block.kind, block.language) == (BlockKind.CODE, "tsx")
    assert page.text[block.start : block.end] == code.strip()


def test_every_ending_of_code_has_a_language() -> None:
    assert set(LANGUAGES) == set(SOURCE_CODE_EXTENSIONS)
    assert default_registry().content_type_of_extension(".rs") == CODE_TYPE


def test_plain_text_shows_its_blocks_and_stays_as_it_is() -> None:
    text = "Title\n=====\n\nSome words\nand 3. more.\n3. of them\n\n- one\n- two\n  goes on\n\nPart\n----\n"
    text += "End:\n(a) last\n"
    document = parse_utf8(text.encode())
    assert document is not None
    assert document.pages[0].text == text
    assert blocks(document) == [
        ("heading", "Title"),
        ("paragraph", "Some words\nand 3. more.\n3. of them"),
        ("list_item", "one"),
        ("list_item", "two\n  goes on"),
        ("heading", "Part"),
        ("paragraph", "End:"),
        ("list_item", "last"),
    ]


def test_form_feeds_begin_pages() -> None:
    document = parse_utf8(b"one\n\x0ctwo\n\x0c")
    assert document is not None
    assert [(page.page_number, page.text) for page in document.pages] == [(1, "one\n"), (2, "two\n")]


def test_control_sequences_of_terminals_are_left_out(tmp_path: Path) -> None:
    log = b"\x1b[31mERROR\x1b[0m failed\x1b[K\n\x1b]0;title\x07done"
    assert parsed(PlainTextParser(), tmp_path, "a.log", log).pages[0].text == "ERROR failed\ndone"
