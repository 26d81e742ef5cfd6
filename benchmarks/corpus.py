"""Documents for ingestion benchmarks: SciFact's abstracts if available, else generated ones."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

SEED = 20_261_128
APPENDED = " A sentence was appended after the first ingestion."
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfghklmnprstv" for vowel in "aeiou")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file on disk."""

    path: Path

    @property
    def name(self) -> str:
        """The uploaded name."""
        return self.path.name

    @property
    def content(self) -> bytes:
        """The file's present bytes."""
        return self.path.read_bytes()


def write_corpus(directory: Path, count: int, source: Path | None) -> list[TextFile]:
    """Write `count` abstracts as text files.

    Args:
        directory: an existing directory.
        count: the number of files.
        source: a file in BEIR's `corpus.jsonl` format ({"_id", "title", "text"} a line), or None for generated
            texts of similar length, the same at every run.
    """
    texts = _made_up(count) if source is None else islice(_abstracts(source), count)
    files: list[TextFile] = []
    for number, text in enumerate(texts):
        file = TextFile(directory / f"abstract-{number:05}.txt")
        file.path.write_text(text, encoding="utf-8")
        files.append(file)
    if len(files) < count:
        raise SystemExit(f"{source} has {len(files)} abstracts; ask for at most so many")
    return files


def append_sentence(files: list[TextFile]) -> None:
    """Append a sentence to each file."""
    for file in files:
        with file.path.open("a", encoding="utf-8") as target:
            target.write(APPENDED)


def _abstracts(source: Path) -> Iterator[str]:
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield f"{row['title']}\n\n{row['text']}"


def _made_up(count: int) -> Iterator[str]:
    """Yield texts whose word frequencies resemble natural language; about 1,500 characters each."""
    chance = random.Random(SEED)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(8000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    for _ in range(count):
        sentences: list[str] = []
        for _ in range(chance.randint(6, 14)):
            sentence = " ".join(chance.choices(words, weights, k=chance.randint(12, 34)))
            sentences.append(f"{sentence.capitalize()}.")
        yield f"{sentences[0]}\n\n{' '.join(sentences[1:])}"
