"""Made files of any size: ordinary ones and costly ones of each format, for `benchmarks.file_growth`.

A shape returns about `size` bytes of content; of a packed format, before packing.
"""

import io
import json
import struct
import zipfile
from collections.abc import Callable
from email.message import EmailMessage

Make = Callable[[int], bytes]

_SENTENCE = "The pump of the north station was inspected on 12 March 2024 and draws 230 V at 1,234.50 rpm. "
_WORD_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET_SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE_SPACE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING_SPACE = "http://schemas.openxmlformats.org/drawingml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE_RELATION = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"


def repeated(unit: str, *, before: str = "", after: str = "") -> Make:
    """Return a shape that repeats a text."""

    def make(size: int) -> bytes:
        count = max(1, (size - len(before) - len(after)) // len(unit.encode()))
        return f"{before}{unit * count}{after}".encode()

    return make


def counted(unit: str, *, before: str = "", after: str = "") -> Make:
    """Return a shape that repeats a text with `{n}` counted up."""

    def make(size: int) -> bytes:
        count = max(1, size // (len(unit) + 2))
        return (before + "".join(unit.replace("{n}", str(number)) for number in range(count)) + after).encode()

    return make


def nested(begin: str, inside: str, end: str) -> Make:
    """Return a shape of nested parts."""

    def make(size: int) -> bytes:
        depth = max(1, size // (len(begin) + len(end)))
        return (begin * depth + inside + end * depth).encode()

    return make


def packed(files: dict[str, bytes]) -> bytes:
    """Return a ZIP archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def _open_xml(main: str, main_type: str, parts: dict[str, tuple[bytes, str]]) -> bytes:
    """Return an Office package; `parts`: name → content and type."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>'
        for name, kind in {**{name: kind for name, (_, kind) in parts.items()}, main: main_type}.items()
        if kind
    )
    types = (
        f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package'
        f'.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )
    relations = (
        f'<Relationships xmlns="{_PACKAGE_RELATION}"><Relationship Id="r1" Type="{_RELATION}/officeDocument" '
        f'Target="{main}"/></Relationships>'
    )
    return packed(
        {
            "[Content_Types].xml": types.encode(),
            "_rels/.rels": relations.encode(),
            **{name: content for name, (content, _) in parts.items()},
        }
    )


def word(body: Make) -> Make:
    """Return a Word document around a body."""

    def make(size: int) -> bytes:
        content = f'<w:document xmlns:w="{_WORD_SPACE}"><w:body>'.encode() + body(size) + b"</w:body></w:document>"
        kind = f"{_OFFICE_TYPE}.wordprocessingml.document.main+xml"
        return _open_xml("word/document.xml", kind, {"word/document.xml": (content, "")})

    return make


def _sheet_rows(size: int, cell: Callable[[int], str]) -> str:
    columns, rows = 20, max(1, size // 700)
    names = [chr(65 + column) for column in range(columns)]
    return "".join(
        f'<row r="{row}">'
        + "".join(cell(row * columns + column).replace("@", f"{name}{row}") for column, name in enumerate(names))
        + "</row>"
        for row in range(1, rows + 1)
    )


def _workbook(rows: str, strings: str = "", *, merged: str = "") -> bytes:
    book = (
        f'<workbook xmlns="{_SHEET_SPACE}" xmlns:r="{_RELATION}"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>"
    )
    relations = (
        f'<Relationships xmlns="{_PACKAGE_RELATION}"><Relationship Id="r1" Type="{_RELATION}/worksheet" '
        f'Target="worksheets/sheet1.xml"/><Relationship Id="r2" Type="{_RELATION}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>'
    )
    sheet = f'<worksheet xmlns="{_SHEET_SPACE}"><sheetData>{rows}</sheetData>{merged}</worksheet>'
    table = f'<sst xmlns="{_SHEET_SPACE}">{strings}</sst>'
    spreadsheet = f"{_OFFICE_TYPE}.spreadsheetml"
    return _open_xml(
        "xl/workbook.xml",
        f"{spreadsheet}.sheet.main+xml",
        {
            "xl/workbook.xml": (book.encode(), ""),
            "xl/_rels/workbook.xml.rels": (relations.encode(), ""),
            "xl/worksheets/sheet1.xml": (sheet.encode(), f"{spreadsheet}.worksheet+xml"),
            "xl/sharedStrings.xml": (table.encode(), f"{spreadsheet}.sharedStrings+xml"),
        },
    )


def numbers_sheet(size: int) -> bytes:
    """Make a workbook of numbers."""
    return _workbook(_sheet_rows(size, lambda number: f'<c r="@"><v>{number}</v></c>'))


def strings_sheet(size: int) -> bytes:
    """Make a workbook whose cells name shared strings, each its own."""
    rows = _sheet_rows(size // 2, lambda number: f'<c r="@" t="s"><v>{number - 20}</v></c>')
    count = rows.count("<c ")
    return _workbook(rows, "".join(f"<si><t>part {number}</t></si>" for number in range(count)))


def merged_sheet(size: int) -> bytes:
    """Make a workbook with a merged range in each row."""
    rows = _sheet_rows(size, lambda number: f'<c r="@"><v>{number}</v></c>')
    count = rows.count("<row ")
    ranges = "".join(f'<mergeCell ref="A{row}:C{row}"/>' for row in range(1, count + 1))
    return _workbook(rows, merged=f'<mergeCells count="{count}">{ranges}</mergeCells>')


def slides(size: int) -> bytes:
    """Make a presentation of slides with ten paragraphs each."""
    count = max(1, size // 1500)
    paragraphs = f"<a:p><a:r><a:t>{_SENTENCE}</a:t></a:r></a:p>" * 10
    slide = (
        f'<p:sld xmlns:p="{_SLIDE_SPACE}" xmlns:a="{_DRAWING_SPACE}"><p:cSld><p:spTree><p:sp><p:txBody>{paragraphs}'
        "</p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    )
    ids = "".join(f'<p:sldId id="{256 + number}" r:id="r{number}"/>' for number in range(count))
    spaces = f'xmlns:p="{_SLIDE_SPACE}" xmlns:r="{_RELATION}"'
    show = f"<p:presentation {spaces}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATION}/slide" Target="slides/slide{number}.xml"/>'
        for number in range(count)
    )
    kind = f"{_OFFICE_TYPE}.presentationml"
    parts = {
        "ppt/presentation.xml": (show.encode(), ""),
        "ppt/_rels/presentation.xml.rels": (
            f'<Relationships xmlns="{_PACKAGE_RELATION}">{relations}</Relationships>'.encode(),
            "",
        ),
    }
    parts |= {f"ppt/slides/slide{number}.xml": (slide.encode(), f"{kind}.slide+xml") for number in range(count)}
    return _open_xml("ppt/presentation.xml", f"{kind}.presentation.main+xml", parts)


def odt(body: Make) -> Make:
    """Return an OpenDocument text around a body."""

    def make(size: int) -> bytes:
        space = "urn:oasis:names:tc:opendocument:xmlns"
        content = (
            f'<office:document-content xmlns:office="{space}:office:1.0" xmlns:text="{space}:text:1.0" '
            f'xmlns:table="{space}:table:1.0"><office:body><office:text>'
        ).encode()
        content += body(size) + b"</office:text></office:body></office:document-content>"
        return packed({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": content})

    return make


def epub(size: int) -> bytes:
    """Make a book of chapters of 2 kB."""
    count = max(1, size // 2000)
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile '
        'full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    items = "".join(
        f'<item id="c{number}" href="c{number}.xhtml" media-type="application/xhtml+xml"/>' for number in range(count)
    )
    spine = "".join(f'<itemref idref="c{number}"/>' for number in range(count))
    book = f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{items}</manifest><spine>{spine}</spine></package>'
    files = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": container.encode(),
        "book.opf": book.encode(),
    }
    for number in range(count):
        text = f"<html><body><h1>Chapter {number}</h1>" + f"<p>{_SENTENCE * 2}</p>" * 9 + "</body></html>"
        files[f"c{number}.xhtml"] = text.encode()
    return packed(files)


def mail(size: int) -> bytes:
    """Make a message with a plain and an HTML body."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "a@example.org", "b@example.org", "Prices"
    message.set_content(f"{_SENTENCE}\n" * max(1, size // 200))
    message.add_alternative(f"<p>{_SENTENCE}</p>\n" * max(1, size // 210), subtype="html")
    return message.as_bytes()


def notebook(size: int) -> bytes:
    """Make a notebook of cells of 300 bytes."""
    cells: list[object] = [
        {"cell_type": "code" if number % 2 else "markdown", "metadata": {}, "outputs": [], "source": [_SENTENCE] * 3}
        for number in range(max(1, size // 400))
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def _pdf(streams: list[bytes], *, shared: int = 1) -> bytes:
    """Return a PDF whose pages show the content streams, each `shared` times."""
    pages = [index for index in range(len(streams)) for _ in range(shared)]
    first_page, first_stream = 4, 4 + len(pages)
    kids = " ".join(f"{first_page + number} 0 R" for number in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(pages)}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    objects += [
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
        f"/Contents {first_stream + index} 0 R>>"
        .encode()
        for index in pages
    ]  # fmt: skip
    objects += [b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream) for stream in streams]
    out, offsets = bytearray(b"%PDF-1.7\n"), list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)
    return bytes(out)


def _pdf_page(lines: int) -> bytes:
    shown = "".join(f"1 0 0 1 50 {800 - 12 * line} Tm ({_SENTENCE[:80]})Tj\n" for line in range(lines))
    return f"BT /F 9 Tf\n{shown}ET".encode()


def pdf_pages(size: int) -> bytes:
    """Make a PDF of pages of prose, 5 kB each."""
    return _pdf([_pdf_page(45)] * max(1, size // 5000))


def pdf_small_pages(size: int) -> bytes:
    """Make a PDF of pages with three lines each; 20 MB: 10,000 pages at most."""
    return _pdf([_pdf_page(3)], shared=max(1, min(size // 2000, 10_000)))


def pdf_one_page(size: int) -> bytes:
    """Make a PDF of one page with all the text, line upon line within its height."""
    lines = max(1, size // 110)
    shown = "".join(f"1 0 0 1 50 {800 - 780 * line / lines:.3f} Tm ({_SENTENCE[:80]})Tj\n" for line in range(lines))
    return _pdf([f"BT /F 9 Tf\n{shown}ET".encode()])


def pdf_scattered(size: int) -> bytes:
    """Make a PDF of one page with single words at scattered places."""
    count = max(1, size // 45)
    shown = "".join(
        f"1 0 0 1 {40 + number * 7919 % 500} {30 + number * 104729 % 780} Tm (word{number})Tj\n"
        for number in range(count)
    )
    return _pdf([f"BT /F 5 Tf\n{shown}ET".encode()])


def pdf_lines(size: int) -> bytes:
    """Make a PDF of one page with a grid of ruled lines and a word in some cells."""
    count = max(1, size // 40)
    drawn = "".join(
        f"{number * 31 % 500} {number * 17 % 800} m {number * 31 % 500 + 40} {number * 17 % 800} l S\n"
        for number in range(count)
    )
    return _pdf([f"{drawn}{_pdf_page(40).decode()}".encode()])


def utf16(make: Make) -> Make:
    """Return the shape in UTF-16."""
    return lambda size: make(size // 2).decode().encode("utf-16")


def bitmap(size: int) -> bytes:
    """Make a white bitmap of this many bytes."""
    width = 1000
    height = max(1, size // width // 3)
    pixels = b"\xff" * (width * 3 * height)
    head = struct.pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54)
    return head + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(pixels), 2835, 2835, 0, 0) + pixels


_PARAGRAPH = f"<p>{_SENTENCE}</p>\n"
_FUNCTION = 'def area_{n}(width, height):\n    """Return the area."""\n    return width * height\n\n\n'
_ROW = "{n},Pump,1234.50,2024-03-05,a long description of the thing\n"
_W = "<w:p><w:r><w:t>word</w:t></w:r></w:p>"
_CELL = "<w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc>"

SHAPES: dict[str, Make] = {
    "prose.txt": repeated(_SENTENCE * 4 + "\n\n"),
    "one line.txt": repeated(_SENTENCE),
    "one word.txt": repeated("x"),
    "line ends.txt": repeated("\n"),
    "short lines.txt": repeated("a\n"),
    "cyrillic.txt": lambda size: ("Насос северной станции осмотрен. " * (size // 33)).encode("cp1251"),
    "utf16.txt": utf16(repeated(_SENTENCE)),
    "chinese.txt": repeated("北站的水泵于三月十二日检查过。"),
    "prose.md": counted(f"## Part {{n}}\n\n{_SENTENCE * 3}\n\n- first\n- second\n\n"),
    "one line.md": repeated(_SENTENCE),
    "stars.md": repeated("*"),
    "star words.md": repeated("*a **b "),
    "brackets.md": repeated("["),
    "bracket pairs.md": repeated("[a]("),
    "images.md": repeated("!["),
    "backticks.md": lambda size: "".join("`" * (1 + n % 60) + "a" for n in range(size // 31)).encode(),
    "underscores.md": repeated("_a"),
    "tags.md": repeated("<a "),
    "comments.md": repeated("<!--"),
    "quotes.md": repeated("> "),
    "quoted lines.md": repeated("> > > a\n"),
    "nested list.md": lambda size: "".join("  " * (n % 300) + "- a\n" for n in range(max(1, size // 304))).encode(),
    "table.md": counted("| {n} | Pump | 1,234.50 |\n", before="| No | Name | Price |\n|---|---|---|\n"),
    "wide table.md": lambda size: (
        "|a" * (size // 9) + "|\n" + "|---" * (size // 9) + "|\n" + "|b" * (size // 9)
    ).encode(),
    "fences.md": repeated("```\na\n"),
    "references.md": counted("[r{n}]: http://example.org/{n}\n"),
    "prose.html": repeated(_PARAGRAPH, before="<html><body>", after="</body></html>"),
    "one line.html": repeated(_SENTENCE, before="<html><body><p>", after="</p></body></html>"),
    "attributes.html": counted(" a{n}=1", before="<html><body><p>Before.</p><div", after=">In.</div></body></html>"),
    "nested.html": nested("<div>", "word", "</div>"),
    "nested spans.html": nested("<b><i>", "word", "</i></b>"),
    "open tags.html": repeated("<b><p>a"),
    "nested lists.html": nested("<ul><li>a", "b", "</li></ul>"),
    "nested tables.html": nested("<table><tr><td>a", "b", "</td></tr></table>"),
    "table.html": counted(
        "<tr><td>{n}<td>Pump<td>1,234.50</tr>", before="<table><tr><th>No<th>Name<th>Price</tr>", after="</table>"
    ),
    "wide table.html": repeated("<td>a", before="<table><tr>", after="</tr><tr><td>b</tr></table>"),
    "spans table.html": repeated("<td rowspan=1000 colspan=10>a<tr>", before="<table><tr>", after="</table>"),
    "style.html": counted(".c{n}{display:none}\n", before="<style>", after="</style><p class=c1>a</p><p>b</p>"),
    "styled.html": counted("<p class=c{n}>word</p>", before="<style>.a{display:none}.b{visibility:hidden}</style>"),
    "style and classes.html": lambda size: (
        "<style>"
        + "".join(f".c{n}{{display:none}}" for n in range(size // 40))
        + "</style>"
        + "".join(f"<p class='c{n} d'>word</p>" for n in range(size // 40))
    ).encode(),
    "entities.html": repeated("&amp;&lt;", before="<p>", after="</p>"),
    "comment.html": repeated("<!-- a ", before="<p>a</p>"),
    "definitions.html": counted("<dt>term {n}<dd>meaning", before="<dl>", after="</dl>"),
    "headings.html": counted("<h2>Part {n}</h2><p>word</p>"),
    "rows.csv": counted(_ROW, before="No,Name,Price,Date,Text\n"),
    "one line.csv": counted("value {n},"),
    "open quote.csv": repeated("a,b\n", before='"'),
    "quotes.csv": repeated('"a""b",'),
    "rows.tsv": counted("{n}\tPump\t1234.50\n"),
    "list.json": lambda size: json.dumps([{"name": f"pump {n}", "price": n * 1.5} for n in range(size // 36)]).encode(),
    "nested.json": nested("[", "1", "]"),
    "nested objects.json": nested('{"a":', "1", "}"),
    "one text.json": repeated(_SENTENCE, before='{"a":"', after='"}'),
    "escapes.json": repeated("\\u00e9\\n", before='{"a":"', after='"}'),
    "keys.json": counted('"key{n}":1,', before="{", after='"z":1}'),
    "lines.jsonl": counted('{"name":"pump {n}","price":1.5}\n'),
    "list.yaml": counted("- name: pump {n}\n  price: 1.5\n"),
    "nested.yaml": nested("[", "1", "]"),
    "blocks.yaml": lambda size: "".join(" " * n + "a:\n" for n in range(int((2 * size) ** 0.5))).encode(),
    "aliases.yaml": counted("- &a{n} [1]\n- *a{n}\n"),
    "one line.yaml": repeated("a, ", before="[", after="b]"),
    "keys.yaml": counted("key{n}: 1\n"),
    "list.xml": counted("<item><name>pump {n}</name><price>1.5</price></item>", before="<list>", after="</list>"),
    "nested.xml": nested("<a>", "word", "</a>"),
    "attributes.xml": counted(" a{n}='1'", before="<list", after="/>"),
    "one text.xml": repeated(_SENTENCE, before="<a>", after="</a>"),
    "entities.xml": repeated("&amp;", before="<a>", after="</a>"),
    "module.py": counted(_FUNCTION),
    "one line.py": counted("a{n}=1;"),
    "brackets.py": nested("(", "1", ")"),
    "open brackets.py": repeated("("),
    "one text.py": repeated(_SENTENCE, before='a = "', after='"\n'),
    "module.js": counted("function area{n}(a, b) {\n  return a * b;\n}\n\n"),
    "minified.js": counted("function a{n}(a,b){return a*b};"),
    "module.ts": counted("export function area{n}(a: number): number {\n  return a;\n}\n\n"),
    "module.go": counted("func area{n}(a int) int {\n\treturn a\n}\n\n", before="package a\n"),
    "rules.css": counted(".c{n} { color: red }\n"),
    "rows.sql": counted("INSERT INTO pumps VALUES ({n}, 'Pump', 1234.50);\n"),
    "one insert.sql": counted("({n},'Pump'),", before="INSERT INTO pumps VALUES ", after="(0,'a');"),
    "prose.rtf": repeated(r"\pard " + _SENTENCE + r"\par" + "\n", before=r"{\rtf1\ansi ", after="}"),
    "groups.rtf": nested("{", "word", "}"),
    "rtf groups.rtf": lambda size: b"{\\rtf1 " + nested("{\\b ", "word", "}")(size) + b"}",
    "table.rtf": repeated(r"\trowd\cellx1000\cellx2000 a\cell b\cell\row" + "\n", before=r"{\rtf1 ", after="}"),
    "picture.rtf": repeated("ff", before=r"{\rtf1 a{\pict\pngblip ", after="}b}"),
    "message.eml": mail,
    "headers.eml": counted(
        "X-Header-{n}: value\n", before="From: a@example.org\nTo: b@example.org\n", after="\nBody.\n"
    ),
    "received.eml": repeated("Received: from a by b\n", before="From: a@example.org\n", after="\nBody.\n"),
    "folded.eml": repeated(" word\n", before="From: a@example.org\nSubject: a\n", after="\nBody.\n"),
    "addresses.eml": counted(
        "a{n}@example.org, ", before="From: a@example.org\nTo: ", after="b@example.org\n\nBody.\n"
    ),
    "parts.eml": repeated(
        "--b\nContent-Type: text/plain\n\nword\n",
        before='From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n',
        after="--b--\n",
    ),
    "nested parts.eml": lambda size: (
        "From: a@example.org\nMIME-Version: 1.0\n"
        + "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(size // 60))
        + "Content-Type: text/plain\n\nword\n"
    ).encode(),
    "encoded words.eml": repeated("=?utf-8?q?a?= ", before="From: a@example.org\nSubject: ", after="\n\nBody.\n"),
    "quoted.eml": repeated("> > > word\n", before="From: a@example.org\n\n"),
    "subtitles.srt": counted("{n}\n00:00:01,000 --> 00:00:02,000\nA line of speech\n\n"),
    "subtitles.vtt": counted("00:00:01.000 --> 00:00:02.000\nA line {n}\n\n", before="WEBVTT\n\n"),
    "cells.ipynb": notebook,
    "one output.ipynb": lambda size: json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "metadata": {},
                    "source": "a",
                    "outputs": [{"output_type": "stream", "name": "stdout", "text": _SENTENCE * (size // 96)}],
                }
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    ).encode(),
    "paragraphs.docx": word(repeated(_W)),
    "prose.docx": word(repeated(f"<w:p><w:r><w:t>{_SENTENCE}</w:t></w:r></w:p>")),
    "one paragraph.docx": word(repeated("<w:r><w:t>word </w:t></w:r>", before="<w:p>", after="</w:p>")),
    "one text.docx": word(repeated(_SENTENCE, before="<w:p><w:r><w:t>", after="</w:t></w:r></w:p>")),
    "table.docx": word(repeated(f"<w:tr>{_CELL * 4}</w:tr>", before="<w:tbl>", after="</w:tbl>")),
    "wide table.docx": word(repeated(_CELL, before="<w:tbl><w:tr>", after="</w:tr></w:tbl>")),
    "nested tables.docx": word(nested("<w:tbl><w:tr><w:tc>", _W, "<w:p/></w:tc></w:tr></w:tbl>")),
    "controls.docx": word(nested("<w:sdt><w:sdtContent>", _W, "</w:sdtContent></w:sdt>")),
    "fields.docx": word(
        repeated(
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>',
            before="<w:p>",
            after="</w:p>",
        )
    ),
    "numbers.xlsx": numbers_sheet,
    "strings.xlsx": strings_sheet,
    "merged.xlsx": merged_sheet,
    "slides.pptx": slides,
    "prose.odt": odt(repeated(f"<text:p>{_SENTENCE}</text:p>")),
    "paragraphs.odt": odt(repeated("<text:p>word</text:p>")),
    "nested.odt": odt(nested("<text:section>", "<text:p>a</text:p>", "</text:section>")),
    "spans.odt": odt(repeated("<text:span>a </text:span>", before="<text:p>", after="</text:p>")),
    "table.odt": odt(
        repeated(
            "<table:table-row><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>",
            before="<table:table>",
            after="</table:table>",
        )
    ),
    "chapters.epub": epub,
    "pages.pdf": pdf_pages,
    "small pages.pdf": pdf_small_pages,
    "one page.pdf": pdf_one_page,
    "scattered.pdf": pdf_scattered,
    "lines.pdf": pdf_lines,
}
"""Shapes by the name of the file that they make."""
