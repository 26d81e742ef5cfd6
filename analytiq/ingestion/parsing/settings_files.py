"""Settings as named values: Java properties and TOML, their escapes decoded."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import DecodedText, decode_text
from analytiq.ingestion.parsing.comments import trailing_comments
from analytiq.ingestion.parsing.data_tree import Record, Tree, paragraphs_of
from analytiq.ingestion.parsing.formats import PROPERTIES, TOML
from analytiq.ingestion.parsing.plain_text import plain_pages
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

MOST_DEPTH = 150
_PAIR = re.compile(r"(?P<name>(?:[^\\=:\s]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\n", "f": " "}
_OPEN_ENDED = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")


class PropertiesParser:
    """Java properties as one page; comments stay at their places."""

    content_types = (PROPERTIES,)
    extensions = (".properties",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the pairs: escapes decoded, lines that go on joined."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        report_progress(1, 1)
        return _page(decoded, Record(tuple(properties_of(decoded.text))))


class TomlParser:
    """TOML as one page; its comments come first."""

    content_types = (TOML,)
    extensions = (".toml",)

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the values; a file that is no TOML is plain text."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        report_progress(1, 1)
        try:
            values = tomllib.loads(decoded.text.replace("\r\n", "\n"), parse_float=str)
            tree = _tree(values)
        except (ValueError, RecursionError):
            return ParsedDocument(plain_pages(decoded.text), decoded.warnings)
        return _page(decoded, "\n".join(trailing_comments(decoded.text, [tree])), tree)


def properties_of(text: str) -> Iterator[tuple[str, Tree]]:
    """Yield the pairs of a file of properties; comments have no name."""
    together = ""
    for line in text.splitlines():
        words = line.lstrip(" \t\f")
        if not together and words[:1] in {"#", "!"}:
            yield "", words.lstrip("#! \t")
            continue
        if _OPEN_ENDED.search(words):
            together += words[:-1]
            continue
        if pair := _PAIR.match(together + words):
            yield _unescaped(pair["name"]), _unescaped(pair["value"])
        together = ""
    if together and (pair := _PAIR.match(together)):
        yield _unescaped(pair["name"]), _unescaped(pair["value"])


def _unescaped(text: str) -> str:
    decoded = _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _CONTROLS.get(match[2], match[2]), text)
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _tree(value: object, depth: int = 0) -> Tree:
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return Record(tuple((name, _tree(each, depth + 1)) for name, each in members.items()))
    if isinstance(value, list):
        return [_tree(each, depth + 1) for each in cast("list[object]", value)]
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _page(decoded: DecodedText, *trees: Tree) -> ParsedDocument:
    builder = TextBuilder()
    for tree in trees:
        for paragraph in paragraphs_of(tree):
            builder.paragraph(paragraph)
    if builder.is_empty:
        return ParsedDocument(plain_pages(decoded.text), decoded.warnings)
    return ParsedDocument((builder.page(1),), decoded.warnings)
