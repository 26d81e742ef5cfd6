"""Escapes of settings, records and terminals are read as people read them, and comments are kept."""

from pathlib import Path

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect, hints_of
from analytiq.ingestion.parsing.registry import default_registry, load_parser


def read(folder: Path, name: str, content: bytes) -> str:
    path = folder / name
    path.write_bytes(content)
    parser = load_parser(default_registry().entry_for(detect(path, hints_of(name))).reference)
    return parser.parse(path, ParseOptions(), lambda done, total: None).pages[0].text


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.properties", b"city=M\\u00fcnchen\nzh : \\u4e2d\\ud83d\\ude00", ["city: München", "zh: 中😀"]),
        (
            "a.properties",
            b"web\\:site=http\\://a.example\nan\\ other key",
            ["web:site: http://a.example", "an other: key"],
        ),
        ("a.properties", b"# Ports\nlong=one \\\n   two\\\\\n! end\nlast=\\", ["Ports", "long: one two\\", "end"]),
        ("a.properties", "gruß=ä\\u00e4".encode("latin-1"), ["gruß: ää"]),
        ("a.toml", b'a = "\\u00fc"\n[b]\nc = 1_000\nd = """\none \\\n  two"""', ["a: ü", "b.c: 1000", "b.d: one two"]),
        ("a.toml", b"a = 30 # seconds\n# above\nb = '# kept'", ["seconds", "above", "", "a: 30", "b: # kept"]),
        ("a.toml", b"a = no TOML", ["a = no TOML"]),
        ("a.yaml", b"wait: 30  # seconds\ntext: |\n  a # b\nnext: 'c'\n", ["seconds", "", "wait: 30", "text: a # b"]),
        ("a.json5", b'{a: "\\u00e9 \\"b\\"", // why\n}', ['{a: "é "b"", // why', "}"]),
        (
            "a.ndjson",
            b'{"a": "1"}\n{"a": "2", \n{"a": "3"}\n{"a": "4"}',
            ["a: 1", "", '{"a": "2",', "", "a: 3", "", "a: 4"],
        ),
        (
            "a.xml",
            b'<!DOCTYPE r [<!ENTITY co "Acme"><!ENTITY f SYSTEM "file:///etc/host">]><r><p>By &co; in 2024 &f;</p></r>',
            ["r.p: By Acme in 2024 &f;"],
        ),
        ("a.xml", b"<r><p>one<!-- no -->, two<?pi?> three</p></r>", ["r.p: one, two three"]),
        ("a.log", b"N\bNA\bAM\bME\bE  _\bo_\bn\n\x1b[1mbold\x1b[0m", ["NAME  on", "bold"]),
        (
            "a.ipynb",
            b'{"cells": [{"cell_type": "code", "source": "", "outputs": [{"text": "\\u001b[31mred\\u001b[0m"}]}]}',
            ["```", "red", "```"],
        ),
    ],
)
def test_escapes_are_read_as_people_read_them(tmp_path: Path, name: str, content: bytes, lines: list[str]) -> None:
    assert read(tmp_path, name, content).splitlines()[: len(lines)] == lines


def test_entities_that_grow_without_end_are_not_expanded(tmp_path: Path) -> None:
    entities = (
        '<!ENTITY a "'
        + "ha" * 90
        + '">'
        + "".join(
            f'<!ENTITY {name} "&{before};&{before};&{before};">'
            for before, name in zip("abcdefgh", "bcdefghi", strict=True)
        )
    )
    text = read(tmp_path, "a.xml", f"<!DOCTYPE r [{entities}]><r>{'&a;' * 20_000} &i;</r>".encode())
    assert len(text) < 2_000_000
