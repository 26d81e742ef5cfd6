"""Counts of complete pairs: the proof that nothing is left over, without a second scan.

A pass that finds the own file of every document, whole, has read as many files as there are documents. If the files are
no more than these, none is left over. The same holds for the chunks of files, texts and their segments.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of documents, files, chunks of files, texts and segments of texts."""

    documents: int = 0
    files: int = 0
    chunks: int = 0
    texts: int = 0
    segments: int = 0

    def __add__(self, other: "Parts") -> "Parts":
        """Return the sums."""
        return Parts(
            self.documents + other.documents,
            self.files + other.files,
            self.chunks + other.chunks,
            self.texts + other.texts,
            self.segments + other.segments,
        )


class Pairs:
    """The parts that the latest pass over all documents has found whole; None if it found drift or has not ended."""

    def __init__(self) -> None:
        self.whole: Parts | None = None
