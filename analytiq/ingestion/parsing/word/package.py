"""The parts of a Word document's package, found by their relations, else by their usual names."""

import posixpath
import re
from collections.abc import Iterator
from typing import IO
from zipfile import ZipFile

from lxml import etree

from analytiq.ingestion.parsing.word.names import any_attribute
from analytiq.ingestion.parsing.xml_part import Element, parsed_xml

_USUAL_MAIN = "word/document.xml"
_DIGITS = re.compile(r"(\d+)")


class WordPackage:
    """A package opened by `open_package`."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._names = {name.lower(): name for name in archive.namelist()}
        self._relations: dict[str, dict[str, tuple[str, str]]] = {}
        self.main = self._main()

    def part(self, kind: str) -> str | None:
        """Return the name of the main part's only part of a kind, such as `styles`."""
        return next(iter(self.parts(kind)), None)

    def parts(self, kind: str) -> list[str]:
        """Return the names of all parts of a kind, such as `header`, in their natural order."""
        found = {target for name, target in self._related(self.main).values() if name == kind}
        usual = re.compile(rf"{re.escape(posixpath.dirname(self.main))}/{kind}\d*\.xml", re.IGNORECASE)
        found.update(name for name in self._names.values() if usual.fullmatch(name))
        return sorted(found, key=_natural)

    def parts_below(self, *folders: str) -> list[str]:
        """Return the names of the XML parts in folders beside the main part, such as `charts`."""
        base = posixpath.dirname(self.main)
        starts = tuple(f"{base}/{folder}/" for folder in folders)
        return sorted(
            (name for name in self._names.values() if name.startswith(starts) and name.endswith(".xml")), key=_natural
        )

    def target(self, part: str, relation_id: str | None) -> str | None:
        """Return the name of the part to which a relation of `part` leads."""
        return self._related(part).get(relation_id or "", ("", None))[1]

    def root(self, name: str | None) -> Element | None:
        """Return the root of an XML part, None without such a part."""
        if name is None or name.lower() not in self._names:
            return None
        return parsed_xml(self.read(name))

    def read(self, name: str) -> bytes:
        """Return the bytes of a part."""
        return self._archive.read(self._names[name.lower()])

    def open(self, name: str) -> IO[bytes]:
        """Open a part to read it bit by bit."""
        return self._archive.open(self._names.get(name.lower(), name))

    def _main(self) -> str:
        for kind, target in self._related("").values():
            if kind == "officeDocument":
                return target
        return self._names.get(_USUAL_MAIN, _USUAL_MAIN)

    def _related(self, part: str) -> dict[str, tuple[str, str]]:
        """Return kind and target of each relation of a part whose target is in the package."""
        if part not in self._relations:
            self._relations[part] = dict(self._read_relations(part))
        return self._relations[part]

    def _read_relations(self, part: str) -> Iterator[tuple[str, tuple[str, str]]]:
        folder, base = posixpath.split(part)
        root = self.root(posixpath.join(folder, "_rels", f"{base}.rels"))
        for relation in () if root is None else root.iterchildren(etree.Element):
            target = any_attribute(relation, "Target") or ""
            name = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            stored = self._names.get(name.lower())
            if stored is not None and any_attribute(relation, "TargetMode") != "External":
                kind = (any_attribute(relation, "Type") or "").rpartition("/")[2]
                yield any_attribute(relation, "Id") or "", (kind, stored)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(len(piece) if piece.isdigit() else 0, piece) for piece in _DIGITS.split(name)]
