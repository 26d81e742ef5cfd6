"""Every parser on real files: what it must find, how it must fail, and what any document of it is like."""

import asyncio
import csv
import re
import unicodedata
from io import BytesIO
from pathlib import Path
from random import Random
from zipfile import ZipFile

import pytest

from analytiq.errors import AnalytiqError, EncryptedFileError, PermanentError
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.formats import detect_content_type, hints_of
from analytiq.ingestion.parsing.isolation import Isolation, IsolationMode
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.registry import BUILT_IN_PARSERS
from analytiq.ingestion.parsing.sandbox import detect_in_child, parse_in_child
from analytiq.models.text import ParsedDocument, TextSource, join_pages

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"
WHITE_SPACE_AND_EMPHASIS = re.compile(r"[\s*]")
OCR_KINDS = {"image", "pdf-scan"}

# What samples of several pages say on which page.
PAGE_PHRASES = [
    ("pdf/multi-column-2p.pdf", 2, "Natural Questions"),
    ("pdf/SPARSE-2024-INV-1234_borderless_table.pdf", 2, "$35,000.00"),
    ("pdf/testPDF_bad_page_303226.pdf", 19, "Drug Enforcement Administration, Justice § 1309.01"),
    ("xlsx/2023-half-year-analyses-by-segment.xlsx", 5, "Underlying trading operating profit (a) as per Note 3.1"),
    ("pptx/powerpoint_sample.pptx", 2, "Some notes on the second slide"),
    ("pptx/powerpoint_sample.pptx", 3, "Final notes on the third slide"),
    ("epub/testEPUB.epub", 3, "Plus a simple div"),
    ("xlsx/stanley-cups.xlsx", 2, "Team: Maple Leafs; Location: TOR; Stanley Cups: 0"),
]


def expectations() -> list[tuple[str, str]]:
    with (DOCUMENTS / "expectations.tsv").open(encoding="utf-8", newline="") as file:
        return [(row["file"], row["expected"]) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def samples(*, failing: bool) -> list[object]:
    return [
        pytest.param(name, expected, id=name, marks=[pytest.mark.ocr] if name.split("/")[0] in OCR_KINDS else [])
        for name, expected in expectations()
        if (expected == "@ERROR" or expected.startswith("@PASSWORD")) == failing
    ]


def squeezed(text: str) -> str:
    return WHITE_SPACE_AND_EMPHASIS.sub("", unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize(("name", "expected"), samples(failing=False))
async def test_sample_gives_its_text_and_keeps_the_contract(name: str, expected: str) -> None:
    path = DOCUMENTS / name
    reports: list[tuple[int, int]] = []
    document = await parse_in_child(
        path,
        content_type=detect_content_type(path),
        options=ParseOptions(),
        limits=ParseLimits(),
        on_progress=lambda done, total: reports.append((done, total)),
    )
    text = join_pages(document.pages).text
    if expected == "@EMPTY":
        assert text.strip() == ""
    else:
        assert squeezed(expected) in squeezed(text)
    assert [page.page_number for page in document.pages] == list(range(1, len(document.pages) + 1))
    assert reports[-1] == (len(document.pages), len(document.pages))
    assert "\x00" not in text
    text.encode("utf-8")  # a lone surrogate would raise


@pytest.mark.parametrize(("name", "expected"), samples(failing=True))
async def test_sample_that_cannot_be_read_says_why(name: str, expected: str) -> None:
    path = DOCUMENTS / name
    wanted = EncryptedFileError if expected.startswith("@PASSWORD") else PermanentError
    with pytest.raises(wanted) as raised:
        await parse_in_child(path, content_type=detect_content_type(path), options=ParseOptions(), limits=ParseLimits())
    assert len(raised.value.detail) > 20


@pytest.mark.parametrize(("name", "page_number", "phrase"), PAGE_PHRASES)
async def test_phrase_is_on_its_page(name: str, page_number: int, phrase: str) -> None:
    path = DOCUMENTS / name
    document = await parse_in_child(
        path, content_type=detect_content_type(path), options=ParseOptions(), limits=ParseLimits()
    )
    assert phrase in document.pages[page_number - 1].text


@pytest.mark.ocr
async def test_recognised_pages_say_that_they_were_recognised() -> None:
    document = await parse_in_child(
        DOCUMENTS / "image" / "testTIFF_multipage.tif",
        content_type="image/tiff",
        options=ParseOptions(),
        limits=ParseLimits(),
    )
    assert [page.source for page in document.pages] == [TextSource.OCR, TextSource.OCR]
    assert "Page 2" in document.pages[1].text


@pytest.mark.parametrize("name", sorted(str(path.relative_to(DOCUMENTS)) for path in DOCUMENTS.glob("*/*")))
async def test_document_is_read_alike_with_and_without_the_isolation(name: str) -> None:
    path = DOCUMENTS / name
    content_type = detect_content_type(path)

    async def outcome(mode: IsolationMode) -> object:
        isolation = Isolation(mode)
        assert await detect_in_child(path, hints_of(path.name), isolation=isolation) == content_type
        try:
            return await parse_in_child(
                path, content_type=content_type, options=ParseOptions(), limits=ParseLimits(), isolation=isolation
            )
        except AnalytiqError as error:
            return type(error), error.detail

    isolated, control = await asyncio.gather(outcome("required"), outcome("off"))
    assert isolated == control


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
@pytest.mark.parametrize(
    "name",
    [
        "pdf/fake-memo.pdf",
        "pdf/right_to_left_01.pdf",
        "docx/docx-tables.docx",
        "docx/docx_comments.docx",
        "xlsx/stanley-cups.xlsx",
        "pptx/powerpoint_sample.pptx",
        "email/mime-different-plain-html.eml",
        "odt/fake.odt",
        "odt/odf_table_with_title_01.ods",
        "epub/test.epub",
        "rtf/testRTFJapanese.rtf",
        "json/test_notebook.ipynb",
        "html/boilerplate.html",
        "csv/csv-pipe.csv",
        "markdown/wiki.md",
        "text/sample-greek-2.txt",
        "image/testTIFF_multipage.tif",
    ],
)
async def test_truncated_file_is_read_or_refused_for_good(name: str, share: float, tmp_path: Path) -> None:
    original = DOCUMENTS / name
    data = original.read_bytes()
    path = tmp_path / original.name
    path.write_bytes(data[: int(len(data) * share)])
    options = ParseOptions(ocr_data_dir=tmp_path)  # without language data: this is about the container
    content_type = detect_content_type(path)
    outcome: object
    try:
        outcome = await parse_in_child(path, content_type=content_type, options=options, limits=ParseLimits())
    except AnalytiqError as error:
        outcome = error
    assert isinstance(outcome, ParsedDocument | PermanentError)


def with_changed_bytes(data: bytes, random: Random) -> bytes:
    """Some bytes replaced, lost or doubled; in a zip those of a member, whose checksum is made right again."""
    if data.startswith(b"PK"):
        with ZipFile(BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        victim = random.choice([name for name, content in members.items() if content])
        members[victim] = with_changed_bytes(members[victim], random)
        packed = BytesIO()
        with ZipFile(packed, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return packed.getvalue()
    changed = bytearray(data)
    for _ in range(10):
        place = random.randrange(max(len(changed), 1))
        changed[place : place + random.randrange(20)] = random.choice(
            (random.randbytes(1), b"", b"-1", b"99999999999", b"<", b"&", b"}", bytes(changed[place : place + 40]))
        )
    return bytes(changed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "name",
    [
        "xlsx/stanley-cups.xlsx",
        "pptx/powerpoint_sample.pptx",
        "odt/fake.odt",
        "odt/odf_table_with_title_01.ods",
        "epub/test.epub",
        "rtf/testRTFJapanese.rtf",
        "email/fake-email-attachment.eml",
        "json/test_notebook.ipynb",
    ],
)
async def test_file_with_changed_bytes_is_read_or_refused_for_good(name: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_bytes(with_changed_bytes((DOCUMENTS / name).read_bytes(), Random(seed)))
    outcome: object
    try:
        outcome = await parse_in_child(
            path, content_type=detect_content_type(path), options=ParseOptions(), limits=ParseLimits()
        )
    except AnalytiqError as error:
        outcome = error
    assert isinstance(outcome, ParsedDocument | PermanentError)


def test_samples_cover_every_built_in_parser() -> None:
    covered = {detect_content_type(DOCUMENTS / name) for name, _ in expectations()}
    for entry in BUILT_IN_PARSERS:
        assert covered & set(entry.content_types), entry.reference


def test_every_sample_names_its_source_and_licence() -> None:
    readme = (DOCUMENTS.parent / "README.md").read_text(encoding="utf-8")
    kept = {
        str(path.relative_to(DOCUMENTS)) for path in DOCUMENTS.rglob("*") if path.is_file() and path.parent != DOCUMENTS
    }
    assert kept == {name for name, _ in expectations()}
    for name in kept:
        assert f"| `{name}` |" in readme
