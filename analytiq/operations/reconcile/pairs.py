"""Counts of complete pairs: the proof that nothing is left over, without a second scan.

A pass that finds the own file of every document, whole, has read as many files as there are documents. If the files are
no more than these, none is left over. The same holds for the chunks of files, texts and their segments.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from analytiq.storage.repositories.document_survey import DocumentSurvey

Two = tuple[int, int]


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

    async def are_all(
        self, documents: DocumentSurvey, count: Callable[[], Awaitable[Two]], numbers_of: Callable[[Parts], Two]
    ) -> tuple[bool, bool]:
        """Return for each of two kinds of parts whether all that exist are those found with the documents.

        Args:
            documents: counts the documents, of which none may have come or gone since.
            count: counts the present parts of both kinds.
            numbers_of: the two numbers of what was found.
        """
        whole = self.whole
        if whole is None:
            return False, False
        first, second = await count()
        is_same = await documents.count_all() == whole.documents
        of_first, of_second = numbers_of(whole)
        return is_same and first == of_first, is_same and second == of_second
