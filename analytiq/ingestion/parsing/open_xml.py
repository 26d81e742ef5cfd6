"""Packages of Office Open XML: the relations between parts, and the Strict form as the Transitional one."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZipFile

from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAMESPACE = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_TRANSITIONAL_NAMESPACE = rb"http://schemas.openxmlformats.org/\1/2006/"
_LONGEST_NAMESPACE = 128
_BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of a part: the last word of its type, and the part in the same package."""

    id: str
    kind: str
    part: str


def relations(archive: ZipFile, part: str) -> Iterator[Relation]:
    """Yield the relations of a part to parts that exist, in order; none if the part states none."""
    folder, name = posixpath.split(part)
    source = posixpath.join(folder, "_rels", f"{name}.rels")
    members = archive.NameToInfo
    if source not in members:
        return
    for relation in parsed_xml(archive.read(source)).iterchildren("{*}Relationship"):
        target = unquote(relation.get("Target", ""))
        path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        if relation.get("TargetMode") != "External" and path in members:
            yield Relation(relation.get("Id", ""), relation.get("Type", "").rpartition("/")[2], path)


def related_parts(archive: ZipFile, part: str, kind: str) -> Iterator[Element]:
    """Yield the roots of the parts to which a part has a relation of the kind."""
    for relation in relations(archive, part):
        if relation.kind == kind:
            yield parsed_xml(archive.read(relation.part))


def stated_title(archive: ZipFile) -> str:
    """Return the title in the package's properties; empty without one."""
    for properties in related_parts(archive, "", "core-properties"):
        title = properties.findtext("{*}title")
        if title:
            return title
    return ""


def transitional(path: Path, archive: ZipFile, main_part: str) -> Path | BinaryIO:
    """Return the package for libraries that know the Transitional form only: itself, or a copy of a Strict one."""
    with archive.open(main_part) as part:
        if _STRICT not in part.read(64 * 1024):
            return path
    copy = BytesIO()
    with ZipFile(copy, "w", ZIP_DEFLATED) as written:
        for member in archive.infolist():
            with archive.open(member) as source, written.open(member.filename, "w") as target:
                is_xml = member.filename.endswith((".xml", ".rels"))
                tail = b""
                while block := source.read(_BLOCK_BYTES):
                    tail += block
                    cut = _place_to_cut(tail) if is_xml else len(tail)
                    ready, tail = tail[:cut], tail[cut:]
                    target.write(_STRICT_NAMESPACE.sub(_TRANSITIONAL_NAMESPACE, ready) if is_xml else ready)
                target.write(_STRICT_NAMESPACE.sub(_TRANSITIONAL_NAMESPACE, tail))
    copy.seek(0)
    return copy


def _place_to_cut(block: bytes) -> int:
    """Return a place that is in no namespace: before the last quote, if a namespace might begin with it."""
    start = max(len(block) - _LONGEST_NAMESPACE, 0)
    quote = max(block.rfind(b'"', start), block.rfind(b"'", start))
    return quote if quote > 0 else len(block)
