"""Fields, controls, formulas, hidden text and parts of Word documents."""

from pathlib import Path
from typing import Literal
from zipfile import ZipFile

import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.models.blocks import BlockKind
from tests.unit.parsing.word_documents import WORD, WriteDocx, write_word_document
from tests.unit.parsing.word_markup import (
    SPACES,
    blocks_of,
    para,
    parsed,
    related,
    run,
    style,
    styled,
    styles,
    text_of,
)

STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"


def mark(kind: str, inner: str = "") -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}">{inner}</w:fldChar></w:r>'


def instruction(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


def body_text(write_docx: WriteDocx, body: str, parts: dict[str, str] | None = None) -> str:
    wrapped = f"<w:customXml {SPACES}>{body}</w:customXml>"
    return text_of(parsed(write_docx(wrapped, parts or {})))


def test_field_gives_its_result_without_its_instruction(write_docx: WriteDocx) -> None:
    field = mark("begin") + instruction("REF _Ref1") + mark("separate") + run("7.4") + mark("end")
    assert body_text(write_docx, para(run("clause ") + field + run(" holds"))) == "clause 7.4 holds"


def test_argument_of_a_field_is_not_text(write_docx: WriteDocx) -> None:
    inner = mark("begin") + instruction("MERGEFIELD a") + mark("separate") + run("secret") + mark("end")
    field = mark("begin") + instruction("IF ") + inner + mark("separate") + run("shown") + mark("end")
    assert body_text(write_docx, para(field)) == "shown"


def test_simple_field_gives_its_result(write_docx: WriteDocx) -> None:
    assert body_text(write_docx, para(f'<w:fldSimple w:instr="DATE">{run("5 May")}</w:fldSimple>')) == "5 May"


def test_field_without_an_end_hides_no_other_paragraph(write_docx: WriteDocx) -> None:
    assert body_text(write_docx, para(mark("begin") + run("x")) + para("after")).endswith("after")


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ('<w:checkBox><w:default w:val="1"/></w:checkBox>', "☒ yes"),
        ('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>', "☐ yes"),
        ('<w:ddList><w:result w:val="1"/><w:listEntry w:val="a"/><w:listEntry w:val="b"/></w:ddList>', "b yes"),
    ],
)
def test_old_form_field_shows_its_state(write_docx: WriteDocx, data: str, wanted: str) -> None:
    field = mark("begin", f"<w:ffData>{data}</w:ffData>") + instruction("FORM") + mark("end")
    assert body_text(write_docx, para(field + run(" yes"))) == wanted


def test_prompt_of_a_button_and_base_of_old_ruby_are_text(write_docx: WriteDocx) -> None:
    button = mark("begin") + instruction("MACROBUTTON NoMacro [Name]") + mark("end")
    ruby = mark("begin") + instruction(r"EQ \* jc2 \o\ad(\s\up 9(とう),東)") + mark("end")
    assert body_text(write_docx, para(run("Dear ") + button + run(", ") + ruby)) == "Dear [Name], 東"


@pytest.mark.parametrize(("state", "wanted"), [("1", "☒"), ("0", "☐")])
def test_empty_check_box_shows_its_state(write_docx: WriteDocx, state: str, wanted: str) -> None:
    control = (
        f'<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{state}"/></w14:checkbox></w:sdtPr>'
        "<w:sdtContent><w:r/></w:sdtContent></w:sdt>"
    )
    assert body_text(write_docx, para(control + run(" agreed"))) == f"{wanted} agreed"


def test_controls_of_every_place_give_their_content(write_docx: WriteDocx) -> None:
    def control(inner: str) -> str:
        return f"<w:sdt><w:sdtPr><w:alias w:val='no'/></w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>"

    cells = "<w:tr>" + control(f"<w:tc>{para('in cell')}</w:tc>") + f"<w:tc>{para('b')}</w:tc></w:tr>"
    rows = control(f"<w:tr><w:tc>{para('in row')}</w:tc><w:tc>{para('c')}</w:tc></w:tr>")
    text = body_text(
        write_docx, control(para("block")) + para(control(run("inline"))) + f"<w:tbl>{cells}{rows}</w:tbl>"
    )
    assert all(words in text for words in ("block", "inline", "in cell", "in row"))
    assert "no" not in text.split()


def test_ruby_gives_its_base(write_docx: WriteDocx) -> None:
    ruby = f"<w:r><w:ruby><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r>"
    assert body_text(write_docx, para(ruby + run("タワー"))) == "東京タワー"


@pytest.mark.parametrize(
    ("font", "code", "wanted"),
    [("Symbol", "F061", "α"), ("Wingdings", "F0FD", "☒"), ("Wingdings", "F0A8", "☐"), ("Arial", "2192", "→")],
)
def test_symbol_is_the_sign_of_its_font(write_docx: WriteDocx, font: str, code: str, wanted: str) -> None:
    assert body_text(write_docx, para(f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>')) == wanted


def math(inner: str) -> str:
    return para(f"<m:oMath>{inner}</m:oMath>")


def number(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


MATRIX = f"<m:m><m:mr><m:e>{number('1')}</m:e><m:e>{number('0')}</m:e></m:mr></m:m>"
SUM = (
    f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{number("i=1")}</m:sub><m:sup>{number("n")}</m:sup>'
    f"<m:e>{number('i')}</m:e></m:nary>"
)


@pytest.mark.parametrize(
    ("inner", "wanted"),
    [
        (f"<m:f><m:num>{number('a')}</m:num><m:den>{number('b')}</m:den></m:f>", r"\frac{a}{b}"),
        (f"<m:sSup><m:e>{number('x')}</m:e><m:sup>{number('2')}</m:sup></m:sSup>", "x^{2}"),
        (f"<m:rad><m:deg>{number('3')}</m:deg><m:e>{number('x')}</m:e></m:rad>", r"\sqrt[3]{x}"),
        (SUM, r"\sum_{i=1}^{n} i"),
        (f"<m:d><m:e>{number('α')}</m:e></m:d>", r"\left(\alpha\right)"),
        (MATRIX, r"\begin{matrix} 1 & 0 \end{matrix}"),
        (f"<m:func><m:fName>{number('sin')}</m:fName><m:e>{number('θ')}</m:e></m:func>", r"\sin \theta"),
        (f'<m:acc><m:accPr><m:chr m:val="⃗"/></m:accPr><m:e>{number("v")}</m:e></m:acc>', r"\vec{v}"),
        (f"<m:unheardOf>{number('50%')}</m:unheardOf>", r"50\%"),
    ],
)
def test_formula_is_latex(write_docx: WriteDocx, inner: str, wanted: str) -> None:
    document = parsed(write_docx(f"<w:customXml {SPACES}>{math(inner)}</w:customXml>", {}))
    assert text_of(document) == f"${wanted}$"
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("properties", "is_hidden"),
    [
        ("<w:vanish/>", True),
        ('<w:vanish w:val="0"/>', False),
        ('<w:rStyle w:val="Hidden"/>', True),
        ('<w:rStyle w:val="Hidden"/><w:vanish w:val="false"/>', False),
        ('<w:color w:val="FFFFFF"/>', True),
        ('<w:color w:val="FFFFFF"/><w:highlight w:val="black"/>', False),
        ('<w:sz w:val="1"/>', True),
        ("<w:webHidden/>", True),
    ],
)
def test_hidden_text_is_left_out_and_counted(write_docx: WriteDocx, properties: str, is_hidden: bool) -> None:
    parts = styles(style("Hidden", "Hidden", "<w:rPr><w:vanish/></w:rPr>", kind="character"))
    document = parsed(write_docx(para(run("shown") + run(" secret words", properties)), parts))
    assert ("secret" in text_of(document)) is not is_hidden
    assert any("2 hidden words" in warning for warning in document.warnings) is is_hidden


def test_paragraph_of_a_hidden_style_is_left_out(write_docx: WriteDocx) -> None:
    parts = styles(style("Gone", "Gone", "<w:rPr><w:vanish/></w:rPr>"))
    assert text_of(parsed(write_docx(styled("secret", "Gone") + para("shown"), parts))) == "shown"


def test_white_text_in_a_table_is_kept_since_its_cell_may_be_dark(write_docx: WriteDocx) -> None:
    white = para(run("Header", '<w:color w:val="FFFFFF"/>'))
    body = f"<w:tbl><w:tr><w:tc>{white}</w:tc></w:tr></w:tbl>"
    assert text_of(parsed(write_docx(body, {}))) == "Header"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ("accepted", "fee new moved-to row"),
        ("original", "fee old moved-from"),
        ("all", "fee old new moved-from moved-to row"),
    ],
)
def test_changes_are_read_as_the_settings_say(
    write_docx: WriteDocx, changes: Literal["accepted", "original", "all"], wanted: str
) -> None:
    body = (
        para(
            f"{run('fee ')}<w:del><w:r><w:delText>old </w:delText></w:r></w:del><w:ins>{run('new ')}</w:ins>"
            f"<w:moveFrom>{run('moved-from ')}</w:moveFrom><w:moveTo>{run('moved-to')}</w:moveTo>"
        )
        + f"<w:tbl><w:tr><w:trPr><w:ins/></w:trPr><w:tc>{para('row')}</w:tc></w:tr></w:tbl>"
    )
    document = parsed(write_docx(body, {}), ParseOptions(word_changes=changes))
    assert text_of(document).split() == wanted.split()
    assert document.warnings == ()


def test_paragraph_whose_end_was_deleted_runs_on(write_docx: WriteDocx) -> None:
    body = para("first ", "<w:rPr><w:del/></w:rPr>") + para("second")
    assert text_of(parsed(write_docx(body, {}))) == "first second"


def test_dropped_capital_is_part_of_its_word(write_docx: WriteDocx) -> None:
    body = para("T", '<w:framePr w:dropCap="drop"/>') + para("he very first words")
    document = parsed(write_docx(body, {}))
    assert text_of(document) == "The very first words"
    assert document.warnings == ()


def test_comments_are_left_out_if_the_settings_say_so(write_docx: WriteDocx) -> None:
    parts = {"word/comments.xml": f'<w:comments {WORD}><w:comment w:id="0">{para("remark")}</w:comment></w:comments>'}
    assert "remark" in text_of(parsed(write_docx(para("body"), parts)))
    document = parsed(write_docx(para("body"), parts), ParseOptions(word_comments=False))
    assert text_of(document) == "body"
    assert document.warnings == ()


def test_chart_is_a_table_of_its_series(write_docx: WriteDocx) -> None:
    def points(*values: str) -> str:
        return "".join(f'<c:pt idx="{index}"><c:v>{value}</c:v></c:pt>' for index, value in enumerate(values))

    chart = (
        f"<c:chartSpace {SPACES}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:rich></c:tx>"
        f"</c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache>{points('Europe')}</c:strCache></c:strRef>"
        f"</c:tx><c:cat><c:strRef><c:strCache>{points('Q1', 'Q2')}</c:strCache></c:strRef></c:cat><c:val><c:numRef>"
        f"<c:numCache>{points('4.2999999999999998', '5')}</c:numCache></c:numRef></c:val></c:ser></c:barChart>"
        "</c:plotArea></c:chart></c:chartSpace>"
    )
    drawing = para('<w:r><w:drawing><a:graphic><c:chart r:id="rId5"/></a:graphic></w:drawing></w:r>')
    parts = {"word/charts/chart1.xml": chart} | related({"rId5": ("chart", "charts/chart1.xml")})
    text = body_text(write_docx, drawing + para("after"), parts)
    assert text == "Sales\n\nEurope\nQ1; Europe: 4.3\nQ2; Europe: 5\n\nafter"


def test_diagram_is_a_list_of_its_points(write_docx: WriteDocx) -> None:
    def point(key: str, text: str) -> str:
        return f'<dgm:pt modelId="{key}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'

    data = (
        f'<dgm:dataModel {SPACES}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>{point("1", "Plan")}{point("2", "Build")}'
        f'{point("3", "Test")}</dgm:ptLst><dgm:cxnLst><dgm:cxn srcId="0" destId="1" srcOrd="0"/>'
        '<dgm:cxn srcId="0" destId="2" srcOrd="1"/><dgm:cxn srcId="2" destId="3" srcOrd="0"/>'
        "</dgm:cxnLst></dgm:dataModel>"
    )
    drawing = para('<w:r><w:drawing><a:graphic><dgm:relIds r:dm="rId6"/></a:graphic></w:drawing></w:r>')
    parts = {"word/diagrams/data1.xml": data} | related({"rId6": ("diagramData", "diagrams/data1.xml")})
    assert body_text(write_docx, drawing, parts) == "- Plan\n- Build\n  - Test"


@pytest.mark.parametrize(
    ("name", "content"),
    [("chunk.html", "<html><body><h2>Inner</h2><p>inner words</p></body></html>"), ("chunk.txt", "inner words")],
)
def test_chunk_of_another_format_is_read_at_its_place(write_docx: WriteDocx, name: str, content: str) -> None:
    parts = {f"word/{name}": content} | related({"rId7": ("aFChunk", name)})
    text = body_text(write_docx, para("before") + '<w:altChunk r:id="rId7"/>' + para("after"), parts)
    assert text.index("before") < text.index("inner words") < text.index("after")


def test_chunk_named_many_times_is_read_once(write_docx: WriteDocx) -> None:
    parts = {"word/chunk.txt": "inner words"} | related({"rId7": ("aFChunk", "chunk.txt")})
    assert body_text(write_docx, '<w:altChunk r:id="rId7"/>' * 3, parts) == "inner words"


def test_word_document_in_a_document_is_read_at_its_place(write_docx: WriteDocx, tmp_path: Path) -> None:
    inner = write_word_document(tmp_path / "inner.docx", styled("Inner heading", "Heading1"), {})
    path = write_docx(f'<w:altChunk {SPACES} r:id="rId7"/>', related({"rId7": ("aFChunk", "inner.docx")}))
    with ZipFile(path, "a") as archive:
        archive.writestr("word/inner.docx", inner.read_bytes())
    assert blocks_of(parsed(path)) == [(BlockKind.HEADING, 1, "Inner heading")]


def test_text_box_is_read_once_behind_its_paragraph(write_docx: WriteDocx) -> None:
    box = f"<w:txbxContent>{para('boxed')}</w:txbxContent>"
    drawing = (
        f"<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert body_text(write_docx, para(run("an") + drawing + run("chor")) + para("after")) == "anchor\n\nboxed\n\nafter"


def test_description_of_a_picture_is_a_block(write_docx: WriteDocx) -> None:
    picture = '<w:r><w:drawing><wp:docPr id="1" name="Picture 1" descr="A red boat"/><a:pic/></w:drawing></w:r>'
    document = parsed(write_docx(f"<w:customXml {SPACES}>{para(picture)}</w:customXml>", {}))
    assert blocks_of(document) == [(BlockKind.IMAGE, 0, "A red boat")]


def test_headers_and_footers_are_furniture(write_docx: WriteDocx) -> None:
    parts = {
        "word/header1.xml": f"<w:hdr {WORD}>{para('Confidential')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {WORD}>{para('Page 1')}</w:ftr>",
    }
    kinds = [kind for kind, _, _ in blocks_of(parsed(write_docx(para("body"), parts)))]
    assert kinds == [BlockKind.FURNITURE, BlockKind.PARAGRAPH, BlockKind.FURNITURE]


def test_strict_document_with_another_main_part_is_read(tmp_path: Path) -> None:
    path = tmp_path / "strict.docx"
    with ZipFile(path, "w") as archive:
        archive.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
            'Type="http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument" '
            'Target="/word/document2.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document2.xml",
            f'<w:document xmlns:w="{STRICT}"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Strict'
            "</w:t></w:r></w:p></w:body></w:document>",
        )
    assert blocks_of(parsed(path)) == [(BlockKind.HEADING, 1, "Strict")]


@pytest.mark.parametrize(
    ("stated", "wanted"),
    [
        ("Annual report", "Annual report"),
        ("Microsoft Word - draft.doc", "The first title"),
        ("Document1", "The first title"),
        ("report_final.docx", "The first title"),
        ("", "The first title"),
    ],
)
def test_title_is_stated_unless_it_is_a_file_name(write_docx: WriteDocx, stated: str, wanted: str) -> None:
    core = f'<cp:coreProperties xmlns:cp="x" xmlns:dc="y"><dc:title>{stated}</dc:title></cp:coreProperties>'
    parts = {"docProps/core.xml": core} | styles(style("Title", "Title"))
    assert parsed(write_docx(styled("The first title", "Title"), parts)).title == wanted


def test_text_without_a_place_is_appended_and_told(write_docx: WriteDocx) -> None:
    lost = f"<w:sectPr>{run('lost words of a strange place')}</w:sectPr>"
    document = parsed(write_docx(para("kept") + lost, {}))
    assert text_of(document).endswith("## Text without a place\n\nlost words of a strange place")
    assert any("6" in warning for warning in document.warnings)


def test_deep_nesting_is_read(write_docx: WriteDocx) -> None:
    deep = "<w:tbl><w:tr><w:tc>" * 80 + para("deep words") + "</w:tc></w:tr></w:tbl>" * 80
    assert text_of(parsed(write_docx(deep, {}))) == "deep words"
