"""Unpacking of parts: the files in an archive or mailbox, and the attachments of e-mails and PDFs.

It runs in the sandbox. The bytes of the parts go into the file of the outcome, one part behind the other; nothing is
ever written under a name that a container chooses.
"""

import io
import os
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions, ParserEntry, PartSink, ReportProgress
from analytiq.ingestion.parsing.formats import detect_in, hints_of
from analytiq.ingestion.parsing.outcome_file import MAX_UNPACKED_BYTES
from analytiq.ingestion.parsing.registry import BUILT_IN_PARSERS, ParserRegistry
from analytiq.models.parts import FoundPart, RefusedPart, refusal_warnings
from analytiq.models.text import ParsedDocument

LONGEST_SEGMENT = 200
LONGEST_PATH = 700
MEBIBYTE = 1024 * 1024

SYSTEM_NAMES = frozenset({".ds_store", "thumbs.db", "desktop.ini", "ehthumbs.db", ".localized"})
SYSTEM_FOLDERS = frozenset({"__macosx", ".spotlight-v100", ".trashes", ".fseventsd"})
_REVERSING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})
UNNAMED = "unnamed"


class UnreadablePartError(Exception):
    """A part cannot be unpacked, others can; its text is the reason as it follows a name in brackets."""


class PartCollector:
    """Collects the parts of one document.

    Args:
        file: takes the bytes; None: parts are named only.
        most: most parts to take in; 0 says that the document lies too deep in others.
        installed: parsers of other packages.
    """

    def __init__(self, file: BinaryIO | None = None, *, most: int = 0, installed: Iterable[ParserEntry] = ()) -> None:
        self._registry = ParserRegistry((*BUILT_IN_PARSERS, *installed))
        self._file = file
        self._most = most
        self._found: list[FoundPart] = []
        self._refused: list[RefusedPart] = []
        self._paths: list[str] = []
        self._counts: Counter[str] = Counter()
        self._system_files = 0
        self._end = 0

    @property
    def found(self) -> tuple[FoundPart, ...]:
        """The unpacked parts."""
        return tuple(self._found)

    @property
    def paths(self) -> Sequence[str]:
        """The cleaned paths of all parts so far, in order."""
        return self._paths

    def add(self, path: str, content: Iterable[bytes], *, declared: str | None = None) -> None:
        """Take in a part, or note the reason against it.

        Raises:
            LimitExceededError: all parts together unpack to too much.
        """
        kept = self._next_path(path)
        if kept is None:
            return
        if self._file is None:
            self._refused.append(RefusedPart(kept, "its container was read by itself"))
        elif self._most == 0:
            self._refused.append(RefusedPart(kept, "packed too deep in other files"))
        elif len(self._found) >= self._most:
            self._refused.append(RefusedPart(kept, f"more than {self._most:,} parts"))
        else:
            self._write(self._file, kept, content, declared)

    def refuse(self, path: str, reason: str) -> None:
        """Note a part that cannot be unpacked."""
        kept = self._next_path(path)
        if kept is not None:
            self._refused.append(RefusedPart(kept, reason))

    def warnings(self) -> tuple[str, ...]:
        """Return the sentences on parts that were not taken in."""
        warnings = list(refusal_warnings(self._refused))
        if self._system_files:
            noun = "file" if self._system_files == 1 else "files"
            warnings.append(
                f"{self._system_files:,} {noun} of the operating system (such as __MACOSX, .DS_Store) left out"
            )
        return tuple(warnings)

    def _next_path(self, path: str) -> str | None:
        """Return the cleaned path, unique among the parts; count the files of systems instead."""
        kept = clean_path(path)
        if _is_of_a_system(kept):
            self._system_files += 1
            return None
        self._counts[kept] += 1
        if self._counts[kept] > 1:
            kept = self._numbered(kept)
        self._paths.append(kept)
        return kept

    def _numbered(self, path: str) -> str:
        """Return the path of a further file of the same path: `a.txt`, `a (2).txt`."""
        pure = PurePosixPath(path)
        while True:
            numbered = str(pure.with_name(f"{pure.stem} ({self._counts[path]}){pure.suffix}"))
            if numbered not in self._counts:
                self._counts[numbered] += 1
                return numbered
            self._counts[path] += 1

    def _write(self, file: BinaryIO, path: str, content: Iterable[bytes], declared: str | None) -> None:
        start = self._end
        file.seek(start)
        try:
            for block in content:
                self._end += len(block)
                if self._end > MAX_UNPACKED_BYTES:
                    raise LimitExceededError(
                        f"The file unpacks to more than {MAX_UNPACKED_BYTES // MEBIBYTE} MiB. Split it."
                    )
                file.write(block)
            file.flush()
            reason = self._reason_against(file, path, start, declared)
        except UnreadablePartError as error:
            reason = str(error)
        if reason is not None:
            self._end = start
            self._refused.append(RefusedPart(path, reason))

    def _reason_against(self, file: BinaryIO, path: str, start: int, declared: str | None) -> str | None:
        if self._end == start:
            return "empty"
        hints = hints_of(PurePosixPath(path).name, declared=declared, registry=self._registry)
        content_type = detect_in(io.BufferedReader(_Window(file.fileno(), start, self._end)), hints)
        if not self._registry.reads(content_type):
            return f"files of type {content_type} are not read"
        self._found.append(FoundPart(path, content_type, start, self._end))
        return None


class NamingParser(ABC):
    """A parser of containers: without a place for their parts, it names them."""

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the container, and name its parts in the text and the warnings."""
        parts = PartCollector()
        document = self.parse_with_parts(path, options, report_progress, parts)
        return replace(document, warnings=(*document.warnings, *parts.warnings()))

    @abstractmethod
    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Read the container, and hand over its parts."""


class _Window(io.RawIOBase):
    """A range of a file, as a file."""

    def __init__(self, descriptor: int, start: int, end: int) -> None:
        super().__init__()
        self._descriptor, self._start, self._end = descriptor, start, end
        self._position = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        origin = {os.SEEK_SET: self._start, os.SEEK_CUR: self._position, os.SEEK_END: self._end}[whence]
        self._position = max(origin + offset, self._start)
        return self._position - self._start

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] -- a part of the buffer protocol is enough
        size = max(min(len(buffer), self._end - self._position), 0)
        data = os.pread(self._descriptor, size, self._position)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


def clean_path(path: str) -> str:
    """Return a path of a container as a relative one without `..`, controls and overlong names."""
    segments = unicodedata.normalize("NFC", path.replace("\\", "/")).split("/")
    if segments and len(segments[0]) == 2 and segments[0].endswith(":"):  # a drive
        del segments[0]
    kept = [_clean_segment(segment) for segment in segments if segment.strip() not in ("", ".", "..")]
    while len(kept) > 1 and sum(map(len, kept)) + len(kept) > LONGEST_PATH:
        del kept[0]
    return "/".join(kept) or UNNAMED


def _clean_segment(segment: str) -> str:
    clean = "".join("_" if _moves_text(character) else character for character in segment).strip()
    if len(clean) > LONGEST_SEGMENT:
        suffix = PurePosixPath(clean).suffix[:20]
        clean = clean[: LONGEST_SEGMENT - len(suffix)].rstrip() + suffix
    return clean or UNNAMED


def _moves_text(character: str) -> bool:
    """Return True for controls, lone surrogates, line separators, and marks that reverse the text."""
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return True
    return unicodedata.bidirectional(character) in _REVERSING


def _is_of_a_system(path: str) -> bool:
    *folders, name = path.lower().split("/")
    return name in SYSTEM_NAMES or name.startswith("._") or not SYSTEM_FOLDERS.isdisjoint(folders)
