"""Completeness of extraction: the visible words of files that their texts lack, by kind of file.

    make eval-completeness [DIRECTORIES="DIRECTORY …"]
    python -m benchmarks.completeness [DIRECTORY …] [--kind KIND …]

`benchmarks.source_words` reads each file a second time by a plain reader. A file that is refused, or has no plain
reader, is not counted.
"""

import argparse
import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import hints_of
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.sandbox import detect_in_child, parse_in_child
from analytiq.models.text import join_pages
from benchmarks import report
from benchmarks.extraction import SAMPLES
from benchmarks.source_words import pieces_of

_WORD = re.compile(r"[^\W_]+")
LEAST_INSIDE = 3
"""Characters from which on a word counts as found inside of others: readers part words differently."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A file's words by its plain reader, and those that the extracted text lacks."""

    path: Path
    words: int
    lost: Counter[str]
    warnings: tuple[str, ...]


def lost_words(source: Iterable[str], text: str) -> tuple[int, Counter[str]]:
    """Return the number of words of a source, and the words that a text lacks."""
    words = Counter(word for piece in source for word in _WORD.findall(unicodedata.normalize("NFKC", piece)))
    text = unicodedata.normalize("NFKC", text)
    lost = words - Counter(_WORD.findall(text))
    squeezed = "".join(_WORD.findall(text))
    return words.total(), Counter({
        word: count for word, count in lost.items() if len(word) < LEAST_INSIDE or word not in squeezed
    })  # fmt: skip


async def compare(path: Path) -> Comparison | None:
    """Compare a file; None if it is refused or has no plain reader."""
    try:
        content_type = await detect_in_child(path, hints_of(path.name))
        parsed = await parse_in_child(path, content_type=content_type, options=ParseOptions(), limits=ParseLimits())
    except AnalytiqError:
        return None
    source = pieces_of(path)
    if source is None:
        return None
    words, lost = lost_words(source, join_pages(parsed.pages, title=parsed.title).text)
    return Comparison(path, words, lost, parsed.warnings)


def files_in(directories: Sequence[Path]) -> list[Path]:
    """Return all files below directories."""
    return sorted(
        path
        for directory in directories
        for path in directory.resolve().rglob("*")
        if path.is_file() and not path.name.startswith("truth")
    )


async def compare_all(paths: Sequence[Path], *, slots: int) -> list[Comparison]:
    """Compare all files, a few at a time."""
    gate = asyncio.Semaphore(slots)

    async def one(path: Path) -> Comparison | None:
        async with gate:
            return await compare(path)

    return [found for found in await asyncio.gather(*map(one, paths)) if found is not None]


def print_report(found: Sequence[Comparison]) -> None:
    """Print each loss, and a table by kind of file."""
    for one in found:
        if one.lost:
            words = ", ".join(f"{word} ×{count}" for word, count in one.lost.most_common(12))
            print(
                f"{one.path.name}: {one.lost.total()} of {one.words} words: {words}; {' / '.join(one.warnings)}"[:700]
            )
    kinds = sorted({one.path.suffix.lower() for one in found})
    rows = [_row(kind, [one for one in found if one.path.suffix.lower() == kind]) for kind in kinds]
    report.print_table(("kind", "files", "words", "files with losses", "words lost"), [*rows, _row("all", found)])


def _row(kind: str, found: Sequence[Comparison]) -> list[str]:
    return [
        kind,
        str(len(found)),
        str(sum(one.words for one in found)),
        str(sum(bool(one.lost) for one in found)),
        str(sum(one.lost.total() for one in found)),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description="Visible words that extraction loses.", formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("directories", nargs="*", type=Path, default=[SAMPLES], help="directories of files")
    parser.add_argument("--kind", nargs="+", help="only files with these endings, such as pdf")
    parser.add_argument("--slots", type=int, default=2, help="files that are read at once")
    options = parser.parse_args(argv)
    kinds = {f".{kind}" for kind in options.kind or ()}
    paths = [path for path in files_in(options.directories) if not kinds or path.suffix.lower() in kinds]
    report.print_heading("Visible words that the extracted text lacks")
    print_report(asyncio.run(compare_all(paths, slots=options.slots)))


if __name__ == "__main__":
    main()
