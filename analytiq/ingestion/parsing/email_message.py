"""E-mails (and web pages saved as such), read by the standard library, as one page."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import TypeAlias, cast

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text, unmarked_utf16
from analytiq.ingestion.parsing.html import decode_html
from analytiq.ingestion.parsing.html_markdown import html_to_markdown
from analytiq.ingestion.parsing.visible_text import visible_text
from analytiq.models.text import ParsedDocument, ParsedPage

SHOWN_HEADERS = ("From", "To", "Cc", "Date")
MIN_PLAIN_SHARE = 0.5
"""Share of the longest alternative's characters. A shorter plain text is only a notice to plain-text readers."""
DEEPEST_PART = 30
NAMED_ATTACHMENTS = 100
MAX_HEADER_CHARACTERS = 10_000
"""Most characters of a header's source. The library decodes encoded words in quadratic time (200,000 took 160 s), and
likewise the parameters of a content type."""

_BLANKS = re.compile(r"\s+")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")

Part: TypeAlias = "Message[str, str]"


class _BoundedHeaders(policy.Compat32):
    """Cuts headers as they are read, since the library's parser itself examines them."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_HEADER_CHARACTERS]


@dataclass(slots=True)
class _Attachments:
    names: list[str] = field(default_factory=list[str])


class EmailParser:
    """Subject, sender, recipients, date, names of attachments, then the text; forwarded messages in their place."""

    content_types = ("message/rfc822",)
    extensions = (".eml", ".mht", ".mhtml")

    def parse(self, path: Path, options: ParseOptions, report_progress: ReportProgress) -> ParsedDocument:
        """Read the message; attachments are named, and a warning says that they are not read."""
        data = path.read_bytes()
        if data.startswith(_WIDE_MARKS) or unmarked_utf16(data):
            data = decode_text(data).text.encode("utf-8")  # some programs export messages as UTF-16
        try:
            message = BytesParser(policy=_BoundedHeaders()).parsebytes(data)
            attachments = _Attachments()
            text = _message_text(message, attachments, depth=0)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, LookupError) as error:
            raise CorruptFileError(f"The e-mail is damaged ({error}): export it again.") from error
        report_progress(1, 1)
        return ParsedDocument((ParsedPage(1, text),), tuple(_warnings(attachments.names)))


def _warnings(names: list[str]) -> Iterator[str]:
    if names:
        listed = ", ".join(map(repr, names[:10])) + (" and more" if len(names) > 10 else "")
        yield f"attachments are named but not read: {listed}; upload attachments to be searched as separate documents"


def _message_text(message: Part, attachments: _Attachments, *, depth: int) -> str:
    before = len(attachments.names)
    body = _body(message, attachments, depth=depth)
    subject = _header(message, "Subject")
    lines = [f"{name}: {value}" for name in SHOWN_HEADERS if (value := _header(message, name))]
    if attached := attachments.names[before:]:
        lines.append(f"Attachments: {', '.join(attached[:NAMED_ATTACHMENTS])}")
    return "\n\n".join(filter(None, [f"# {subject}" if subject else "", "\n".join(lines), body.strip()]))


def _body(part: Part, attachments: _Attachments, *, depth: int) -> str:
    if depth > DEEPEST_PART:
        raise LimitExceededError(f"The e-mail is nested more than {DEEPEST_PART} parts deep.")
    content_type = part.get_content_type()
    if content_type == "multipart/encrypted" or part.get_param("smime-type") == "enveloped-data":
        raise EncryptedFileError("The e-mail is encrypted: export it decrypted, then upload it again.")
    children = _children(part)
    if content_type == "message/rfc822" and children:
        return "\n\n".join(_message_text(child, attachments, depth=depth + 1) for child in children)
    if children:
        texts = [_body(child, attachments, depth=depth + 1) for child in children]
        return _best(children, texts) if content_type == "multipart/alternative" else "\n\n".join(filter(None, texts))
    name = _file_name(part)
    if part.get_content_disposition() == "attachment" or name:
        is_drawn_in_text = part.get_content_maintype() == "image" and part.get("Content-ID") is not None
        if not is_drawn_in_text:
            attachments.names.append(name or content_type)
        return ""
    return _leaf_text(part, content_type)


def _children(part: Part) -> list[Part]:
    # Checked first: a text would be decoded, by any charset.
    children = cast("list[object]", part.get_payload()) if part.is_multipart() else []
    return [cast("Part", child) for child in children if isinstance(child, Message)]


def _best(children: list[Part], texts: list[str]) -> str:
    """Return the plain alternative of a text, unless another contains much more."""
    longest = max(texts, key=len)
    for child, text in zip(children, texts, strict=True):
        if child.get_content_type() == "text/plain" and text and len(text) >= MIN_PLAIN_SHARE * len(longest):
            return text
    return longest


def _leaf_text(part: Part, content_type: str) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes) or not content_type.startswith("text/"):
        return ""
    charset = _charset(part)
    if content_type != "text/html":
        return decode_text(payload, hint=charset).text
    html = decode_html(payload, declared=charset)
    return html_to_markdown(html) or visible_text(html)


def _charset(part: Part) -> str | None:
    try:
        return part.get_content_charset()
    except (TypeError, ValueError, LookupError):  # the library's own, for a repeated parameter
        return None


def _file_name(part: Part) -> str:
    """Return the file name of a part; empty if the part is no file."""
    for parameter, header in (("filename", "Content-Disposition"), ("name", "Content-Type")):
        value = part.get_param(parameter, header=header)
        if value:
            name = collapse_rfc2231_value(value) if isinstance(value, tuple) else value
            return _BLANKS.sub(" ", _decoded(name)).strip()
    return ""


def _header(message: Part, wanted: str) -> str:
    """Return a header's text on one line, from the raw value: the library replaces bytes that are not ASCII."""
    for name, value in message.raw_items():
        if name.lower() == wanted.lower():
            return _BLANKS.sub(" ", _decoded(str(value))).strip()
    return ""


def _decoded(raw: str) -> str:
    """Decode encoded words and raw bytes; guess an unknown charset."""
    if "=?" not in raw:
        return _from_bytes(raw.encode("utf-8", errors="surrogateescape"), None)
    try:
        words = decode_header(raw.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace"))
    except (HeaderParseError, ValueError):
        return raw
    return "".join(word if isinstance(word, str) else _from_bytes(word, charset) for word, charset in words)


def _from_bytes(data: bytes, charset: str | None) -> str:
    return decode_text(data, hint=charset).text if data else ""
