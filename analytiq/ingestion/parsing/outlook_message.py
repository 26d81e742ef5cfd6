"""Outlook messages, rebuilt as the e-mails that they are, and read as those."""

from base64 import b64encode
from collections.abc import Iterator
from email.message import Message
from email.utils import format_datetime
from pathlib import Path

from analytiq.errors import LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.compound_file import CompoundFile, Storage
from analytiq.ingestion.parsing.email_message import DEEPEST_PART, MAX_HEADER_CHARACTERS, read_email
from analytiq.ingestion.parsing.outlook_properties import Properties, code_page_name, decompressed_rtf
from analytiq.ingestion.parsing.parts import NamingParser
from analytiq.models.text import ParsedDocument

OCTETS = "application/octet-stream"
MESSAGE = "application/vnd.ms-outlook"

_NOUN = "message"
_RTF_GROWTH = 20
"""Most bytes of rich text for a byte of its compressed form; the format itself reaches 8."""

_SUBJECT, _SENDER_NAME, _SENDER_ADDRESS, _SENDER_SMTP = 0x0037, 0x0C1A, 0x0C1F, 0x5D01
_AUTHOR_NAME, _AUTHOR_ADDRESS, _AUTHOR_SMTP = 0x0042, 0x0065, 0x5D02
_SHOWN_TO, _SHOWN_CC = 0x0E04, 0x0E03
_SENT_AT, _DELIVERED_AT, _CREATED_AT = 0x0039, 0x0E06, 0x3007
_PLAIN, _HTML, _RTF = 0x1000, 0x1013, 0x1009
_INTERNET_CODE_PAGE, _CODE_PAGE = 0x3FDE, 0x3FFD
_RECIPIENT_KIND, _DISPLAY_NAME, _ADDRESS, _SMTP_ADDRESS = 0x0C15, 0x3001, 0x3003, 0x39FE
_DATA, _LONG_NAME, _SHORT_NAME, _MEDIA_TYPE, _CONTENT_ID = 0x3701, 0x3707, 0x3704, 0x370E, 0x3712
_EMBEDDED = "__substg1.0_3701000d"


class OutlookMessageParser(NamingParser):
    """Subject, sender, recipients, date, names of attachments, then the text; attached messages in their place."""

    content_types = (MESSAGE,)
    extensions = (".msg", ".oft")

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Read the message, and hand over its attachments."""
        file = CompoundFile(path, noun=_NOUN)
        document = read_email(_as_email(file, file.root, depth=0), parts)
        report_progress(1, 1)
        return document


def _as_email(file: CompoundFile, storage: Storage, *, depth: int) -> "Message[str, str]":
    if depth > DEEPEST_PART:
        raise LimitExceededError(f"The message is nested more than {DEEPEST_PART} messages deep.")
    header_bytes = 32 if depth == 0 else 24
    code_page = _code_page(file, storage, header_bytes=header_bytes)
    properties = Properties(file, storage, header_bytes=header_bytes, code_page=code_page)
    email = Message()
    for name, value in _headers(file, storage, properties, code_page):
        if value:
            email[name] = value[:MAX_HEADER_CHARACTERS]
    email["Content-Type"] = "multipart/mixed"
    body = Message()
    body["Content-Type"] = "multipart/alternative"
    for part in _bodies(properties):
        body.attach(part)
    email.attach(body)
    for attachment in _numbered(storage, "__attach_version1.0_#"):
        embedded = attachment.storages.get(_EMBEDDED)
        if embedded is not None and "__properties_version1.0" in embedded.streams:
            wrapper = Message()
            wrapper["Content-Type"] = "message/rfc822"
            wrapper.attach(_as_email(file, embedded, depth=depth + 1))
            email.attach(wrapper)
        else:
            email.attach(_named_part(Properties(file, attachment, header_bytes=8, code_page=code_page)))
    return email


def _headers(
    file: CompoundFile, storage: Storage, properties: Properties, code_page: str | None
) -> Iterator[tuple[str, str]]:
    subject = properties.text(_SUBJECT)
    yield "Subject", subject[2:] if subject.startswith("\x01") else subject  # a mark and the length of its "RE: "
    addresses = (_SENDER_SMTP, _AUTHOR_SMTP, _SENDER_ADDRESS, _AUTHOR_ADDRESS)
    known = [address for number in addresses if (address := properties.text(number))]
    sender = next((address for address in known if "@" in address), "")
    yield "From", _person(properties.text(_SENDER_NAME) or properties.text(_AUTHOR_NAME), sender)
    recipients: dict[int | None, list[str]] = {}
    for recipient in _numbered(storage, "__recip_version1.0_#"):
        found = Properties(file, recipient, header_bytes=8, code_page=code_page)
        address = found.text(_SMTP_ADDRESS) or found.text(_ADDRESS)
        if person := _person(found.text(_DISPLAY_NAME), address):
            recipients.setdefault(found.number(_RECIPIENT_KIND), []).append(person)
    yield "To", ", ".join(recipients.get(1, [])) or properties.text(_SHOWN_TO)
    yield "Cc", ", ".join(recipients.get(2, [])) or properties.text(_SHOWN_CC)
    sent = next(filter(None, map(properties.moment, (_SENT_AT, _DELIVERED_AT, _CREATED_AT))), None)
    yield "Date", "" if sent is None else format_datetime(sent)


def _bodies(properties: Properties) -> Iterator["Message[str, str]"]:
    plain, html = properties.text(_PLAIN), properties.data(_HTML)
    if plain.strip():
        yield _text_part("text/plain", plain.encode("utf-8", errors="replace"), "utf-8")
    if html:
        yield _text_part("text/html", html, code_page_name(properties.number(_INTERNET_CODE_PAGE)))
    elif wide_html := properties.text(_HTML):
        yield _text_part("text/html", wide_html.encode("utf-8", errors="replace"), "utf-8")
    elif compressed := properties.data(_RTF):
        rtf = decompressed_rtf(compressed, most=_RTF_GROWTH * len(compressed))
        # Outlook wraps a plain text in rich text too, which says nothing more.
        if not plain.strip() or b"\\fromtext" not in rtf[:1000]:
            yield _text_part("application/rtf", rtf, None)


def _text_part(content_type: str, content: bytes, charset: str | None) -> "Message[str, str]":
    part = Message()
    part.add_header("Content-Type", content_type, **({} if charset is None else {"charset": charset}))
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(b64encode(content).decode("ascii"))
    return part


def _named_part(attachment: Properties) -> "Message[str, str]":
    part = Message()
    part["Content-Type"] = _media_type(attachment)
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", _file_name(attachment)))
    if content_id := attachment.text(_CONTENT_ID):
        part["Content-ID"] = content_id[:MAX_HEADER_CHARACTERS]
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(b64encode(attachment.data(_DATA)).decode("ascii"))
    return part


def _numbered(storage: Storage, prefix: str) -> list[Storage]:
    return [storage.storages[name] for name in sorted(storage.storages) if name.startswith(prefix)]


def _code_page(file: CompoundFile, storage: Storage, *, header_bytes: int) -> str | None:
    properties = Properties(file, storage, header_bytes=header_bytes, code_page=None)
    return code_page_name(properties.number(_CODE_PAGE) or properties.number(_INTERNET_CODE_PAGE))


def _file_name(attachment: Properties) -> str:
    names = (attachment.text(_LONG_NAME), attachment.text(_SHORT_NAME), attachment.text(_DISPLAY_NAME))
    return next((name.strip() for name in names if name.strip()), "attachment")[:MAX_HEADER_CHARACTERS]


def _media_type(attachment: Properties) -> str:
    stated = attachment.text(_MEDIA_TYPE).strip().lower()
    return stated if stated.isascii() and stated.count("/") == 1 and len(stated) < 100 else OCTETS


def _person(name: str, address: str) -> str:
    name, address = name.strip(), address.strip()
    if "@" not in address:  # an address inside the sender's own organization, as a directory's path
        return name or address
    return f"{name} <{address}>" if name and name != address else address
