import pytest

from analytiq.cli.demonstration import CONTRACT, MANUAL, POLICY, SAMPLES, SCAN, Question, choose_questions
from analytiq.client import DocumentDetail, Passage
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.docx import DocxParser
from analytiq.ingestion.parsing.pdf import PdfParser
from scripts import sample_maker
from scripts.sample_texts import AGREEMENT_PAGES, TRAVEL_POLICY


def passage(source: str, content: str, first_page: int, last_page: int) -> Passage:
    return Passage(
        content=content,
        source=source,
        document_id="0" * 24,
        relevance=0.9,
        chunk_index=0,
        is_matched=True,
        first_page=first_page,
        last_page=last_page,
        start=0,
        end=len(content),
    )


def scan(*warnings: str) -> DocumentDetail:
    return DocumentDetail.model_validate(
        {
            "document_id": "0" * 24,
            "document_name": SCAN.file_name,
            "state": "extracted",
            "tag_ids": [],
            "metadata": {},
            "error": None,
            "warnings": list(warnings),
            "byte_size": 1,
            "page_count": 1,
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            "knowledge_bases": [],
        }
    )


def test_committed_pdf_and_docx_are_what_the_maker_makes() -> None:
    assert (SAMPLES / "service-agreement.pdf").read_bytes() == sample_maker.make_pdf(AGREEMENT_PAGES)
    assert (SAMPLES / "travel-policy.docx").read_bytes() == sample_maker.make_docx(TRAVEL_POLICY)


def test_contract_answers_its_question_on_one_page_only() -> None:
    document = PdfParser().parse(SAMPLES / CONTRACT.file_name, ParseOptions(), lambda _done, _total: None)
    pages = [" ".join(page.text.split()) for page in document.pages]
    assert [CONTRACT.words in page for page in pages] == [False, False, True]


def test_policy_answers_its_question() -> None:
    document = DocxParser().parse(SAMPLES / POLICY.file_name, ParseOptions(), lambda _done, _total: None)
    assert POLICY.words in document.pages[0].text


def test_manual_answers_its_question() -> None:
    assert MANUAL.words in (SAMPLES / MANUAL.file_name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        (passage("service-agreement.pdf", "giving ninety\n days notice", 2, 3), True),
        (passage("service-agreement.pdf", "giving ninety days notice", 1, 2), False),
        (passage("travel-policy.docx", "giving ninety days notice", 3, 3), False),
        (passage("service-agreement.pdf", "giving thirty days notice", 3, 3), False),
    ],
    ids=["right", "another page", "another file", "other words"],
)
def test_answer_is_right_only_with_file_page_and_words(given: Passage, is_right: bool) -> None:
    assert CONTRACT.is_answered_by(given) is is_right


@pytest.mark.parametrize(
    ("documents", "third"),
    [([scan()], SCAN), ([scan("page 1 needs OCR")], POLICY), ([], POLICY)],
    ids=["read", "not read", "missing"],
)
def test_scan_is_asked_about_only_where_it_was_read(documents: list[DocumentDetail], third: Question) -> None:
    assert choose_questions(documents) == [CONTRACT, MANUAL, third]
