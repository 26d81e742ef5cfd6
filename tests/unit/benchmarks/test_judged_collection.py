"""Collections in the layout of BEIR are read as they are meant, and what is not of it is named."""

from pathlib import Path

import pytest

from benchmarks.judged_collection import collections_in, read_collection


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "small"
    made.mkdir()
    made.joinpath("corpus.jsonl").write_text(
        '{"_id": "d1", "title": "A title", "text": "A text"}\n{"_id": "d2", "text": "Another"}\n\n'
        '{"_id": "d3", "title": "", "text": " "}\n'
    )
    made.joinpath("queries.jsonl").write_text(
        '{"_id": "q1", "text": "One?"}\n{"_id": "q2", "text": "Two?"}\n{"_id": "q3", "text": "Three?"}\n'
    )
    made.joinpath("qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t0\nq3\td2\t1\n")
    return made


def test_texts_have_their_title_and_empty_documents_are_left_out(directory: Path) -> None:
    collection = read_collection(directory)
    assert collection.documents == {"d1": "A title\n\nA text", "d2": "Another"}
    assert collection.empty_count == 1


def test_questions_that_nothing_answers_are_left_out(directory: Path) -> None:
    collection = read_collection(directory)
    assert collection.questions == {"q1": "One?", "q3": "Three?"}
    assert collection.grades["q1"] == {"d1": 2.0, "d2": 0.0}


def test_samples_are_the_same_at_every_run_and_halves_share_nothing(directory: Path) -> None:
    collection = read_collection(directory)
    assert collection.with_questions(1) == collection.with_questions(1)
    assert len(collection.with_questions(1).questions) == 1
    halves = [set(collection.half(number).questions) for number in (0, 1)]
    assert halves[0] | halves[1] == {"q1", "q3"}
    assert not halves[0] & halves[1]


def test_sample_of_documents_keeps_what_is_judged(directory: Path) -> None:
    sampled = read_collection(directory).with_documents(1)
    assert set(sampled.documents) == {"d1", "d2"}


def test_judgements_are_also_found_where_the_archives_of_beir_have_them(directory: Path) -> None:
    directory.joinpath("qrels").mkdir()
    directory.joinpath("qrels.tsv").rename(directory / "qrels" / "test.tsv")
    assert len(read_collection(directory).questions) == 2


def test_directory_may_be_a_collection_or_hold_several(directory: Path) -> None:
    assert collections_in(directory) == [directory]
    assert collections_in(directory.parent) == [directory]
    with pytest.raises(SystemExit, match="has no collection"):
        collections_in(directory / "none")


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl, line 5"),
        ("queries.jsonl", '{"_id": "q4"}', "queries.jsonl, line 4"),
        ("qrels.tsv", "q1\td1\tmuch", "qrels.tsv, line 6"),
    ],
)
def test_what_is_not_of_the_layout_is_told_by_file_and_line(directory: Path, file: str, line: str, said: str) -> None:
    with directory.joinpath(file).open("a") as target:
        target.write(f"{line}\n")
    with pytest.raises(SystemExit, match=said):
        read_collection(directory)
