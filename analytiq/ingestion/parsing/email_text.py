"""The plain text of an e-mail as blocks: paragraphs, and what is quoted from earlier messages."""

import re

from analytiq.ingestion.parsing.text_builder import TextBuilder

_QUOTE_MARK = re.compile(r"(?:> ?)+")
_SIGNATURE = "-- "


def write_plain_text(builder: TextBuilder, text: str, *, is_flowed: bool, drops_blanks: bool = False) -> None:
    """Write paragraphs parted by empty lines, and runs of lines with the mark `>` as quotations.

    Args:
        builder: The page.
        text: The decoded text.
        is_flowed: The sender broke lines after a blank where the paragraph goes on (RFC 3676).
        drops_blanks: The blank at such a break is no part of the text, which may be broken within a word.
    """
    lines: list[str] = []
    depth = 0

    def flush() -> None:
        joined = (
            _unfolded(lines, drops_blanks=drops_blanks) if is_flowed else "\n".join(line.rstrip() for line in lines)
        )
        if depth:
            builder.quote(joined)
        else:
            builder.paragraph(joined)
        lines.clear()

    for line in text.splitlines():
        mark = _QUOTE_MARK.match(line)
        line_depth = mark[0].count(">") if mark else 0
        words = line[mark.end() :] if mark else line
        if line_depth != depth or not words.strip():
            flush()
            depth = line_depth
        if words.strip():
            lines.append(words.removeprefix(" ") if is_flowed and not mark else words)
    flush()


def _unfolded(lines: list[str], *, drops_blanks: bool) -> str:
    parts: list[str] = []
    for line in lines:
        goes_on = line.endswith(" ") and line != _SIGNATURE
        going = line[:-1] if drops_blanks else line
        parts.append(going if goes_on else line.rstrip() + "\n")
    return "".join(parts)
