"""Messages of a mailbox as items.

A message is the same item in every mailbox: its identity is a hash of its headers and its size. The Message-ID alone
would let a stranger replace a message by sending another one with the same id.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from analytiq.ingestion.parsing.email_message import header_texts
from analytiq.ingestion.sources.base import ListedItem
from analytiq.ingestion.sources.systems.imap.connection import Criteria, MailboxInfo, Message
from analytiq.ingestion.sources.texts.item_names import path_name, segment

HEADER_BYTES = 16 * 1024
"""Most bytes of the headers that are fetched for a listing."""
LONGEST_SUBJECT = 120
LONGEST_FIELD = 1000
LONGEST_MESSAGE_ID = 200
DIGEST_CHARACTERS = 40
_HEADERS = ("Message-ID", "Date", "From", "To", "Subject")
HEADER_PART = f"BODY.PEEK[HEADER.FIELDS ({' '.join(name.upper() for name in _HEADERS)})]<0.{HEADER_BYTES}>"
LISTED_PARTS = ("FLAGS", "RFC822.SIZE", "INTERNALDATE", HEADER_PART)


@dataclass(frozen=True, slots=True)
class MessageChoice:
    """The messages that a source takes."""

    since: date | None = None
    flags: frozenset[str] = frozenset()
    """Flags that a message must have, in lower case."""
    without_flags: frozenset[str] = frozenset()

    def criteria(self) -> list[object]:
        """Return the choice in IMAP's terms."""
        found: list[object] = []
        for flag in sorted(self.flags):
            found += _flag_criteria(flag, is_set=True)
        for flag in sorted(self.without_flags):
            found += _flag_criteria(flag, is_set=False)
        if self.since is not None:
            found += ["SINCE", self.since]
        return found or ["ALL"]

    def accepts(self, message: Message) -> bool:
        """Return True if a fetched message is chosen; a server may answer with others."""
        flags = _flags(message)
        if not self.flags <= flags or self.without_flags & flags:
            return False
        arrived = message.get(b"INTERNALDATE")
        return self.since is None or not isinstance(arrived, datetime) or arrived.date() >= self.since


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The place of a message, which is stored with its item."""

    mailbox: str
    validity: int
    uid: int

    def note(self) -> str:
        """Return the place as an item's note."""
        return json.dumps([self.mailbox, self.validity, self.uid])

    @classmethod
    def of_note(cls, note: str | None) -> "MessagePlace | None":
        """Read a note; None if it is none."""
        try:
            mailbox, validity, uid = json.loads(note or "")
        except ValueError:
            return None
        return cls(str(mailbox), int(validity), int(uid))


def listed(mailbox: MailboxInfo, validity: int, uid: int, message: Message) -> ListedItem | None:
    """Return a fetched message as an item; None if the server left out what was asked for."""
    size = message.get(b"RFC822.SIZE")
    headers = next((value for key, value in message.items() if key.startswith(b"BODY[HEADER.FIELDS")), None)
    if not isinstance(size, int) or not isinstance(headers, bytes | None):
        return None
    raw = headers or b""
    digest = hashlib.sha256(f"{size}\n".encode() + b" ".join(raw.split())).hexdigest()[:DIGEST_CHARACTERS]
    message_id, sent, sender, recipients, subject = header_texts(raw, _HEADERS)
    folders = mailbox.path.split("/")
    shown = segment(subject, longest=LONGEST_SUBJECT).strip(" ._") or "Message"
    name = path_name(folders, f"{_day(sent)}{shown}", ending=".eml")
    fields = {
        "mailbox": mailbox.path,
        "folder": mailbox.path,
        "subject": subject,
        "from": sender,
        "to": recipients,
        "sent": _time(sent),
        "message_id": message_id,
    }
    return ListedItem(
        external_id=f"{digest}:{_searchable(message_id)}",
        name=name,
        version=digest,
        byte_size=size,
        fields={key: value[:LONGEST_FIELD] for key, value in fields.items() if value},
        note=MessagePlace(mailbox.name, validity, uid).note(),
        skip_reason="The message is empty." if size == 0 else None,
    )


def criteria_of_id(external_id: str) -> Criteria | None:
    """Return how to search for a message by its item's id; None if no message has such an id."""
    digest, mark, message_id = external_id.partition(":")
    if not mark or len(digest) != DIGEST_CHARACTERS or message_id != _searchable(message_id):
        return None
    return ["HEADER", "MESSAGE-ID", message_id] if message_id else ["NOT", "HEADER", "MESSAGE-ID", ""]


def sorted_mailboxes(mailboxes: Sequence[MailboxInfo]) -> list[MailboxInfo]:
    """Return mailboxes by name; one with all messages comes last, so that others name the messages."""
    return sorted(mailboxes, key=lambda mailbox: ("\\all" in mailbox.attributes, mailbox.name))


def _flag_criteria(flag: str, *, is_set: bool) -> list[object]:
    if flag.startswith("\\"):
        word = flag[1:].upper()
        return [word if is_set else f"UN{word}"]
    return ["KEYWORD" if is_set else "UNKEYWORD", flag]


def _flags(message: Mapping[bytes, object]) -> frozenset[str]:
    found = message.get(b"FLAGS")
    if not isinstance(found, tuple):
        return frozenset()
    flags = cast("tuple[object, ...]", found)
    return frozenset(flag.decode("ascii", "replace").lower() for flag in flags if isinstance(flag, bytes))


def _searchable(message_id: str) -> str:
    """Return the part of a Message-ID that a server is asked for: printable ASCII without quotation marks."""
    kept = message_id[:LONGEST_MESSAGE_ID].strip()
    return kept if kept.isascii() and kept.isprintable() and not set(kept) & set('"\\ ') else ""


def _parsed(sent: str) -> datetime | None:
    try:
        return parsedate_to_datetime(sent)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _day(sent: str) -> str:
    found = _parsed(sent)
    return f"{found:%Y-%m-%d} " if found else ""


def _time(sent: str) -> str:
    found = _parsed(sent)
    return found.isoformat() if found else ""
