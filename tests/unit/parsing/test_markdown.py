from collections.abc import Callable
from pathlib import Path

import pytest
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.markdown import MarkdownParser
from analytiq.models.text import ParsedDocument

Read = Callable[[str], ParsedDocument]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def parsed(source: str) -> ParsedDocument:
        path = tmp_path / "notes.md"
        path.write_text(source, encoding="utf-8")
        return MarkdownParser().parse(path, ParseOptions(), lambda _done, _total: None)

    return parsed


def text_of(read: Read, source: str) -> str:
    return read(source).pages[0].text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Title\n=====\n\nPart\n----\n\nwords", "# Title\n\n## Part\n\nwords"),
        (r"1\. no list, \*no emphasis\*, snake\_case", "1. no list, *no emphasis*, snake_case"),
        ("3. three\n4. four\n   - below", "3. three\n4. four\n  - below"),
        ("| a | b |\n|---|---|\n| 1 | x \\| y |", "a | b\na: 1; b: x | y"),
        ("```python\n# no heading\n```", "```python\n# no heading\n```"),
        ("> said\n\nafter", "> said\n\nafter"),
        ("# A\n\n<!-- hidden -->\nshown", "# A\n\nshown"),
        ("<!-- first -->kept <!-- never ends", "kept <!-- never ends"),
        ("git checkout <branch> then <b>push</b>", "git checkout <branch> then push"),
        ("A claim[^1].\n\n[^1]: Its source.", "A claim[1].\n\n[1] Its source."),
        ("- [x] done\n- [ ] open", "- [x] done\n- [ ] open"),
        ("[words](https://example.com) and `code_name`", "words and code_name"),
        ("![plan of the harbour](data:image/png;base64,iVBORw0KGgo=)", "plan of the harbour"),
        ("<details><summary>Refund?</summary>\n\nTen days.\n\n</details>", "Refund?\n\nTen days."),
    ],
)
def test_markdown_is_read_as_its_readers_see_it(read: Read, source: str, text: str) -> None:
    assert text_of(read, source) == text


def test_front_matter_names_the_document_and_stays_in_the_text(read: Read) -> None:
    document = read('---\ntitle: "Canal guide"\nauthor: Ann\n---\n# Locks\n')
    assert document.title == "Canal guide"
    assert document.pages[0].text == 'title: "Canal guide"\nauthor: Ann\n\n# Locks'


def test_blocks_are_the_words_without_their_marks(read: Read) -> None:
    page = read("# A\n\n- one\n\n> two\n\n```go\nthree\n```\n\n[^n]: four").pages[0]
    assert [(block.kind.value, page.text[block.start : block.end], block.language) for block in page.blocks] == [
        ("heading", "A", ""),
        ("list_item", "one", ""),
        ("quote", "two", ""),
        ("code", "three", "go"),
        ("footnote", "[n] four", ""),
    ]


@pytest.mark.parametrize("unit", ["[", "![", "[a ", "a] ["])
def test_brackets_without_a_link_cost_no_more_than_their_number(
    read: Read, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    skip, steps = ParserInline.skipToken, 0

    def counted(self: ParserInline, state: StateInline) -> None:
        nonlocal steps
        steps += 1
        skip(self, state)

    monkeypatch.setattr(ParserInline, "skipToken", counted)
    spent: list[int] = []
    for count in (500, 1000):
        steps = 0
        assert text_of(read, unit * count) == (unit * count).strip()
        spent.append(steps)
    assert spent[1] <= 2.5 * spent[0]
