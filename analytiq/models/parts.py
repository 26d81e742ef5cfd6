"""Parts of a document: files in an archive, messages of a mailbox, attachments."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

NAMED_PARTS = 10
"""Most parts that a warning names."""
LOCKED = "needs a password: give the archive its password"
"""The reason against an encrypted file in an archive."""


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part that a parser has unpacked: `file[start:end]` of the file of parts.

    Attributes:
        path: within the container, unique there.
        content_type: by its bytes.
    """

    path: str
    content_type: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RefusedPart:
    """A part that becomes no document, with the reason as it follows a name in brackets."""

    path: str
    reason: str


def refusal_warnings(refused: Sequence[RefusedPart]) -> Iterator[str]:
    """Yield a sentence that counts refused parts and names the first of them with their reasons."""
    if not refused:
        return
    by_reason: dict[str, list[str]] = {}
    for part in refused[:NAMED_PARTS]:
        by_reason.setdefault(part.reason, []).append(repr(part.path))
    named = "; ".join(f"{', '.join(paths)} ({reason})" for reason, paths in by_reason.items())
    rest = f"; and {len(refused) - NAMED_PARTS:,} more" if len(refused) > NAMED_PARTS else ""
    noun = "part was" if len(refused) == 1 else "parts were"
    yield f"{len(refused):,} {noun} not taken in: {named}{rest}"
