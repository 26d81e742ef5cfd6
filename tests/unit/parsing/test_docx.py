from pathlib import Path

import pytest

from analytiq.errors import CorruptFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.docx import DocxParser
from tests.unit.parsing.word_documents import WORD, WriteDocx

COMPATIBILITY = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'


def read(path: Path) -> str:
    return DocxParser().parse(path, ParseOptions(), lambda _done, _total: None).pages[0].text


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(text: str) -> str:
    return f"<w:tc>{paragraph(text)}</w:tc>"


def test_tracked_insertion_is_kept_and_deletion_dropped(write_docx: WriteDocx) -> None:
    body = (
        "<w:p><w:ins><w:r><w:t>inserted words</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>deleted words</w:delText></w:r></w:del></w:p>"
    )
    text = read(write_docx(body, {}))
    assert "inserted words" in text
    assert "deleted words" not in text


def test_headers_footers_and_comments_are_read_around_the_body(write_docx: WriteDocx) -> None:
    parts = {
        "word/header1.xml": f"<w:hdr {WORD}>{paragraph('the header')}</w:hdr>",
        "word/footer1.xml": f"<w:ftr {WORD}>{paragraph('the footer')}</w:ftr>",
        "word/comments.xml": f'<w:comments {WORD}><w:comment w:id="0" w:author="Ann">'
        f"{paragraph('please check')}</w:comment></w:comments>",
    }
    text = read(write_docx(paragraph("the body"), parts))
    assert (
        text.index("the header") < text.index("the body") < text.index("Ann: please check") < text.index("the footer")
    )


def test_header_of_every_section_is_read_once(write_docx: WriteDocx) -> None:
    parts = {f"word/header{number}.xml": f"<w:hdr {WORD}>{paragraph('same header')}</w:hdr>" for number in range(1, 4)}
    assert read(write_docx(paragraph("body"), parts)).count("same header") == 1


def test_text_box_without_an_old_fallback_is_not_lost(write_docx: WriteDocx) -> None:
    box = (
        f"<w:p><w:r><mc:AlternateContent {COMPATIBILITY}><mc:Choice Requires='wps'><w:drawing>"
        f"<w:txbxContent>{paragraph('only in the modern box')}</w:txbxContent></w:drawing></mc:Choice>"
        "</mc:AlternateContent></w:r></w:p>"
    )
    assert "only in the modern box" in read(write_docx(box, {}))


def test_text_box_with_a_fallback_is_read_once(write_docx: WriteDocx) -> None:
    content = f"<w:txbxContent>{paragraph('boxed words')}</w:txbxContent>"
    box = (
        f"<w:p><w:r><mc:AlternateContent {COMPATIBILITY}><mc:Choice Requires='wps'><w:drawing>{content}"
        f"</w:drawing></mc:Choice><mc:Fallback><w:pict>{content}</w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
    )
    assert read(write_docx(box, {})).count("boxed words") == 1


def test_row_of_a_table_names_its_values(write_docx: WriteDocx) -> None:
    table = f"<w:tbl><w:tr>{cell('Team')}{cell('Cups')}</w:tr><w:tr>{cell('Blues')}{cell('1')}</w:tr></w:tbl>"
    assert "Team: Blues; Cups: 1" in read(write_docx(table, {}))


def test_text_is_not_escaped(write_docx: WriteDocx) -> None:
    assert "snake_case *stars* 3.1 #5 [x]" in read(write_docx(paragraph("snake_case *stars* 3.1 #5 [x]"), {}))


def test_zip_bomb_is_refused_before_it_is_unpacked(write_docx: WriteDocx) -> None:
    path = write_docx(paragraph("x"), {"word/media/image1.bmp": "\x00" * (20 * 1024 * 1024)})
    with pytest.raises(LimitExceededError, match="zip bomb"):
        read(path)


def test_entity_bomb_is_refused(write_docx: WriteDocx) -> None:
    entities = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    header = f"<!DOCTYPE x [{entities}]><w:hdr {WORD}>{paragraph('&a9;')}</w:hdr>"
    path = write_docx(paragraph("body"), {"word/header1.xml": header})
    try:
        text = read(path)
    except CorruptFileError:
        return
    assert "aaaa" not in text


def test_external_entity_is_not_fetched(write_docx: WriteDocx, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    header = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><w:hdr {WORD}>{paragraph("&e;")}</w:hdr>'
    assert "the secret" not in read(write_docx(paragraph("body"), {"word/header1.xml": header}))


def test_zip_without_a_document_is_corrupt(write_docx: WriteDocx) -> None:
    path = write_docx("<not closed", {})
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        read(path)


def test_damaged_bytes_of_a_part_are_a_corrupt_document(write_docx: WriteDocx) -> None:
    path = write_docx(paragraph("many words " * 50), {})
    content = bytearray(path.read_bytes())
    name = b"word/document.xml"
    begin = content.index(name) + len(name)
    content[begin : begin + 20] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match="The Word document is damaged"):
        read(path)
