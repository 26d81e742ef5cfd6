"""Made packages of any size: Office Open XML, OpenDocument and EPUB, for `growing_files`."""

import gzip
import io
import tarfile
import warnings
import zipfile
from collections.abc import Callable

from benchmarks.growing_units import SENTENCE, Make, counted, nested, repeated

_WORD_SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_SHEET_SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SLIDE_SPACE = "http://schemas.openxmlformats.org/presentationml/2006/main"
_DRAWING_SPACE = "http://schemas.openxmlformats.org/drawingml/2006/main"
_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE_RELATION = "http://schemas.openxmlformats.org/package/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"


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
    paragraphs = f"<a:p><a:r><a:t>{SENTENCE}</a:t></a:r></a:p>" * 10
    return _show([f"<p:sp><p:txBody>{paragraphs}</p:txBody></p:sp>"] * max(1, size // 1500))


def _show(trees: list[str]) -> bytes:
    """Return a presentation of slides with these shapes."""
    count = len(trees)
    slide = (
        f'<p:sld xmlns:p="{_SLIDE_SPACE}" xmlns:a="{_DRAWING_SPACE}"><p:cSld><p:spTree>',
        "</p:spTree></p:cSld></p:sld>",
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
    parts |= {
        f"ppt/slides/slide{number}.xml": (tree.join(slide).encode(), f"{kind}.slide+xml")
        for number, tree in enumerate(trees)
    }
    return _open_xml("ppt/presentation.xml", f"{kind}.presentation.main+xml", parts)


_OPEN_SPACE = "urn:oasis:names:tc:opendocument:xmlns"


def _open_document(kind: str, body: str) -> bytes:
    content = (
        f'<office:document-content xmlns:office="{_OPEN_SPACE}:office:1.0" xmlns:text="{_OPEN_SPACE}:text:1.0" '
        f'xmlns:table="{_OPEN_SPACE}:table:1.0" xmlns:draw="{_OPEN_SPACE}:drawing:1.0"><office:body><office:{kind}>'
        f"{body}</office:{kind}></office:body></office:document-content>"
    )
    return packed({"mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(), "content.xml": content.encode()})


def odt(body: Make) -> Make:
    """Return an OpenDocument text around a body."""
    return lambda size: _open_document("text", body(size).decode())


def ods(rows: Make) -> Make:
    """Return an OpenDocument spreadsheet of one table around its rows."""
    return lambda size: _open_document(
        "spreadsheet", f'<table:table table:name="Prices">{rows(size).decode()}</table:table>'
    )


def odp(size: int) -> bytes:
    """Make an OpenDocument presentation of pages with one text box each."""
    page = f"<draw:page><draw:frame><draw:text-box><text:p>{SENTENCE}</text:p></draw:text-box></draw:frame></draw:page>"
    return _open_document("presentation", page * max(1, size // len(page)))


def epub(size: int) -> bytes:
    """Make a book of chapters of 2 kB."""
    prose = f"<p>{SENTENCE * 2}</p>" * 9
    return _book([f"<html><body><h1>Chapter {n}</h1>{prose}</body></html>" for n in range(max(1, size // 2000))])


def _book(chapters: list[str]) -> bytes:
    count = len(chapters)
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
    files |= {f"c{number}.xhtml": chapter.encode() for number, chapter in enumerate(chapters)}
    return packed(files)


_W = "<w:p><w:r><w:t>word</w:t></w:r></w:p>"
_CELL = "<w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc>"


def styled_document(size: int) -> bytes:
    """Make a Word document with a style for each paragraph, each based on the one before."""
    count = max(1, size // 250)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{n}"><w:name w:val="s{n}"/><w:basedOn w:val="s{n - 1}"/></w:style>'
        for n in range(count)
    )
    body = "".join(f'<w:p><w:pPr><w:pStyle w:val="s{n}"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>' for n in range(count))
    space = f'xmlns:w="{_WORD_SPACE}"'
    relations = (
        f'<Relationships xmlns="{_PACKAGE_RELATION}"><Relationship Id="r1" Type="{_RELATION}/styles" '
        'Target="styles.xml"/></Relationships>'
    )
    kind = f"{_OFFICE_TYPE}.wordprocessingml"
    parts = {
        "word/document.xml": (f"<w:document {space}><w:body>{body}</w:body></w:document>".encode(), ""),
        "word/_rels/document.xml.rels": (relations.encode(), ""),
        "word/styles.xml": (f"<w:styles {space}>{styles}</w:styles>".encode(), f"{kind}.styles+xml"),
    }
    return _open_xml("word/document.xml", f"{kind}.document.main+xml", parts)


def same_names(size: int) -> bytes:
    """Make an archive whose files have one name."""
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w") as archive:
        warnings.simplefilter("ignore")
        for _ in range(size // 110):
            archive.writestr("a.txt", b"word")
    return target.getvalue()


def tape(size: int, *, name: str = "") -> bytes:
    """Make a tar archive of small files."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(max(1, size // 1024)):
            member = tarfile.TarInfo(f"{name}{number}.txt")
            member.size = 4
            archive.addfile(member, io.BytesIO(b"word"))
    return target.getvalue()


_ONE = {"before": "<w:p>", "after": "</w:p>"}
_MATH_SPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"

PACKAGES: dict[str, Make] = {
    "paragraphs.docx": word(repeated(_W)),
    "prose.docx": word(repeated(f"<w:p><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>")),
    "one paragraph.docx": word(repeated("<w:r><w:t>word </w:t></w:r>", before="<w:p>", after="</w:p>")),
    "one text.docx": word(repeated(SENTENCE, before="<w:p><w:r><w:t>", after="</w:t></w:r></w:p>")),
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
    "prose.odt": odt(repeated(f"<text:p>{SENTENCE}</text:p>")),
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
    "styles.docx": styled_document,
    "headings.docx": word(
        repeated(f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{SENTENCE}</w:t></w:r></w:p>{_W}')
    ),
    "links.docx": word(repeated("<w:hyperlink w:anchor='a'><w:r><w:t>a </w:t></w:r></w:hyperlink>", **_ONE)),
    "changes.docx": word(
        repeated("<w:ins><w:r><w:t>a</w:t></w:r></w:ins><w:del><w:r><w:delText>b</w:delText></w:r></w:del>", **_ONE)
    ),
    "formulas.docx": word(
        nested(f"<m:d xmlns:m='{_MATH_SPACE}'><m:e>", "<m:r><m:t>x</m:t></m:r>", "</m:e></m:d>", **_ONE)
    ),
    "spans.docx": word(
        repeated(
            f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="60"/><w:vMerge/></w:tcPr>{_W}</w:tc></w:tr>',
            before="<w:tbl>",
            after="</w:tbl>",
        )
    ),
    "boxes.docx": word(nested("<w:p><w:r><w:txbxContent>", _W, "</w:txbxContent></w:r></w:p>")),
    "empty runs.docx": word(repeated("<w:r/>", **_ONE)),
    "items.docx": word(
        repeated(
            '<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r>'
            "</w:p>"
        )
    ),
    "empty cells.xlsx": lambda size: _workbook(_sheet_rows(size, lambda number: '<c r="@"/>')),
    "one row.xlsx": lambda size: _workbook(
        '<row r="1">' + "".join(f"<c><v>{n}</v></c>" for n in range(min(16_384, size // 20))) + "</row>"
    ),
    "wide rows.xlsx": lambda size: _workbook(
        ("<row>" + "".join(f"<c><v>{n}</v></c>" for n in range(16_384)) + "</row>") * max(1, size // 300_000)
    ),
    "one text.xlsx": lambda size: _workbook(
        f'<row r="1"><c r="A1" t="inlineStr"><is><t>{SENTENCE * (size // 97)}</t></is></c></row>'
    ),
    "sparse.xlsx": lambda size: _workbook(
        "".join(
            f'<row r="{1 + n * 10}"><c r="{"ABCDEFGH"[n % 8]}{1 + n * 10}"><v>{n}</v></c></row>'
            for n in range(size // 50)
        )
    ),
    "overlapping.xlsx": lambda size: _workbook(
        '<row r="1"><c r="A1"><v>1</v></c></row>',
        merged="<mergeCells>"
        + "".join(f'<mergeCell ref="A1:ZZ{n + 2}"/>' for n in range(size // 30))
        + "</mergeCells>",
    ),
    "one slide.pptx": lambda size: _show(
        [f"<p:sp><p:txBody>{'<a:p><a:r><a:t>word</a:t></a:r></a:p>' * (size // 38)}</p:txBody></p:sp>"]
    ),
    "shapes.pptx": lambda size: _show(
        ["<p:sp><p:txBody><a:p><a:r><a:t>word</a:t></a:r></a:p></p:txBody></p:sp>" * (size // 75)]
    ),
    "nested groups.pptx": lambda size: _show(
        [
            "<p:grpSp>" * (size // 19)
            + "<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>"
            + "</p:grpSp>" * (size // 19)
        ]
    ),
    "table.pptx": lambda size: _show(
        [
            "<p:graphicFrame><a:graphic><a:graphicData><a:tbl>"
            + ("<a:tr>" + "<a:tc><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></a:txBody></a:tc>" * 4 + "</a:tr>")
            * (size // 300)
            + "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
        ]
    ),
    "many slides.pptx": lambda size: _show(
        ["<p:sp><p:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></p:txBody></p:sp>"] * (size // 250)
    ),
    "one paragraph.odt": odt(repeated(SENTENCE, before="<text:p>", after="</text:p>")),
    "headings.odt": odt(counted('<text:h text:outline-level="1">Part {n}</text:h><text:p>word</text:p>')),
    "nested lists.odt": odt(
        nested("<text:list><text:list-item>", "<text:p>a</text:p>", "</text:list-item></text:list>")
    ),
    "spaces.odt": odt(repeated('<text:p>a<text:s text:c="1000000"/>b</text:p>')),
    "rows.ods": ods(
        counted(
            "<table:table-row><table:table-cell><text:p>{n}</text:p></table:table-cell><table:table-cell "
            'table:number-columns-repeated="3"/></table:table-row>'
        )
    ),
    "repeated.ods": ods(
        repeated(
            '<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="1000">'
            "<text:p>a</text:p></table:table-cell></table:table-row>"
        )
    ),
    "one row.ods": ods(
        counted(
            "<table:table-cell><text:p>{n}</text:p></table:table-cell>",
            before="<table:table-row>",
            after="</table:table-row>",
        )
    ),
    "pages.odp": odp,
    "one chapter.epub": lambda size: _book([f"<html><body>{f'<p>{SENTENCE}</p>' * (size // 103)}</body></html>"]),
    "small chapters.epub": lambda size: _book(["<html><body><p>a</p></body></html>"] * (size // 100)),
    "files.zip": lambda size: packed({f"{n}.txt": b"word" for n in range(size // 110)}),
    "folders.zip": lambda size: packed({f"{n}/": b"" for n in range(size // 110)}),
    "deep names.zip": lambda size: packed({f"{'a/' * 300}{n}.txt": b"word" for n in range(size // 720)}),
    "same names.zip": same_names,
    "one text.zip": lambda size: packed({"a.txt": SENTENCE.encode() * (size // 97)}),
    "bomb.zip": lambda size: packed({f"{n}.txt": b"\0" * 10_000_000 for n in range(max(1, size // 10_000))}),
    "files.tar": tape,
    "long names.tar": lambda size: tape(size, name="a/" * 300),
    "bomb.tar.gz": lambda size: gzip.compress(b"\0" * (size * 100)),
}
