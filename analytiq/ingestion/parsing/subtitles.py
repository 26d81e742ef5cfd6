"""Subtitles (SRT and WebVTT): cues that belong together are a paragraph behind its times."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text
from analytiq.ingestion.parsing.plain_text import plain_pages
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument

PAUSE_SECONDS = 3.0
"""Silence that ends a paragraph."""
USUAL_CHARACTERS = 400
MOST_CHARACTERS = 1200
_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^ >\n]{0,80})?[ \t]{1,9}([^>\n]{1,80})>")
_TAG = re.compile(r"</?[a-zA-Z0-9:][^<>\n]{0,200}>|\{\\[^{}\n]{0,80}\}")
_SENTENCE_END = re.compile(r"[.!?\u2026\u3002\uff01\uff1f][\"')\u201d\u00bb]?\Z")


@dataclass(frozen=True, slots=True)
class Cue:
    """Words and their times, in seconds; a note has no times."""

    text: str
    start: float = 0.0
    end: float = 0.0


class SubtitleParser:
    """The spoken text as one page."""

    content_types = ("application/x-subrip", "text/vtt")
    extensions = (".srt", ".vtt")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the cues; a file without times is plain text."""
        decoded = decode_text(path.read_bytes(), hint=options.charset_hint)
        cues = list(cues_of(decoded.text.replace("\r\n", "\n").replace("\r", "\n")))
        report_progress(1, 1)
        if not any(cue.end for cue in cues):
            return ParsedDocument(plain_pages(decoded.text), decoded.warnings)
        builder = TextBuilder()
        for paragraph in paragraphs_of(cues):
            builder.paragraph(paragraph)
        return ParsedDocument((builder.page(1),), decoded.warnings)


def cues_of(text: str) -> Iterator[Cue]:
    """Yield the cues of a file, and its notes."""
    for block in re.split(r"\n[ \t]*\n", text):
        lines = block.strip("\n").split("\n")
        place = next((number for number, line in enumerate(lines[:3]) if _TIMES.match(line)), None)
        if place is None:
            is_head = lines[0].startswith(("WEBVTT", "STYLE", "REGION"))
            note = "" if is_head else block.strip().removeprefix("NOTE").strip()
            if note and not note.isdigit():
                yield Cue(note)
            continue
        match = _TIMES.match(lines[place])
        if match is None:
            continue
        words = " ".join(_plain(line) for line in lines[place + 1 :]).strip()
        if words:
            yield Cue(words, _seconds(match.groups()[:4]), _seconds(match.groups()[4:]))


def paragraphs_of(cues: list[Cue]) -> Iterator[str]:
    """Join cues until a pause, or a sentence's end in a long paragraph."""
    together: list[Cue] = []
    length = 0
    for cue in cues:
        if together and _is_over(together[-1], cue, length):
            yield _paragraph(together)
            together, length = [], 0
        together.append(cue)
        length += len(cue.text)
    if together:
        yield _paragraph(together)


def _is_over(last: Cue, cue: Cue, length: int) -> bool:
    is_full = length >= MOST_CHARACTERS or (length >= USUAL_CHARACTERS and bool(_SENTENCE_END.search(last.text)))
    return is_full or not last.end or not cue.end or cue.start - last.end > PAUSE_SECONDS


def _paragraph(cues: list[Cue]) -> str:
    words = " ".join(cue.text for cue in cues)
    return f"{_clock(cues[0].start)}\u2013{_clock(cues[-1].end)} {words}" if cues[-1].end else words


def _plain(line: str) -> str:
    return html.unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line))).strip()


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(fraction.ljust(3, "0")) / 1000


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
