"""E-mails (and web pages saved as such), read by the standard library, as one page."""

import mimetypes
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser, BytesParser
from email.utils import collapse_rfc2231_value
from pathlib import Path
from typing import TypeAlias, cast

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions, PartSink, ReportProgress
from analytiq.ingestion.parsing.charset import decode_text, unmarked_utf16
from analytiq.ingestion.parsing.completeness import count_words, lost_words
from analytiq.ingestion.parsing.email_text import write_plain_text
from analytiq.ingestion.parsing.html import decode_html, hidden_warnings, write_html
from analytiq.ingestion.parsing.html_tree import html_tree
from analytiq.ingestion.parsing.office_words import append_lost
from analytiq.ingestion.parsing.parts import NamingParser
from analytiq.ingestion.parsing.rtf import write_rtf
from analytiq.ingestion.parsing.text_builder import TextBuilder
from analytiq.models.text import ParsedDocument, ParsedPage

SHOWN_HEADERS = ("From", "To", "Cc", "Date")
MAX_LOST_SHARE = 0.5
"""Share of a plain alternative's words from which on it says something else than the HTML, and is read too."""
DEEPEST_PART = 30
NAMED_ATTACHMENTS = 100
PICTURE_BYTES = 32 * 1024
"""From this size on, a picture in the text becomes a document: a screenshot or a scan; logos are smaller."""
MAX_HEADER_CHARACTERS = 10_000
"""Most characters of a header's source. The library decodes encoded words in quadratic time (200,000 took 160 s), and
likewise the parameters of a content type."""

_RICH_TEXT = frozenset({"application/rtf", "text/rtf"})
_BLANKS = re.compile(r"\s+")
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")

Part: TypeAlias = "Message[str, str]"


class _BoundedHeaders(policy.Compat32):
    """Cuts headers as they are read, since the library's parser itself examines them."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MAX_HEADER_CHARACTERS]


@dataclass(slots=True)
class _Findings:
    parts: PartSink
    attachments: list[str] = field(default_factory=list[str])
    hidden_words: int = 0
    warnings: dict[str, None] = field(default_factory=dict[str, None])
    """Unsure charsets of parts."""


class EmailParser(NamingParser):
    """Subject, sender, recipients, date, names of attachments, then the text; forwarded messages in their place."""

    content_types = ("message/rfc822",)
    extensions = (".eml", ".mht", ".mhtml")

    def parse_with_parts(
        self, path: Path, options: ParseOptions, report_progress: ReportProgress, parts: PartSink
    ) -> ParsedDocument:
        """Read the message, and hand over its attachments."""
        data = path.read_bytes()
        if data.startswith(_WIDE_MARKS) or unmarked_utf16(data):
            data = decode_text(data).text.encode("utf-8")  # some programs export messages as UTF-16
        try:
            document = read_email(BytesParser(policy=_BoundedHeaders()).parsebytes(data), parts)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError, LookupError) as error:
            raise CorruptFileError(f"The e-mail is damaged ({error}): export it again.") from error
        report_progress(1, 1)
        return document


def read_email(message: Part, parts: PartSink) -> ParsedDocument:
    """Read a parsed message as one page, which names its attachments, and hand them over."""
    findings = _Findings(parts)
    page = _message_page(message, findings, depth=0)
    warnings = (*findings.warnings, *hidden_warnings(findings.hidden_words))
    return ParsedDocument((page,), warnings, _header(message, "Subject"))


def _message_page(message: Part, findings: _Findings, *, depth: int) -> ParsedPage:
    before = len(findings.attachments)
    body = _body(message, findings, depth=depth)
    lines = [f"{name}: {value}" for name in SHOWN_HEADERS if (value := _header(message, name))]
    for name in _cut_headers(message):
        findings.warnings[f"only the first {MAX_HEADER_CHARACTERS} characters of the header {name} are read"] = None
    if attached := findings.attachments[before:]:
        lines.append(f"Attachments: {', '.join(attached[:NAMED_ATTACHMENTS])}")
    builder = TextBuilder()
    builder.heading(_header(message, "Subject"), 1 if depth == 0 else 2)
    builder.paragraph("\n".join(lines))
    builder.include(body)
    return builder.page(1)


def _body(part: Part, findings: _Findings, *, depth: int) -> ParsedPage:
    if depth > DEEPEST_PART:
        raise LimitExceededError(f"The e-mail is nested more than {DEEPEST_PART} parts deep.")
    content_type = part.get_content_type()
    if content_type == "multipart/encrypted" or part.get_param("smime-type") == "enveloped-data":
        raise EncryptedFileError("The e-mail is encrypted: export it decrypted, then upload it again.")
    children = _children(part)
    if content_type == "message/rfc822" and children:
        return _joined(_message_page(child, findings, depth=depth + 1) for child in children)
    if children:
        pages = [_body(child, findings, depth=depth + 1) for child in children]
        return _joined(_chosen(children, pages) if content_type == "multipart/alternative" else pages)
    name = _file_name(part)
    if part.get_content_disposition() == "attachment" or name:
        _attach(part, name, content_type, findings)
        return ParsedPage(1, "")
    return _leaf_page(part, content_type, findings)


def _attach(part: Part, name: str, content_type: str, findings: _Findings) -> None:
    """Hand over an attachment; leave out small pictures in the text, such as the logo of a signature."""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    is_drawn_in_text = part.get_content_maintype() == "image" and part.get("Content-ID") is not None
    if is_drawn_in_text and len(content) < PICTURE_BYTES:
        return
    findings.attachments.append(name or content_type)
    unnamed = f"attachment{mimetypes.guess_extension(content_type) or ''}"
    findings.parts.add(name or unnamed, (content,), declared=content_type)


def _joined(pages: Iterable[ParsedPage]) -> ParsedPage:
    builder = TextBuilder()
    for page in pages:
        builder.include(page)
    return builder.page(1)


def _children(part: Part) -> list[Part]:
    # Checked first: a text would be decoded, by any charset.
    children = cast("list[object]", part.get_payload()) if part.is_multipart() else []
    return [cast("Part", child) for child in children if isinstance(child, Message)]


def _chosen(children: list[Part], pages: list[ParsedPage]) -> list[ParsedPage]:
    """Return the richest alternative, which has the structure; and a plain one that says something else."""
    richest = max(
        (page for child, page in zip(children, pages, strict=True) if child.get_content_type() != "text/plain"),
        key=lambda page: len(page.text),
        default=ParsedPage(1, ""),
    )
    plain = [page for page in pages if page is not richest and page.text]
    if not richest.text:
        return plain[:1]
    return [richest, *(page for page in plain if _says_something_else(page.text, richest.text))]


def _says_something_else(text: str, than: str) -> bool:
    return lost_words([text], [than]).total() > MAX_LOST_SHARE * count_words(text)


def _leaf_page(part: Part, content_type: str, findings: _Findings) -> ParsedPage:
    payload = part.get_payload(decode=True)
    builder = TextBuilder()
    if isinstance(payload, bytes) and content_type in _RICH_TEXT:
        findings.hidden_words += write_rtf(builder, payload).hidden_words
    # A message of several parts without a boundary is its preamble.
    elif isinstance(payload, bytes) and content_type.startswith(("text/", "multipart/")):
        charset = _charset(part)
        if content_type == "text/html":
            decoded = decode_html(payload, declared=charset)
            findings.hidden_words += write_html(builder, html_tree(decoded.text))
        else:
            decoded = decode_text(payload, hint=charset)
            is_flowed = str(part.get_param("format") or "").lower() == "flowed"
            drops_blanks = str(part.get_param("delsp") or "").lower() == "yes"
            write_plain_text(builder, decoded.text, is_flowed=is_flowed, drops_blanks=drops_blanks)
            if not drops_blanks:
                append_lost(builder, decoded.text.splitlines())
        findings.warnings.update(dict.fromkeys(decoded.warnings))
    return builder.page(1)


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


def _cut_headers(message: Part) -> list[str]:
    """Return the names of shown headers that were cut as they were read."""
    shown = {name.lower() for name in (*SHOWN_HEADERS, "Subject")}
    found = (name for name, value in message.raw_items() if len(str(value)) >= MAX_HEADER_CHARACTERS)
    return [name for name in found if name.lower() in shown]


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


def subject_and_date(data: bytes) -> tuple[str, str]:
    """Return two headers of a message, from its first bytes; empty if they are missing or damaged."""
    subject, date = header_texts(data, ("Subject", "Date"))
    return subject, date


def header_texts(data: bytes, names: Sequence[str]) -> tuple[str, ...]:
    """Return headers of a message, decoded, from its first bytes; empty if they are missing or damaged."""
    try:
        headers = BytesHeaderParser(policy=_BoundedHeaders()).parsebytes(data)
        return tuple(_header(headers, name) for name in names)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, LookupError):
        return ("",) * len(names)
