"""Lines of a paragraph are joined by their ends alone."""

from functools import reduce

import pytest

from analytiq.ingestion.parsing.pdf_layout import joining
from analytiq.ingestion.parsing.pdf_layout.joining import continued


@pytest.mark.parametrize(
    ("above", "below", "joined"),
    [
        ("a long pas-", "sage", "a long passage"),
        ("two-", "and three-year", "two- and three-year"),
        ("North-", "South", "North-South"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("non-nar-", "cotic", "non-narcotic"),
        ("a dash -", "below", "a dash - below"),
        ("-", "below", "- below"),
    ],
)
def test_hyphen_at_a_lines_end_is_dropped_if_only_the_line_caused_it(above: str, below: str, joined: str) -> None:
    assert continued(above, below) == joined


def test_joining_looks_at_no_more_than_the_end_of_a_growing_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    class Pattern:
        def search(self, text: str) -> None:
            looked_at.append(len(text))

    monkeypatch.setattr(joining, "_HYPHEN_AT_END", Pattern())
    assert len(reduce(continued, ["a line of words"] * 1000)) == 16 * 1000 - 1
    assert max(looked_at) <= 3
