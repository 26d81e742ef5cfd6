"""Mailboxes (mbox): their messages become documents of their own, with their attachments as parts in turn."""

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from pathlib import Path

from analytiq.errors import CorruptFileError
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.email_message import subject_and_date
from analytiq.ingestion.parsing.part_list import list_of_parts
from analytiq.ingestion.parsing.parts import NamingParser
from analytiq.models.text import ParsedDocument

LONGEST_SUBJECT = 120
HEADER_BYTES = 64 * 1024
_TIME = re.compile(rb"\d\d:\d\d")
_QUOTED = re.compile(rb">+From ")
_UNSAFE = re.compile(r'[\\/:*?"<>|\s]+')


class MailboxParser(NamingParser):
    """Reads line by line; each message is in memory by itself."""

    content_types = ("application/mbox",)
    extensions = (".mbox", ".mbx")

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Hand over each message, named by its date and its subject."""
        total, done = path.stat().st_size, 0
        for message in _messages(path):
            parts.add(_name(message), (message,), declared="message/rfc822")
            done += len(message)
            report_progress(min(done, total), total)
        report_progress(1, 1)
        return list_of_parts(parts, "mailbox")


def _messages(path: Path) -> Iterator[bytes]:
    lines: list[bytes] = []
    is_after_blank, is_begun = True, False
    with path.open("rb") as file:
        for line in file:
            if is_after_blank and line.startswith(b"From ") and (not is_begun or _has_time(line)):
                if lines:
                    yield _joined(lines)
                lines, is_begun = [], True
            elif is_begun:
                lines.append(line[1:] if _QUOTED.match(line) else line)
            elif line.strip():
                raise CorruptFileError('The mailbox does not begin with "From ": export it again as mbox.')
            is_after_blank = not line.strip()
    if lines:
        yield _joined(lines)


def _has_time(line: bytes) -> bool:
    """Return True for a sender, a time and a year, so that a sentence that begins with "From " ends no message."""
    stated = line.rstrip()[len("From ") :]
    return not stated[:1].isspace() and stated[-4:].isdigit() and _TIME.search(stated, 1, len(stated) - 4) is not None


def _joined(lines: list[bytes]) -> bytes:
    """Return a message without the empty line before the next one."""
    if not lines[-1].strip():
        lines.pop()
    return b"".join(lines)


def _name(message: bytes) -> str:
    subject, sent = subject_and_date(message[:HEADER_BYTES])
    words = _UNSAFE.sub(" ", subject).strip(" .")[:LONGEST_SUBJECT].strip() or "Message"
    return f"{_day(sent)}{words}.eml"


def _day(sent: str) -> str:
    try:
        return f"{parsedate_to_datetime(sent):%Y-%m-%d} "
    except (TypeError, ValueError, IndexError, OverflowError):
        return ""
