"""The structure of small pages, each written for one kind of layout."""

from collections.abc import Sequence
from pathlib import Path

import pikepdf
import pytest

from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.pdf import PdfParser
from analytiq.models.blocks import BlockKind
from analytiq.models.text import DocumentText, ParsedDocument, join_pages

NO_DATA = ParseOptions(ocr_data_dir=Path("/nonexistent"))
SENTENCE = "the anchor of the harbour keeps a copper lantern above its granite wall"
HEBREW = {letter: code for code, letter in enumerate("אבגדהוזחטיךכלםמןנסעףפץצקרשת", start=0xA0)}


def show(x: float, y: float, text: str, *, size: float = 10, font: str = "F1", turn: str = "1 0 0 1") -> str:
    """Return the instructions that show a line of text; `turn` is the first part of its matrix."""
    escaped = "".join(f"\\{byte:03o}" for byte in encoded(text))
    return f"BT /{font} {size} Tf {turn} {x} {y} Tm ({escaped}) Tj ET"


def encoded(text: str) -> bytes:
    return bytes(HEBREW.get(letter, ord(letter)) for letter in text)


def rows(xs: Sequence[float], top: float, cells: Sequence[Sequence[str]], *, pitch: float = 16) -> str:
    """Show the cells of a table without lines."""
    return " ".join(
        show(x, top - pitch * index, cell)
        for index, row in enumerate(cells)
        for x, cell in zip(xs, row, strict=True)
        if cell
    )


def document_of(path: Path, *contents: str) -> pikepdf.Pdf:
    """Return a PDF with Helvetica (F1), its bold (F2), and a Hebrew font of equal widths (F3)."""
    names = [item for letter, code in HEBREW.items() for item in (code, pikepdf.Name(f"/uni{ord(letter):04X}"))]
    pdf = pikepdf.new()
    fonts = pikepdf.Dictionary(
        F1=pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica),
        F2=pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name("/Helvetica-Bold")
        ),
        F3=pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type1,
            BaseFont=pikepdf.Name("/Made"),
            FirstChar=0,
            LastChar=255,
            Widths=pikepdf.Array([500] * 256),
            Encoding=pikepdf.Dictionary(BaseEncoding=pikepdf.Name.WinAnsiEncoding, Differences=pikepdf.Array(names)),
        ),
    )
    for content in contents:
        page = pdf.add_blank_page(page_size=(612, 792))
        page.Resources = pikepdf.Dictionary(Font=fonts)
        page.Contents = pdf.make_stream(content.encode())
    pdf.save(path)
    return pdf


def parsed(path: Path) -> ParsedDocument:
    return PdfParser().parse(path, NO_DATA, lambda _done, _total: None)


def read(path: Path, *contents: str) -> DocumentText:
    document_of(path, *contents)
    return join_pages(parsed(path).pages)


def of_kind(text: DocumentText, kind: BlockKind) -> list[str]:
    return [text.text[block.start : block.end] for block in text.blocks if block.kind is kind]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "page.pdf"


# ── Tables ─────────────────────────────────────────────────────────────────────────────────────────────────────────

ITEMS = [["Code", "Product", "Pack", "Price"], *([f"P-{n}", f"lantern {n}", f"{n}", f"{n}.50"] for n in range(11, 16))]
COLUMNS = (60, 150, 300, 400)


def test_header_above_the_title_of_a_group_names_the_rows_of_all_groups(path: Path) -> None:
    content = " ".join(
        (
            rows(COLUMNS, 740, ITEMS[:1]),
            show(60, 715, "Group one: lanterns", font="F2"),
            rows(COLUMNS, 695, ITEMS[1:]),
            show(60, 600, "Group two: anchors", font="F2"),
            rows(COLUMNS, 580, [["A-1", "anchor", "6", "99.10"], ["A-2", "anchor chain of iron", "12", "7.10"]]),
        )
    )
    tables = of_kind(read(path, content), BlockKind.TABLE)
    assert "Code: P-11; Product: lantern 11; Pack: 11; Price: 11.50" in tables[0]
    assert tables[1].splitlines()[-1] == "Code: A-2; Product: anchor chain of iron; Pack: 12; Price: 7.10"


def test_addresses_above_the_items_of_an_invoice_are_no_part_of_their_table(path: Path) -> None:
    addresses = [["Bill to", "Ship to"], ["Marble Ltd.", "Falcon Works"], ["12 Orchard Road", "Dock 4"]]
    text = read(path, f"{rows((60, 330), 740, addresses, pitch=12)} {rows(COLUMNS, 692, ITEMS)}")
    assert "Code: P-11; Product: lantern 11; Pack: 11; Price: 11.50" in text.text


def test_tables_side_by_side_are_two(path: Path) -> None:
    left = [["Goods", "Price"], *([f"lantern {n}", f"{n}.10"] for n in range(5))]
    right = [["Service", "Fee"], *([f"repair {n}", f"{n}.90"] for n in range(5))]
    content = f"{rows((60, 140), 740, left)} {rows((330, 410), 740, right)}"
    tables = of_kind(read(path, content), BlockKind.TABLE)
    assert [table.splitlines()[-1] for table in tables] == [
        "Goods: lantern 4; Price: 4.10",
        "Service: repair 4; Fee: 4.90",
    ]


def test_lines_of_wrapped_cells_between_blanks_are_one_row(path: Path) -> None:
    parts = [
        show(x, 740, name) for x, name in zip((60, 130, 330, 520), ("Risk", "Cause", "Measure", "Owner"), strict=True)
    ]
    for number in range(4):
        top = 715 - 50 * number
        parts += [show(60, top, f"Risk {number}"), show(520, top, "Olive")]
        parts += [show(130, top - 12 * line, f"cause {number}{line} of the storm at sea") for line in range(3)]
        parts += [show(330, top - 12 * line, f"measure {number}{line} against the storm") for line in range(3)]
    (table,) = of_kind(read(path, " ".join(parts)), BlockKind.TABLE)
    assert "Risk: Risk 1; Cause: cause 10 of the storm at sea cause 11" in table
    assert "Owner: Olive" in table
    assert len(table.splitlines()) == 5


def test_header_above_the_first_rule_is_apart_from_the_first_row(path: Path) -> None:
    plans = [["Feature", "Basic", "Plus"], *([f"harbour {n}", "no", "yes"] for n in range(5))]
    rules = " ".join(f"60 {733 - 20 * line} m 420 {733 - 20 * line} l S" for line in range(1, 6))
    (table,) = of_kind(read(path, f"{rows((62, 200, 320), 740, plans, pitch=20)} {rules}"), BlockKind.TABLE)
    assert table.splitlines()[:2] == ["Feature | Basic | Plus", "Feature: harbour 0; Basic: no; Plus: yes"]


def test_currency_sign_at_the_edge_of_a_cell_belongs_to_its_amount(path: Path) -> None:
    cells = [["Account", "", "Sum"], *([f"timber {n}", "$", f"{n}4.00"] for n in range(1, 6))]
    (table,) = of_kind(read(path, rows((60, 200, 240), 740, cells)), BlockKind.TABLE)
    assert table.splitlines()[1] == "Account: timber 1; Sum: $ 14.00"


def test_names_that_recur_under_each_group_stand_under_their_group(path: Path) -> None:
    years = " ".join((show(222, 756, "2024"), show(342, 756, "2025")))
    cells = [
        ["Plant", "Sales", "Cost", "Sales", "Cost"],
        *([f"mill {n}", f"{n}.1", f"{n}.2", f"{n}.3", f"{n}.4"] for n in range(1, 6)),
    ]
    (table,) = of_kind(read(path, f"{years} {rows((60, 180, 240, 300, 360), 740, cells)}"), BlockKind.TABLE)
    assert "Plant: mill 2; 2024 Sales: 2.1; 2024 Cost: 2.2; 2025 Sales: 2.3; 2025 Cost: 2.4" in table


def test_rules_that_part_groups_of_rows_join_no_rows(path: Path) -> None:
    shades = "0.9 g 56 694 400 18 re f 56 610 400 18 re f 0 g"
    goods = [[f"Good {n}", "S", f"{n}", f"{n}.00"] for n in range(1, 4)]
    content = " ".join(
        (
            rows(COLUMNS, 724, [["Article", "Size", "Stock", "Value"]]),
            show(60, 700, "Lanterns", font="F2"),
            rows(COLUMNS, 680, goods, pitch=20),
            show(60, 616, "Anchors", font="F2"),
            rows(COLUMNS, 596, goods, pitch=20),
        )
    )
    found = "\n".join(of_kind(read(path, f"{shades} {content}"), BlockKind.TABLE))
    assert found.count("Article: Good 2; Size: S; Stock: 2; Value: 2.00") == 2


# ── Text that is no table ──────────────────────────────────────────────────────────────────────────────────────────


def test_numbered_clauses_are_items_and_no_table(path: Path) -> None:
    parts: list[str] = []
    for number in range(1, 6):
        parts += [
            show(60, 770 - 30 * number, f"2.{number}"),
            show(100, 770 - 30 * number, f"clause {number} {SENTENCE}"),
        ]
        parts.append(show(100, 758 - 30 * number, SENTENCE))
    text = read(path, " ".join(parts))
    assert of_kind(text, BlockKind.TABLE) == []
    assert [item[:8] for item in of_kind(text, BlockKind.LIST_ITEM)] == [f"clause {number}" for number in range(1, 6)]
    assert "2.3 clause 3" in text.text


def test_justified_lines_of_a_narrow_column_are_no_table(path: Path) -> None:
    words = [("iron", "a", "harbour"), ("saltwater", "dew", "of"), ("gold", "under", "ash"), ("a", "misty", "island")]
    parts = [f"BT /F1 10 Tf 60 {740 - 12 * at} Td 20 Tw ({' '.join(line)}) Tj ET" for at, line in enumerate(words)]
    assert of_kind(read(path, " ".join(parts)), BlockKind.TABLE) == []


def test_cells_of_equal_width_are_a_table(path: Path) -> None:
    cells = [[f"r{row}c{column}" for column in range(5)] for row in range(6)]
    (table,) = of_kind(read(path, rows((60, 100, 140, 180, 220), 740, cells)), BlockKind.TABLE)
    assert table.splitlines()[2] == "r2c0\tr2c1\tr2c2\tr2c3\tr2c4"


def test_lines_numbered_at_the_margin_keep_their_numbers(path: Path) -> None:
    lines = ["IN THE SUPREME COURT OF THE UNITED STATES", "- - - - - - - - - - x", "MICHAEL KNOWLES, :", "WARDEN, :"]
    parts = [show(60, 740 - 26 * at, str(at + 1)) for at in range(4)]
    xs = (148, 126, 126, 126)
    parts += [show(x, 740 - 26 * at, line) for at, (x, line) in enumerate(zip(xs, lines, strict=True))]
    text = " ".join(read(path, " ".join(parts)).text.split())
    assert text.index("1 IN THE") < text.index("2 - - -") < text.index("3 MICHAEL")


def test_bullets_that_are_drawn_make_items(path: Path) -> None:
    parts = [
        f"52 {742 - 30 * number} 4 4 re f {show(62, 740 - 30 * number, f'item {number} {SENTENCE}')}"
        for number in range(3)
    ]
    items = of_kind(read(path, " ".join(parts)), BlockKind.LIST_ITEM)
    assert [item[:6] for item in items] == ["item 0", "item 1", "item 2"]


def test_entries_of_a_table_of_contents_are_lines_of_their_own(path: Path) -> None:
    parts = [show(60, 740 - 13 * number, f"{number} Copper lanterns {'.' * 40} {number * 7}") for number in range(1, 5)]
    assert read(path, " ".join(parts)).text.split("\n\n")[1] == "2 Copper lanterns \u2026 14"


def test_title_above_a_ruled_table_that_fills_the_page_is_a_heading(path: Path) -> None:
    cells = rows((64, 204), 700, [[f"lantern number {n}", f"granite wall {n}"] for n in range(20)])
    lines = " ".join(f"60 {712 - 16 * n} m 340 {712 - 16 * n} l S" for n in range(21))
    lines += " ".join(f" {x} 712 m {x} 392 l S" for x in (60, 200, 340))
    text = read(path, f"{show(60, 740, 'Stock of the harbour', size=16, font='F2')} {cells} {lines}")
    assert of_kind(text, BlockKind.HEADING) == ["Stock of the harbour"]


# ── Directions ─────────────────────────────────────────────────────────────────────────────────────────────────────

UPWARDS = "0 1 -1 0"


def _prose(count: int) -> str:
    return " ".join(show(60, 760 - 13 * line, f"line {line} {SENTENCE}") for line in range(count))


def test_part_of_a_page_that_is_turned_is_laid_out_by_itself(path: Path) -> None:
    cells = [["Part", "Stock"], *([f"lantern {n}", f"{n}0"] for n in range(1, 7))]
    turned = " ".join(
        show(440 + 14 * index, 60 + 100 * column, cell, turn=UPWARDS)
        for index, row in enumerate(cells)
        for column, cell in enumerate(row)
    )
    text = read(path, f"{_prose(12)} {turned}")
    (table,) = of_kind(text, BlockKind.TABLE)
    assert table.splitlines()[1] == "Part: lantern 1; Stock: 10"
    (box,) = [block.box for block in text.blocks if block.kind is BlockKind.TABLE]
    assert box is not None
    assert box.left > 0.65
    assert box.top > 0.6


def test_names_of_columns_that_are_set_upwards_are_a_header(path: Path) -> None:
    names = " ".join(
        show(209 + 60 * at, 560, name, turn=UPWARDS) for at, name in enumerate(("Engine load", "Valley load"))
    )
    cells = [[f"mill {n}", f"{n}1", f"{n}2"] for n in range(1, 7)]
    (table,) = of_kind(read(path, f"{_prose(8)} {names} {rows((60, 200, 260), 540, cells)}"), BlockKind.TABLE)
    assert table.splitlines()[1] == "mill 1; Engine load: 11; Valley load: 12"


def test_watermark_across_the_page_is_a_line_and_parts_no_text(path: Path) -> None:
    watermark = show(120, 500, "DRAFT COPY", size=60, turn="0.7071 0.7071 -0.7071 0.7071")
    text = read(path, f"{watermark} {_prose(30)}").text
    assert "DRAFT COPY" in text
    assert [text.index(f"line {line} ") for line in range(30)] == sorted(
        text.index(f"line {line} ") for line in range(30)
    )


def test_letters_slanted_by_their_matrix_stay_in_their_line(path: Path) -> None:
    slanted = show(146, 740, "Lophophora", turn="1 0 0.33 1")
    content = f"{show(60, 740, 'known botanically')} {slanted} {show(206, 740, 'williamsii')} {_prose(3)}"
    assert "known botanically Lophophora williamsii" in read(path, content.replace(" 760 Tm", " 700 Tm")).text


# ── Right to left ──────────────────────────────────────────────────────────────────────────────────────────────────


def right_to_left(right: float, y: float, words: Sequence[str], *, size: float = 10) -> str:
    """Show words from the right to the left: the letters of Hebrew words too, and brackets by their shapes."""
    parts: list[str] = []
    for word in words:
        is_hebrew = any(letter in HEBREW for letter in word)
        shape = word[::-1].translate(str.maketrans("()", ")(")) if is_hebrew else word
        right -= 0.5 * size * len(word)
        parts.append(show(right, y, shape, size=size, font="F3"))
        right -= 0.5 * size
    return " ".join(parts)


def test_right_to_left_lines_are_read_from_the_right(path: Path) -> None:
    lines = [
        ["החברה", "מודיעה", "על", "תוצאות", "שנת", "2026", "ומודה", "לעובדים"],
        ["יש", "לשלוח", "אל", "info@falcon.example", "(ראה", "נספח)", "עד", "יום", "15"],
    ]
    content = " ".join(right_to_left(540, 740 - 14 * at, line) for at, line in enumerate(lines))
    assert read(path, content).text == " ".join(word for line in lines for word in line)


def test_right_to_left_tables_begin_at_the_right(path: Path) -> None:
    cells = [
        ["מוצר", "כמות", "מחיר"],
        *([name, f"{n}20", f"{n}.50"] for n, name in enumerate(("חיטה", "שעורה", "אורז"), 1)),
    ]
    content = " ".join(
        right_to_left(540 - 120 * column, 700 - 16 * at, [cell])
        for at, row in enumerate(cells)
        for column, cell in enumerate(row)
    )
    title = right_to_left(540, 760, ["דוח", "שנתי"], size=18)
    text = read(path, f"{title} {content}")
    assert of_kind(text, BlockKind.HEADING) == ["דוח שנתי"]
    assert "מוצר: שעורה; כמות: 220; מחיר: 2.50" in text.text
    (box,) = [block.box for block in text.blocks if block.table is not None]
    assert box is not None
    assert 0.35 < box.left < box.right < 0.9


# ── Layers ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_layers_that_are_off_are_left_out_and_counted(path: Path) -> None:
    content = (
        f"{show(60, 740, 'Seen by all')} /OC /L0 BDC {show(60, 700, 'secret layer words')} EMC "
        f"/OC /L1 BDC {show(60, 660, 'shown layer')} EMC"
    )
    pdf = document_of(path, content)
    off, on = (pdf.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.OCG, Name=name)) for name in ("Drafts", "Final"))
    pdf.Root.OCProperties = pikepdf.Dictionary(
        OCGs=pikepdf.Array([off, on]), D=pikepdf.Dictionary(OFF=pikepdf.Array([off]))
    )
    pdf.pages[0].Resources.Properties = pikepdf.Dictionary(L0=off, L1=on)
    pdf.save(path)
    document = parsed(path)
    assert document.pages[0].text == "Seen by all\n\nshown layer"
    assert document.warnings[0].startswith("3 hidden word(s)")
