from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.opendocument import OpenDocumentParser
from analytiq.models.text import ParsedDocument

Parse = Callable[..., ParsedDocument]
NAMESPACES = " ".join(
    f'xmlns:{name}="urn:{name}"' for name in ("office", "text", "table", "draw", "style", "presentation")
)


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Writes a document of the body's XML and reads it."""

    def parsed(kind: str, body: str, *, styles: str = "", manifest: str = "", max_pages: int = 10) -> ParsedDocument:
        path = tmp_path / "document.odf"
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            archive.writestr(
                "content.xml",
                f"<office:document-content {NAMESPACES}><office:automatic-styles>{styles}</office:automatic-styles>"
                f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            )
            if manifest:
                archive.writestr("META-INF/manifest.xml", manifest)
        return OpenDocumentParser().parse(path, ParseOptions(max_pages=max_pages), lambda done, total: None)

    return parsed


def cell(text: str, **attributes: str) -> str:
    given = "".join(f' table:{name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<table:table-cell{given}>{f'<text:p>{text}</text:p>' if text else ''}</table:table-cell>"


def row(*cells: str, repeated: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{repeated}">{"".join(cells)}</table:table-row>'


def test_text_keeps_headings_lists_notes_and_spaces(parse: Parse) -> None:
    document = parse(
        "text",
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h text:outline-level="2">Harvest</text:h>'
        '<text:p>Quinces<text:s text:c="2"/>are <text:span>ripe</text:span><text:note><text:note-body>'
        "<text:p>in October</text:p></text:note-body></text:note>.<text:line-break/>Pick them.</text:p>"
        "<text:list><text:list-item><text:p>by hand</text:p><text:list><text:list-item><text:p>gently</text:p>"
        "</text:list-item></text:list></text:list-item></text:list>"
        "<text:section><text:p>In a section</text:p></text:section>",
    )
    assert document.pages[0].text == (
        "## Harvest\n\nQuinces  are ripe [in October] .\nPick them.\n\n- by hand\n  - gently\n\nIn a section"
    )


def test_text_box_is_read_once(parse: Parse) -> None:
    document = parse(
        "text",
        "<text:p>Before<draw:frame><draw:text-box><text:p>in the box</text:p></draw:text-box></draw:frame></text:p>",
    )
    assert document.pages[0].text == "Before\n\nin the box"


def test_each_sheet_is_a_page_and_cells_are_as_they_show(parse: Parse) -> None:
    document = parse(
        "spreadsheet",
        f'<table:table table:name="Prices">{row(cell("Fruit"), cell("Price"))}{row(cell("Quince"), cell("3,50 €"))}'
        f'</table:table><table:table table:name="Stock">{row(cell("none"))}</table:table>',
    )
    assert [page.text for page in document.pages] == [
        "# Prices\n\nFruit | Price\nFruit: Quince; Price: 3,50 €",
        "# Stock\n\nnone",
    ]


def test_empty_tail_of_a_sheet_costs_nothing(parse: Parse) -> None:
    tail = row(cell("", number_columns_repeated="16384"), repeated=1_048_000)
    document = parse(
        "spreadsheet",
        f'<table:table table:name="S">{row(cell("a"), cell("", number_columns_repeated="16000"))}{tail}</table:table>',
    )
    assert document.pages[0].text == "# S\n\na"


def test_filled_cells_that_repeat_without_end_are_refused(parse: Parse) -> None:
    with pytest.raises(LimitExceededError, match="cells"):
        parse("spreadsheet", f'<table:table table:name="S">{row(cell("a"), repeated=2_000_000_000)}</table:table>')
    far = row(cell("a", number_columns_repeated="2000000000"))
    with pytest.raises(LimitExceededError, match="cells"):
        parse("spreadsheet", f'<table:table table:name="S">{far}</table:table>')


def test_hidden_sheet_is_left_out_and_named(parse: Parse) -> None:
    document = parse(
        "spreadsheet",
        f'<table:table table:name="Open">{row(cell("shown"))}</table:table>'
        f'<table:table table:name="Keys" table:style-name="h">{row(cell("secret"))}</table:table>',
        styles='<style:style style:name="h"><style:table-properties table:display="false"/></style:style>',
    )
    assert [page.text for page in document.pages] == ["# Open\n\nshown"]
    assert "'Keys'" in document.warnings[0]


def test_each_slide_is_a_page_with_its_notes(parse: Parse) -> None:
    slide = (
        "<draw:page><draw:frame><draw:text-box><text:p>Plans</text:p></draw:text-box></draw:frame>"
        "<presentation:notes><draw:frame><draw:text-box><text:p>Slowly</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page>"
    )
    document = parse("presentation", slide * 2)
    assert [page.text for page in document.pages] == ["Plans\n\n## Notes\n\nSlowly"] * 2


def test_more_slides_than_pages_may_be_are_refused(parse: Parse) -> None:
    with pytest.raises(LimitExceededError, match="3 pages"):
        parse("presentation", "<draw:page/>" * 3, max_pages=2)


def test_document_with_a_password_says_what_to_do(parse: Parse) -> None:
    with pytest.raises(EncryptedFileError, match="give the document its password"):
        parse("text", "", manifest="<manifest><encryption-data/></manifest>")


def test_document_without_a_body_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "document.odt"
    for content in ("<office/>", "<office", ""):
        with ZipFile(path, "w") as archive:
            archive.writestr("content.xml", content)
        with pytest.raises(CorruptFileError, match="undamaged copy"):
            OpenDocumentParser().parse(path, ParseOptions(), lambda done, total: None)
