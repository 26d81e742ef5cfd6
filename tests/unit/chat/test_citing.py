"""Citations of an answer, and their exact places."""

import pytest

from analytiq.assistants.chat.citing import cited, without_marks
from analytiq.models.shown_passage import ShownPassage


def passage(number: int, content: str) -> ShownPassage:
    return ShownPassage(
        number=number, kb_id="k", document_id="d", source="s", chunk_index=number, first_page=1, last_page=1,
        start=0, end=len(content), relevance=0.9, content=content,
    )  # fmt: skip


AGREEMENT = passage(
    1,
    "This agreement is made in Oslo. It may be ended with 90 days' notice. Invoices are due within 30 days.\n"
    "Disputes go to the court of Bergen.",
)
PRICES = passage(2, "Pump P-100 costs 4,500 EUR. Pump P-200 costs 9,000 EUR.")


def quotes(answer: str) -> list[tuple[int, str]]:
    return [
        (item.passage.number, item.passage.content[item.start : item.end])
        for item in cited(answer, [AGREEMENT, PRICES])
    ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Notice is 90 days [1].", [(1, "It may be ended with 90 days' notice.")]),
        ("Invoices have to be paid within 30 days. [1]", [(1, "Invoices are due within 30 days.")]),
        ("Disputes are for the court in Bergen [1].", [(1, "Disputes go to the court of Bergen.")]),
        (
            "P-200 costs 9,000 EUR [2]. Notice takes 90 days [1].",
            [(2, "Pump P-200 costs 9,000 EUR."), (1, "It may be ended with 90 days' notice.")],
        ),
        ("Both [1, 2].", [(1, "This agreement is made in Oslo."), (2, "Pump P-100 costs 4,500 EUR.")]),
        ("Nothing is cited here.", []),
        ("[3] and [0] and [999] are no passages.", []),
        ("", []),
    ],
)
def test_quote_is_the_sentence_that_fits_the_claim(answer: str, expected: list[tuple[int, str]]) -> None:
    assert quotes(answer) == expected


def test_sentence_that_the_page_has_broken_into_lines_is_quoted_whole() -> None:
    wrapped = passage(
        1, "Scope.\nThis agreement says what the Supplier does for the\nCustomer, and for how long.\n\nNotice"
    )
    [item] = cited("It is about the Supplier and the Customer [1].", [wrapped])
    quoted = wrapped.content[item.start : item.end]
    assert quoted == "This agreement says what the Supplier does for the\nCustomer, and for how long."


def test_row_of_a_table_is_quoted_alone() -> None:
    rows = passage(
        1, "P-100,centrifugal pump with motor and stand,4500,EUR,7\nP-200,centrifugal pump without motor,3900,EUR,9"
    )
    [item] = cited("P-200 costs 3900 EUR [1].", [rows])
    assert rows.content[item.start : item.end] == "P-200,centrifugal pump without motor,3900,EUR,9"


def test_marks_are_the_places_in_the_answer() -> None:
    answer = "A [1] b [2][1]."
    found = {item.passage.number: item.marks for item in cited(answer, [AGREEMENT, PRICES])}
    assert [answer[start:end] for start, end in found[1]] == ["[1]", "[1]"]
    assert found[1] == ((2, 5), (11, 14))


def test_quote_of_a_passage_without_sentences_is_bounded() -> None:
    table = passage(1, "cell " * 1000)
    [item] = cited("It is in the cell [1].", [table])
    assert 0 < item.end - item.start <= 600


@pytest.mark.parametrize("content", ["", " ", "\n\n", "…", "。"])
def test_odd_passages_are_quoted_without_failing(content: str) -> None:
    [item] = cited("x [1].", [passage(1, content)])
    assert 0 <= item.start <= item.end <= len(content)


def test_citations_are_taken_out_with_the_space_before_them() -> None:
    assert without_marks("Ninety days [1]. Or so [2][3], maybe [1, 2].") == "Ninety days. Or so, maybe."
