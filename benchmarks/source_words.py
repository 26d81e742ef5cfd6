"""The visible words of a file by a plain reader of its format, which shares no code with the product's parsers.

The readers know containers, text nodes and the usual marks of hidden text, and nothing of structure: Open XML and
OpenDocument by their XML, PDF by pdfium's raw text, HTML by the standard library, mail by its parts, RTF by its control
words, JSON by its strings. A reader returns pieces; no word goes on from one piece to the next.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pypdfium2 and lxml ship without types.

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile, ZipFile

import olefile
import pypdfium2 as pdfium
from lxml import etree

_APART = frozenset({"tab", "br", "cr", "s", "line-break", "footnoteReference", "noBreakHyphen", "ptab", "lastRendered"})
_UNSEEN_XML = frozenset({"Fallback", "del", "moveFrom", "rt", "rPh", "tracked-changes", "instrText", "sdtPr", "pPr"})
_WORD_PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments|charts/chart\d*)\.xml")
_SLIDE_PARTS = re.compile(r"ppt/(slides/slide|charts/chart|comments/\w*comment|diagrams/data)\d*\.xml")
_UNSEEN_HTML = frozenset(
    {"script", "style", "template", "noscript", "title", "datalist", "head", "rp", "option", "svg"}
)
_VOID = frozenset({"br", "img", "input", "hr", "meta", "link", "wbr", "col", "area", "source", "track", "embed"})
_JOINED_HTML = frozenset({"b", "i", "em", "strong", "span", "u", "font", "small", "mark", "wbr", "s", "ins", "bdi"})
_HIDDEN_STYLE = re.compile(r"display:none|visibility:hidden|font-size:0|opacity:0(?![.\d])|mso-hide")
_RTF = re.compile(r"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\(.)|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.DOTALL)
_RTF_UNSEEN = frozenset({
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "fldinst", "object", "generator", "listtable", "themedata",
})  # fmt: skip


def pieces_of(path: Path) -> list[str] | None:
    """Return the visible text of a file in pieces; None where no plain reader can read it."""
    reader = _READERS.get(path.suffix.lower())
    try:
        return None if reader is None else list(reader(path))
    except (ValueError, KeyError, SyntaxError, LookupError, BadZipFile, StopIteration, RuntimeError):
        return None  # damaged, or another format than its name says


def _xml_pieces(root: Any, paragraph_tags: frozenset[str] = frozenset({"p", "h"})) -> Iterator[str]:
    """Yield the text of each paragraph; paragraphs within one are pieces of their own."""
    stack: list[list[str]] = [[]]
    for action, element in _events(root):
        name = _local(element)
        if action == "start":
            if name in paragraph_tags:
                stack.append([])
            elif name in _APART:
                stack[-1].append(" ")
            stack[-1].append(element.text or "" if name in {"t", *paragraph_tags} or _is_odf(element) else "")
        else:
            if name in paragraph_tags and len(stack) > 1:
                yield "".join(stack.pop())
            if _is_odf(element):
                stack[-1].append(element.tail or "")
    yield "".join(stack[0])


def _events(root: Any) -> Iterator[tuple[str, Any]]:
    pending: list[tuple[str, Any]] = [("start", root)]
    while pending:
        action, element = pending.pop()
        if action == "start" and (_local(element) in _UNSEEN_XML or _is_vanished(element)):
            continue
        yield action, element
        if action == "start":
            pending.append(("end", element))
            pending += [("start", child) for child in reversed(element)]


def _local(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "Fallback"


def _is_odf(element: Any) -> bool:
    return isinstance(element.tag, str) and element.tag.startswith("{urn:oasis:names:tc:opendocument:xmlns:text")


def _is_vanished(element: Any) -> bool:
    if _local(element) == "table-row":
        return any(name.endswith("}visibility") and value != "visible" for name, value in element.attrib.items())
    return _local(element) == "r" and element.find("{*}rPr/{*}vanish") is not None


def _word(path: Path) -> Iterator[str]:
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if _WORD_PARTS.fullmatch(name):
                yield from _xml_pieces(etree.fromstring(archive.read(name)))


def _slides(path: Path) -> Iterator[str]:
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if _SLIDE_PARTS.fullmatch(name):
                yield from _xml_pieces(etree.fromstring(archive.read(name)))


def _sheets(path: Path) -> Iterator[str]:
    """Yield the strings of the cells of visible sheets, rows and columns, and of their drawings."""
    with ZipFile(path) as archive:
        names = archive.namelist()
        strings: list[str] = []
        if "xl/sharedStrings.xml" in names:
            strings = [_shared_string(item) for item in etree.fromstring(archive.read("xl/sharedStrings.xml"))]
        hidden = _hidden_sheet_parts(archive)
        for name in names:
            if name.startswith("xl/worksheets/") and name.endswith(".xml") and name not in hidden:
                yield from _cells(etree.fromstring(archive.read(name)), strings)
            elif re.fullmatch(r"xl/(drawings/drawing|charts/chart)\d*\.xml", name):
                yield from _xml_pieces(etree.fromstring(archive.read(name)))


def _shared_string(item: Any) -> str:
    return "".join(text.text or "" for text in (*item.iterfind("{*}t"), *item.iterfind("{*}r/{*}t")))


def _hidden_sheet_parts(archive: ZipFile) -> set[str]:
    book = etree.fromstring(archive.read("xl/workbook.xml"))
    targets = {r.get("Id"): r.get("Target") for r in etree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))}
    return {
        "xl/" + str(targets.get(value)).removeprefix("/xl/")
        for sheet in book.iterfind("{*}sheets/{*}sheet")
        if sheet.get("state", "visible") != "visible"
        for value in sheet.attrib.values()
    }


def _cells(sheet: Any, strings: list[str]) -> Iterator[str]:
    hidden = {
        column
        for mark in sheet.iterfind("{*}cols/{*}col")
        if mark.get("hidden") in {"1", "true"}
        for column in range(int(mark.get("min")), min(int(mark.get("max")), 16_384) + 1)
    }
    for row in sheet.iterfind("{*}sheetData/{*}row"):
        if row.get("hidden") in {"1", "true"}:
            continue
        for cell in row.iterfind("{*}c"):
            value, inline = cell.findtext("{*}v"), cell.find("{*}is")
            if _column_of(cell.get("r") or "") in hidden:
                continue
            if inline is not None:
                yield "".join(text.text or "" for text in inline.iter("{*}t"))
            elif cell.get("t") == "s" and value is not None:
                yield strings[int(value)]
            elif cell.get("t") == "str" and value:
                yield value


def _column_of(reference: str) -> int:
    number = 0
    for letter in re.match("[A-Z]*", reference)[0]:  # pyright: ignore[reportOptionalSubscript] -- may be empty
        number = number * 26 + ord(letter) - 64
    return number


def _open_document(path: Path) -> Iterator[str]:
    with ZipFile(path) as archive:
        yield from _xml_pieces(etree.fromstring(archive.read("content.xml")))


def _pdf(path: Path) -> Iterator[str]:
    with pdfium.PdfDocument(path) as document:
        for page in document:
            text = page.get_textpage().get_text_range()
            yield re.sub(r"[\x02\ufffe](\r?\n)?", "", text).replace("\xad\r\n", "")


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _JOINED_HTML:
            self.pieces.append(" ")
        if tag in _VOID:
            return
        given = dict(attrs)
        style = re.sub(r"\s", "", given.get("style") or "").lower()
        is_unseen = tag in _UNSEEN_HTML or "hidden" in given or _HIDDEN_STYLE.search(style) is not None
        is_unseen = is_unseen or tag == "nav" or given.get("role") == "navigation"
        self._open.append((tag, is_unseen or (bool(self._open) and self._open[-1][1])))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _JOINED_HTML:
            self.pieces.append(" ")
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._open or not self._open[-1][1]:
            self.pieces.append(data.replace("\xad", ""))


def _html_pieces(source: str) -> Iterator[str]:
    reader = _Html()
    reader.feed(source)
    reader.close()
    yield "".join(reader.pieces)


def _html(path: Path) -> Iterator[str]:
    return _html_pieces(_decoded(path.read_bytes()))


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    text = data.decode("utf-8-sig")
    if "\0" in text:
        raise ValueError("a wide charset without a mark")
    return text


def _book(path: Path) -> Iterator[str]:
    with ZipFile(path) as archive:
        package = next(name for name in archive.namelist() if name.endswith(".opf"))
        root = etree.fromstring(archive.read(package))
        files = {item.get("id"): item.get("href") for item in root.iter("{*}item")}
        folder = package.rpartition("/")[0]
        for reference in root.iter("{*}itemref"):
            name = f"{folder}/{files[reference.get('idref')]}".lstrip("/")
            if name in archive.namelist():
                yield from _html_pieces(_decoded(archive.read(name)))


def _mail(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16").encode()
    message = message_from_bytes(data, policy=policy.default)
    yield str(message.get("Subject") or "")
    body = message.get_body(("html", "plain"))
    if body is not None:
        content = body.get_content()
        yield from _html_pieces(content) if body.get_content_subtype() == "html" else [content]


def _outlook(path: Path) -> Iterator[str]:
    """Yield the subject and the body of a message, the richest form of it that is no rich text."""
    with olefile.OleFileIO(str(path)) as file:

        def stream(name: str) -> bytes:
            return file.openstream(name).read() if file.exists(name) else b""

        yield stream("__substg1.0_0037001F").decode("utf-16-le")
        html = stream("__substg1.0_10130102")
        if html:
            yield from _html_pieces(_decoded(html))
        elif not file.exists("__substg1.0_10090102"):
            yield stream("__substg1.0_1000001F").decode("utf-16-le")


def _rtf(path: Path) -> Iterator[str]:
    """Yield the text outside of destinations that are not shown."""
    source = path.read_text(encoding="latin-1")
    if re.search(r"\\ansicpg(?!1252)|\\fcharset(?!0\b|2\b)", source):
        raise ValueError("a code page that this plain reader does not know")
    parts: list[str] = []
    groups: list[bool] = []
    is_unseen, skipped, optional = False, 0, False
    for token in _RTF.finditer(source):
        word, number, code, symbol, brace, text = token.groups()
        if brace == "{":
            groups.append(is_unseen)
        elif brace and groups:
            is_unseen = groups.pop()
        elif word in _RTF_UNSEEN or (optional and word not in {"shppict", "shptxt", "shpinst"}):
            is_unseen = True
        elif word == "v":
            is_unseen = number != "0"
        elif word == "u" and not is_unseen:
            parts.append(chr(int(number) % 65536))
            skipped = 1
        elif word or symbol:
            parts.append("" if is_unseen or word in {"f", "fs", "lang", "b", "i", "hich", "loch", "dbch"} else " ")
        elif (code or text) and not is_unseen:
            shown = bytes.fromhex(code).decode("cp1252", "replace") if code else text
            parts.append(shown[skipped:])
            skipped = 0
        optional = symbol == "*"
    yield "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _json_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield name
            yield from _json_strings(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _json_strings(inner)


def _json(path: Path) -> Iterator[str]:
    try:
        yield from _json_strings(json.loads(_decoded(path.read_bytes())))
    except json.JSONDecodeError:
        return


def _notebook(path: Path) -> Iterator[str]:
    for cell in json.loads(path.read_text(encoding="utf-8")).get("cells", ()):
        source = "".join(cell["source"])
        yield re.sub(r"<[^>]*>|\]\([^)]*\)", " ", source) if cell["cell_type"] == "markdown" else source
        for output in cell.get("outputs", ()):
            yield "".join(output.get("text", ()))


def _table(path: Path) -> Iterator[str]:
    for row in csv.reader(io.StringIO(_decoded(path.read_bytes()), newline="")):
        yield from row


def _plain(path: Path) -> Iterator[str]:
    yield _decoded(path.read_bytes())


_READERS: dict[str, Callable[[Path], Iterator[str]]] = {
    **dict.fromkeys((".docx", ".docm", ".dotx"), _word),
    **dict.fromkeys((".pptx", ".pptm"), _slides),
    **dict.fromkeys((".xlsx", ".xlsm"), _sheets),
    **dict.fromkeys((".odt", ".ods", ".odp"), _open_document),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".txt", ".py", ".js", ".go", ".log"), _plain),
    ".pdf": _pdf,
    ".epub": _book,
    ".eml": _mail,
    ".msg": _outlook,
    ".rtf": _rtf,
    ".json": _json,
    ".ipynb": _notebook,
    ".csv": _table,
}
