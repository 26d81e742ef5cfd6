"""The extent of a text's flaws, as its document shows it."""

import re

from analytiq.models.flaws import FlawCount, FlawKind
from analytiq.models.text import DocumentText, PageLocator

_WORD = re.compile(r"\S+")


def flaw_counts(text: DocumentText) -> tuple[FlawCount, ...]:
    """Return the words and pages of each kind of flaw in the text, in the order of the kinds."""
    locator = PageLocator(text.pages) if text.flaws else None
    words: dict[FlawKind, int] = {}
    pages: dict[FlawKind, set[int]] = {}
    for flaw in text.flaws:
        assert locator is not None  # noqa: S101  # the text has a flaw
        count = sum(1 for _ in _WORD.finditer(text.text, flaw.start, flaw.end))
        words[flaw.kind] = words.get(flaw.kind, 0) + count
        first, last = locator.between(flaw.start, flaw.end)
        pages.setdefault(flaw.kind, set()).update(range(first, last + 1))
    return tuple(
        FlawCount(kind=kind, word_count=words[kind], page_count=len(pages[kind])) for kind in FlawKind if kind in words
    )
