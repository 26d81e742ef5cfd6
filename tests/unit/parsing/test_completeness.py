from collections import Counter

from analytiq.ingestion.parsing.completeness import lost_pieces, lost_words


def test_text_with_every_word_in_another_order_has_lost_nothing() -> None:
    assert not lost_words(["one two", "three"], ["three! One: one-two"])


def test_word_is_lost_as_often_as_the_text_lacks_it() -> None:
    assert lost_words(["yes no yes", "yes"], ["yes, no"]) == Counter({"yes": 2})


def test_words_that_only_the_text_has_are_no_loss() -> None:
    assert not lost_words(["Pear"], ["1. Product: Pear"])


def test_pieces_with_lost_words_are_found_and_others_left_alone() -> None:
    source = ["a kept line", "a lost line", "nothing"]
    assert list(lost_pieces(source, lost_words(source, ["a kept line", "a line", "nothing"]))) == ["a lost line"]


def test_piece_that_occurs_twice_and_was_kept_once_is_found_once() -> None:
    source = ["same words", "same words"]
    assert list(lost_pieces(source, lost_words(source, ["same words"]))) == ["same words"]
