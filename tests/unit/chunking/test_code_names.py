"""The names of definitions above a chunk of code."""

import pytest

from analytiq.ingestion.chunking.code_names import CodeNames
from analytiq.ingestion.chunking.context import ChunkContexts
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.text import DocumentText, PageSpan

SAMPLES = {
    "python": ("# one\nclass ParcelTracker:\n    def fetch(self):\n        return 1\n", ("ParcelTracker", "fetch")),
    "go": ("// Fetch: one\nfunc (p *ParcelTracker) Fetch() {\n\treturn 1\n}\n", ("ParcelTracker", "Fetch")),
    "typescript": (
        "export class Parcel {\n  /** one */\n  fetch(): void {\n    return;\n  }\n}\n",
        ("Parcel", "fetch"),
    ),
    "tsx": ("export const Price = memo(({ a }: P) => {\n  return <b>{a}</b>;\n});\n", ("Price",)),
    "java": ("class Parcel<T> {\n  @Override\n  int fetch() {\n    return 1;\n  }\n}\n", ("Parcel", "fetch")),
    "rust": ("impl Display for Parcel {\n  fn fmt(&self) -> u8 {\n    1\n  }\n}\n", ("Parcel", "fmt")),
    "csharp": ("class Parcel {\n  int Fetch() {\n    return 1;\n  }\n}\n", ("Parcel", "Fetch")),
    "cpp": ("int Parcel::fetch(int x) {\n  return x;\n}\n", ("Parcel", "fetch")),
    "c": ("static char *fetch(int a)\n{\n  return 0;\n}\n", ("fetch",)),
    "sql": ("CREATE TABLE parcels (\n  id int,\n  name text\n);\n", ("parcels",)),
}


@pytest.mark.parametrize("language", SAMPLES)
def test_a_line_has_the_names_around_it(language: str) -> None:
    code, names = SAMPLES[language]
    at = code.index("return" if "return" in code else "1" if "1" in code else "name")
    assert CodeNames(code, language).above(at, at + 4) == names


def test_the_definition_that_has_most_of_a_chunk_counts() -> None:
    code = "import os\n\n\nclass Parcel:\n    def fetch(self):\n        return 1\n\n    def send(self):\n        pass\n"
    names = CodeNames(code, "python")
    assert names.above(0, len(code)) == ("Parcel",)
    assert names.above(code.index("    def send"), len(code)) == ("Parcel", "send")
    assert names.above(0, code.index("class")) == ()


def test_code_of_an_unknown_language_has_no_names() -> None:
    assert CodeNames("sub x {\n 1\n}\n", "perl").above(0, 5) == ()


def test_the_names_are_the_context_of_a_chunk_of_code() -> None:
    code, _ = SAMPLES["python"]
    document = DocumentText(
        code, (PageSpan(1, 0, len(code)),), (Block(BlockKind.CODE, 0, len(code) - 1, language="python"),)
    )
    context = ChunkContexts(document, "delivery.py").of(code.index("    def"), len(code) - 1, 100)
    assert context.heading_path == ("ParcelTracker", "fetch")
    assert context.text == "delivery > ParcelTracker, parcel tracker > fetch"
