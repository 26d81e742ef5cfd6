"""JSON, JSON Lines, YAML and XML: each value with the names that lead to it; API descriptions by operation.

What does not parse is read as plain text with its escapes decoded, so that words stay words.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import cast

import yaml
from lxml import etree

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import DecodedText, decode_text
from analytiq.ingestion.parsing.comments import trailing_comments
from analytiq.ingestion.parsing.data_tree import Record, TooLongError, Tree, paragraphs_of
from analytiq.ingestion.parsing.openapi import is_api, write_api
from analytiq.ingestion.parsing.plain_text import plain_pages, xml_encoding
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.ingestion.parsing.xml_part import attributes_of
from analytiq.models.text import ParsedDocument

LONGEST_YAML = 4 * 1024 * 1024
"""Most characters of YAML, whose library takes a second for each megabyte; a longer file is plain text."""
GROWTH = 12
"""Most characters of the text for each of the file: paths and shared parts repeat."""
MOST_DEPTH = 150
_YAML_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"')
_ESCAPE = re.compile(r'\\([nrtbf"\\/])')
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}
_REFERENCE = re.compile(r"&([\w.:-]{1,80});")
MOST_ENTITIES = 1_000
LONGEST_ENTITY = 200
"""Most characters of an entity that is replaced by its text: short names of products and signs."""
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|lt|gt|amp|quot|apos);")


class StructuredDataParser:
    """Named values as one page."""

    content_types = ("application/json", "application/x-ndjson", "application/yaml", "application/xml")
    extensions = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".xml")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the values; a file that is not of its format is plain text."""
        data = path.read_bytes()
        decoded = decode_text(data, hint=xml_encoding(data) or options.charset_hint)
        builder = TextBuilder()
        try:
            trees = trees_of(decoded.text, data)
            _write(trees, builder, GROWTH * len(decoded.text) + 10_000)
        except (ValueError, RecursionError, TooLongError, etree.XMLSyntaxError, yaml.YAMLError):
            return _as_plain(decoded)
        report_progress(1, 1)
        if builder.is_empty:
            return _as_plain(decoded)
        return ParsedDocument((builder.page(1),), decoded.warnings)


def trees_of(text: str, data: bytes) -> list[Tree]:
    """Parse the values of a file by its first character; several documents of one file are several trees."""
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        return [xml_tree(data, text)]
    if start in "{[" and start:
        try:
            return [json_tree(text)]
        except ValueError:
            return json_lines(text)
    if len(text) > LONGEST_YAML or "\n" not in text.strip():
        raise TooLongError
    return yaml_trees(text)


def json_tree(text: str) -> Tree:
    """Parse JSON; numbers stay as they are written, and a name that recurs is kept."""
    return _tree(json.loads(text, object_pairs_hook=_Pairs, parse_float=str, parse_int=str, strict=False))


class _Pairs(list[tuple[str, object]]):
    """The members of an object."""


def _tree(value: object, depth: int = 0) -> Tree:
    if depth > MOST_DEPTH:
        raise TooLongError
    if isinstance(value, _Pairs):
        return Record(tuple((name, _tree(each, depth + 1)) for name, each in value))
    if isinstance(value, list):
        return [_tree(each, depth + 1) for each in cast("list[object]", value)]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def json_lines(text: str) -> list[Tree]:
    """Parse a record a line, of which some may be damaged; raise ValueError if the first is, or one of three."""
    lines = [line for line in text.split("\n") if line.strip()]
    trees: list[Tree] = [json_tree(lines[0])]
    damaged = 0
    for line in lines[1:]:
        try:
            trees.append(json_tree(line))
        except ValueError:
            damaged += 1
            trees.append(unescaped(line))
    if 2 * damaged >= len(trees):
        raise ValueError(f"{damaged} of {len(trees)} lines are no records")
    return trees


def yaml_trees(text: str) -> list[Tree]:
    """Parse YAML without its types, which make `no` false and `12:30` a number; comments come first."""
    # A node takes a character or more: only aliases of aliases have more nodes than that.
    budget = iter(range(len(text) + 1))
    nodes = yaml.compose_all(text, Loader=yaml.CBaseLoader)
    trees = [_yaml_tree(node, budget) for node in nodes if node is not None]
    return ["\n".join(trailing_comments(text, trees)), *trees]


def _yaml_tree(node: yaml.Node, budget: Iterator[int], depth: int = 0) -> Tree:
    if depth > MOST_DEPTH or next(budget, None) is None:
        raise TooLongError
    if isinstance(node, yaml.MappingNode):
        return Record(tuple((_yaml_name(name), _yaml_tree(value, budget, depth + 1)) for name, value in node.value))
    if isinstance(node, yaml.SequenceNode):
        return [_yaml_tree(value, budget, depth + 1) for value in node.value]
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _yaml_name(node: object) -> str:
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def xml_tree(data: bytes, text: str) -> Tree:
    """Parse XML without its entities of files; text between elements keeps its order."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        body = re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", text, count=1)
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
        )
        root = etree.fromstring(body.encode("utf-8", "replace"), parser)
    return Record(((_local(root), _xml_tree(root, 0, _entities_of(root))),))


def _entities_of(root: etree._Element) -> dict[str, str]:  # pyright: ignore[reportPrivateUsage] -- lxml has no other name
    """Return the plain texts that the file defines for its entities; those of others, and of files, are left out."""
    declared = root.getroottree().docinfo.internalDTD
    entities = islice(declared.iterentities(), MOST_ENTITIES) if declared is not None else ()
    texts = ((str(entity.name), str(entity.content or "")) for entity in entities)
    return {name: text for name, text in texts if 0 < len(text) <= LONGEST_ENTITY and not {*text} & {"&", "<", "%"}}


def _xml_tree(element: etree._Element, depth: int, entities: Mapping[str, str]) -> Tree:  # pyright: ignore[reportPrivateUsage]
    if depth > MOST_DEPTH:
        raise TooLongError
    attributes: list[tuple[str, Tree]] = [(_bare(name), value) for name, value in attributes_of(element)]
    children = [child for child in element if isinstance(child.tag, str)]
    own = [element.text, *(child.tail for child in element)]
    if not children or any(part and part.strip() for part in own):
        words = "".join(str(part) for part in element.itertext())
        words = _REFERENCE.sub(lambda match: entities.get(match[1], match[0]), words) if entities else words
        words = " ".join(words.split()) if children else words
        inner = [(_bare(n), v) for each in children for one in each.iter() for n, v in attributes_of(one)]
        named = [*attributes, *cast("list[tuple[str, Tree]]", inner)]
        return Record((*named, ("", words.strip()))) if named else words.strip()
    return Record((*attributes, *((_local(child), _xml_tree(child, depth + 1, entities)) for child in children)))


def _local(element: etree._Element) -> str:  # pyright: ignore[reportPrivateUsage]
    return _bare(str(element.tag))


def _bare(name: str) -> str:
    return name.rpartition("}")[2]


def _write(trees: list[Tree], builder: TextBuilder, most: int) -> None:
    length = 0
    for tree in trees:
        if is_api(tree):
            write_api(tree, builder, most)
            continue
        for paragraph in paragraphs_of(tree):
            length += len(paragraph)
            if length > most:
                raise TooLongError
            builder.paragraph(paragraph)


def _as_plain(decoded: DecodedText) -> ParsedDocument:
    return ParsedDocument(plain_pages(unescaped(decoded.text)), decoded.warnings)


def unescaped(text: str) -> str:
    """Decode the escapes of JSON, YAML and XML in a text that is none of them as a whole."""
    if text.lstrip().startswith("<"):
        return _ENTITY.sub(_entity, text)
    text = _STRING.sub(lambda string: _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), string[0]), text)
    text = _YAML_ESCAPE.sub(lambda match: _character(match[1] or match[2] or match[3], match[0]), text)
    # Two escapes of one character beyond the first plane.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(code: str, written: str) -> str:
    number = int(code, 16)
    return chr(number) if 0x20 <= number <= 0x10FFFF else written


def _entity(match: re.Match[str]) -> str:
    return html.unescape(match[0])
