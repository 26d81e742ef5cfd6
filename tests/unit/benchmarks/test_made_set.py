"""The made retrieval set: what is committed is what the generator writes, and every answer has one place."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.context_retrieval import Measures, covers
from benchmarks.made_set.files import read, write
from benchmarks.made_set.model import CONTEXT, DIRECTORY, MISLEADING, PLAIN, spans_of


def test_committed_set_is_what_the_generator_writes(tmp_path: Path) -> None:
    write(tmp_path)
    assert read(tmp_path) == read(DIRECTORY)


def test_every_answer_is_once_in_its_document() -> None:
    documents, questions = read(DIRECTORY)
    texts = {document.name: document.content for document in documents}
    assert [one.id for one in questions if len(spans_of(one.gold, texts[one.document])) != 1] == []
    assert len({one.id for one in questions}) == len({one.text for one in questions}) == len(questions)


def test_set_has_enough_questions_of_each_group_and_no_subject_in_passages_that_need_context() -> None:
    _, questions = read(DIRECTORY)
    counts = Counter(one.group for one in questions)
    assert counts[CONTEXT] >= 300
    assert counts[PLAIN] >= 80
    assert counts[MISLEADING] >= 40
    assert len({one.kind for one in questions if one.group == CONTEXT}) == 8


def test_answers_are_found_whatever_stands_between_their_words() -> None:
    (span,) = spans_of(("The fee is **6 euros**.", "payable"), "x The fee\nis 6 euros, not payable.")
    assert span == (2, 33)
    assert spans_of(("6 euros",), "16 euros") == []


def test_measures_count_the_first_right_result() -> None:
    measures = Measures.of([1, 2, None, 7])
    assert (measures.count, measures.hit_1, measures.hit_5) == (4, 0.25, 0.5)
    assert measures.ndcg_10 == pytest.approx((1 + 0.63093 + 0.33333) / 4, abs=1e-4)


def test_a_passage_with_half_of_the_answer_is_right() -> None:
    assert covers((0, 15), [(10, 20)])
    assert not covers((0, 14), [(10, 20)])
