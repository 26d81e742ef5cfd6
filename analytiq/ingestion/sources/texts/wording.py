"""Names and Markdown of documents that are made from a service's texts."""

import re

from analytiq.ingestion.documents.naming import is_control

LONGEST_TITLE = 80
"""Most characters of a title within a document's name."""
LONGEST_TEXT = 200_000
"""Most characters of one message or comment; the rest is cut off."""
_SPECIAL = re.compile(r"[\\`\[\]]")
_LINE_START = re.compile(r"^(\s{0,3})(#{1,6}(?=\s)|=+\s*$|-{3,}\s*$|\+(?=\s)|~~~)", re.MULTILINE)


def segment_of(text: str, *, most: int = LONGEST_TITLE, otherwise: str = "untitled") -> str:
    """Return a text as one segment of a document's path."""
    cleaned = "".join(
        " " if is_control(character) or character in "/\\" else character for character in text[: most * 8]
    )
    short = " ".join(cleaned.split())[:most].strip()
    return short if short.strip(".") else otherwise


def one_line(text: str, *, most: int = 200) -> str:
    """Return a text as one line, such as a heading."""
    cleaned = "".join(" " if is_control(character) else character for character in text[: most * 8])
    return " ".join(cleaned.split())[:most]


def plain(text: str) -> str:
    """Return a text as Markdown that shows it as it is, with its line breaks."""
    escaped = _SPECIAL.sub(r"\\\g<0>", text).replace("&", "&amp;").replace("<", "&lt;")
    return _LINE_START.sub(r"\1\\\2", escaped)
