"""Pairs and intents in workbooks: each sheet with the columns counts, read as it is shown."""

import os
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from openpyxl import Workbook
from pydantic import SecretStr

from analytiq.errors import (
    AnalytiqError,
    CorruptFileError,
    EncryptedFileError,
    InvalidInputError,
    LimitExceededError,
    UnsupportedFormatError,
)
from analytiq.inference.credentials.encryption import Vault, new_secret_key
from analytiq.ingestion.parsing.memory import MemoryBudget
from analytiq.ingestion.parsing.reading import DocumentReader
from analytiq.ingestion.parsing.servers import running_server
from analytiq.ingestion.sources.base import ReadWorkbook
from analytiq.ingestion.sources.configuration.workbooks import Workbooks
from analytiq.ingestion.sources.systems.labelled.workbooks import WantedColumn, records_of_sheets
from analytiq.ingestion.tables import sheets as collection
from analytiq.models.tables import SheetRows
from analytiq.settings import ExtractionSettings, SourceSettings
from tests.contract.made_sources import opening
from tests.fakes.web_site import Served, WebSite

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"
OPERATOR = SourceSettings(private_hosts=("127.0.0.1",))
WANTED = (WantedColumn(("question", "q"), "question_column"), WantedColumn(("answer", "a"), "answer_column"))
NAMESPACES = " ".join(f'xmlns:{name}="urn:{name}"' for name in ("office", "text", "table"))


@pytest.fixture
def read() -> ReadWorkbook:
    settings = ExtractionSettings()
    reader = DocumentReader(settings, MemoryBudget(settings.total_memory_bytes), Vault(SecretStr(new_secret_key())))
    return Workbooks(reader, settings).reader_for("f" * 24)


def xlsx(sheets: Mapping[str, Sequence[Sequence[object]]], change: Callable[[Workbook], None] | None = None) -> bytes:
    book = Workbook()
    del book["Sheet"]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    if change is not None:
        change(book)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def ods(rows: Sequence[Sequence[str]]) -> bytes:
    """Return a spreadsheet; "|" divides the paragraphs of a cell."""
    body = "".join(
        f"<table:table-row>{''.join(f'<table:table-cell>{_paragraphs(cell)}</table:table-cell>' for cell in row)}"
        "</table:table-row>"
        for row in rows
    )
    content = BytesIO()
    with ZipFile(content, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr(
            "content.xml",
            f"<office:document-content {NAMESPACES}><office:body><office:spreadsheet>"
            f'<table:table table:name="FAQ">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return content.getvalue()


def _paragraphs(cell: str) -> str:
    return "".join(f"<text:p>{part}</text:p>" for part in cell.split("|"))


async def test_sheets_are_read_with_every_shown_row_as_it_stands(read: ReadWorkbook) -> None:
    rows = [
        ["Our FAQ"],
        ["question", "label", "answer"],
        ["Is it open?", None, "Yes"],
        ["Where?", "Place", "Shed\n seven"],
        [],
        ["When?", None, "Nine"],
        ["Who?", None, 7],
    ]

    def change(book: Workbook) -> None:
        book["FAQ"].merge_cells("B4:B6")
        book["FAQ"].row_dimensions[7].hidden = True
        book["Old"].sheet_state = "hidden"

    workbook = await read(xlsx({"FAQ": rows, "Old": [["x", "y"]], "Empty": []}, change))
    assert workbook.sheets == (
        SheetRows(
            "FAQ",
            (
                ("Our FAQ",),
                ("question", "label", "answer"),
                ("Is it open?", "", "Yes"),
                ("Where?", "Place", "Shed\nseven"),
                ("When?", "Place", "Nine"),
            ),
        ),
        SheetRows("Empty", ()),
    )
    assert workbook.warnings == (
        "hidden sheets are not read: 'Old'; unhide the sheets to be searched",
        "1 hidden rows are not read; unhide what is to be searched",
    )


async def test_open_document_keeps_the_paragraphs_of_a_cell(read: ReadWorkbook) -> None:
    workbook = await read(ods([["q", "a"], ["Is it open?", "Yes|from  nine"], ["", ""], ["Where?", "TRUE"]]))
    (sheet,) = workbook.sheets
    assert sheet == SheetRows("FAQ", (("q", "a"), ("Is it open?", "Yes\nfrom nine"), ("Where?", "TRUE")))


async def test_only_the_named_sheet_has_rows_and_counts(read: ReadWorkbook, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = collection.SheetCollector("faq")
    monkeypatch.setattr(collection, "MAX_CELLS", 4)
    for name in ("Big", " FAQ"):
        collector.begin(name)
        collector.add(["q", "a", ""])
        collector.add(["", ""])
        collector.add(["\0?\ud800", "!"])
    assert collector.sheets() == (SheetRows("Big", ()), SheetRows(" FAQ", (("q", "a"), ("??", "!"))))
    with pytest.raises(LimitExceededError, match="more than 4 cells"):
        collector.add(["one too many"])


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("xlsx/prices-encrypted.xlsx", EncryptedFileError, "save it without one"),
        ("xls/xor-encryption-abc.xls", EncryptedFileError, "save it without one"),
        ("odt/fake.odt", UnsupportedFormatError, "no workbook but application/vnd.oasis.opendocument.text"),
        ("pptx/powerpoint_comments.pptx", UnsupportedFormatError, "no workbook but application/vnd.openxml"),
    ],
)
async def test_other_files_are_refused_with_the_reason(
    read: ReadWorkbook, name: str, error: type[AnalytiqError], words: str
) -> None:
    with pytest.raises(error, match=words):
        await read((DOCUMENTS / name).read_bytes())


async def test_hostile_bytes_end_in_an_error_and_not_in_this_process(read: ReadWorkbook) -> None:
    whole = xlsx({"FAQ": [["question", "answer"], ["Q", "A"]]})
    for content in (whole[: len(whole) // 2], b"PK\x03\x04" + os.urandom(5000), b"PK\x05\x06" + bytes(18)):
        with pytest.raises((CorruptFileError, UnsupportedFormatError)):
            await read(content)


async def test_workbook_is_opened_in_child_processes_only(read: ReadWorkbook) -> None:
    before = running_server().documents
    await read(xlsx({"FAQ": [["question", "answer"]]}))
    assert running_server().documents == before + 2  # one tells its type, one reads it


def test_headings_are_the_first_row_with_the_columns() -> None:
    faq = SheetRows(
        "FAQ",
        (
            ("Q",),
            ("No", " A ", "q", "a"),
            ("1", "Yes", "Open?"),
            ("No", "A", "Q", "a"),
            ("2",),
            ("3", "No", "Shut?", "x"),
        ),
    )
    notes = SheetRows("Notes", (("question", "remark"), ("Is this one?", "No.")))
    other = SheetRows("Other", (("Answer", "Question"), ("Here.", "Where?")))
    assert records_of_sheets([faq, notes, other], WANTED, sheet="") == [
        {"no": "1", "a": "Yes", "q": "Open?"},
        {"no": "2"},
        {"no": "3", "a": "No", "q": "Shut?"},
        {"answer": "Here.", "question": "Where?"},
    ]
    assert len(records_of_sheets([faq, notes, other], WANTED, sheet=" faq")) == 3


@pytest.mark.parametrize(
    ("sheet", "words"),
    [
        ("FAQ 2", r"settings\.sheet: The workbook has no visible sheet 'FAQ 2'\. Its sheets: 'Notes', 'Empty'"),
        ("Empty", "The sheet 'Empty' has no row of headings with 'question' and 'answer', and is empty"),
        ("Notes", r"settings\.answer_column: The sheet 'Notes' has no row of headings with 'answer'.* 'remark'"),
        (
            "",
            "None of the sheets 'Notes', 'Empty' has a row of headings with 'answer'; the likeliest row has 'question'",
        ),
    ],
)
def test_missing_sheet_or_column_is_named(sheet: str, words: str) -> None:
    sheets = [SheetRows("Notes", (("x", "y"), ("question", "remark"), ("Is this one?", "No."))), SheetRows("Empty", ())]
    with pytest.raises(InvalidInputError, match=words):
        records_of_sheets(sheets, WANTED, sheet=sheet)


@pytest.mark.parametrize(
    ("kind", "settings", "rows", "found"),
    [
        (
            "qna",
            {"question_column": "Frage", "answer_column": "antwort"},
            [["Frage", "Antwort", "Category"], ["Wann?", "Ja", "Zeiten"], ["Wo?", None, "x"]],
            [("Wann?", {"question": "Wann?", "label": "Zeiten"})],
        ),
        (
            "intents",
            {"sheet": "one"},
            [["intent", "utterance"], ["greet", "hi"], ["greet", "hello"]],
            [("hello", {"label": "greet"}), ("hi", {"label": "greet"})],
        ),
    ],
)
async def test_kinds_read_a_workbook_at_their_address(
    read: ReadWorkbook, kind: str, settings: Mapping[str, str], rows: Sequence[Sequence[object]], found: object
) -> None:
    with WebSite() as site:
        site.files["/faq"] = Served(xlsx({"One": rows}), "application/octet-stream")
        connector = opening(kind, {"url": f"{site.url}/faq", **settings}, OPERATOR, read_workbook=read)()
        await connector.check()
        items = [item async for batch in connector.list_changes(None) for item in batch.items]
        await connector.close()
    assert sorted((item.name, item.metadata) for item in items) == found


async def test_records_that_are_left_out_are_told(read: ReadWorkbook) -> None:
    names = ["id", "question", "answer"]
    rows = {
        name: [names, [1, f"{name}?", "Yes"], [None, "Same?", "Yes"], [None, "Sum?", "=1+1"]] for name in ("A", "B")
    }
    with WebSite() as site:
        site.files["/faq"] = Served(xlsx(rows), "application/octet-stream")
        connector = opening("qna", {"url": f"{site.url}/faq"}, OPERATOR, read_workbook=read)()
        (batch,) = [batch async for batch in connector.list_changes(None)]
        await connector.close()
    assert sorted(item.name for item in batch.items) == ["B?", "Same?"]
    formulas, lost = batch.notes
    assert "some formulas have no computed value" in formulas
    assert lost == "1 records have the id, or without ids the text, of a later one."


async def test_workbook_is_refused_where_nothing_reads_it() -> None:
    with WebSite() as site:
        site.files["/faq"] = Served(xlsx({"One": []}), "application/octet-stream")
        connector = opening("qna", {"url": f"{site.url}/faq"}, OPERATOR)()
        with pytest.raises(UnsupportedFormatError, match="save the sheet as CSV"):
            await connector.check()
        await connector.close()
