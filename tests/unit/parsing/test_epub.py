from collections.abc import Callable, Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from analytiq.errors import CorruptFileError, EncryptedFileError, LimitExceededError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.epub import EpubParser
from analytiq.models.text import ParsedDocument

Parse = Callable[[Mapping[str, str]], ParsedDocument]

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
PACKAGE = (
    "<package><metadata><title>On Quinces</title><creator>Ann</creator><creator>Bob</creator></metadata><manifest>"
    '<item id="one" href="first%20part.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="two" href="../second.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="css" href="a.css" media-type="text/css"/></manifest>'
    '<spine><itemref idref="two"/><itemref idref="one"/><itemref idref="two"/><itemref idref="css"/></spine></package>'
)
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/first part.xhtml": "<html><body><h1>Growing</h1><p>In the sun.</p></body></html>",
    "second.xhtml": "<?xml version='1.0' encoding='utf-8'?><html><body><p>Preface</p></body></html>",
}


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def parsed(members: Mapping[str, str]) -> ParsedDocument:
        path = tmp_path / "book.epub"
        with ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return EpubParser().parse(path, ParseOptions(max_pages=2), lambda done, total: None)

    return parsed


def test_chapters_are_pages_in_the_order_of_the_spine(parse: Parse) -> None:
    document = parse(BOOK)
    assert [page.text for page in document.pages] == [
        "# On Quinces\n\nAnn, Bob\n\nPreface",
        "# Growing\n\nIn the sun.",
    ]


def test_chapters_have_the_names_of_the_table_of_contents_or_of_their_headings(parse: Parse) -> None:
    ncx = (
        "<ncx><navMap><navPoint><navLabel><text>Before we begin</text></navLabel>"
        '<content src="../second.xhtml#a"/></navPoint></navMap></ncx>'
    )
    listed = '<item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
    document = parse(BOOK | {"OEBPS/toc.ncx": ncx, "OEBPS/book.opf": PACKAGE.replace("</manifest>", listed)})
    assert [page.name for page in document.pages] == ["Before we begin", "Growing"]
    assert document.title == "On Quinces"
    assert [page.name for page in parse(BOOK | {"OEBPS/toc.ncx": "<ncx"}).pages] == ["", "Growing"]


def test_missing_chapter_is_told_and_the_others_are_read(parse: Parse) -> None:
    document = parse({name: content for name, content in BOOK.items() if name != "second.xhtml"})
    assert len(document.pages) == 1
    assert "'second.xhtml'" in document.warnings[0]


def test_protected_book_says_what_to_do_and_scrambled_fonts_are_no_protection(parse: Parse) -> None:
    encryption = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'
    fonts = {"META-INF/encryption.xml": encryption.format("http://www.idpf.org/2008/embedding")}
    assert len(parse(BOOK | fonts).pages) == 2
    with pytest.raises(EncryptedFileError, match="unprotected copy"):
        parse(BOOK | {"META-INF/encryption.xml": encryption.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")})


def test_more_chapters_than_pages_may_be_are_refused(parse: Parse) -> None:
    package = PACKAGE.replace('id="css" href="a.css" media-type="text/css"', 'id="css" href="third.xhtml"')
    with pytest.raises(LimitExceededError, match="3 chapters"):
        parse(BOOK | {"OEBPS/book.opf": package})


@pytest.mark.parametrize(
    "damage",
    [
        {"META-INF/container.xml": "<container/>"},
        {"META-INF/container.xml": "<container"},
        {"OEBPS/book.opf": "<package/>"},
        {"META-INF/container.xml": CONTAINER.replace("book.opf", "lost.opf")},
    ],
)
def test_damaged_book_is_corrupt(parse: Parse, damage: dict[str, str]) -> None:
    with pytest.raises(CorruptFileError, match="undamaged copy"):
        parse(BOOK | damage)
