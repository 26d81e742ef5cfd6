"""A page's stored text beside the letters that it shows."""

from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.boxes import Box, PlacedText
from analytiq.retrieval.places.alignment import boxes_of

WIDTH, HEIGHT = 0.01, 0.02


def page_of(*lines: str) -> list[PlacedText]:
    """Letters in lines of a page, each with a box of its own."""
    return [
        PlacedText(letter, Box(column * WIDTH, row * 2 * HEIGHT, (column + 1) * WIDTH, row * 2 * HEIGHT + HEIGHT))
        for row, line in enumerate(lines)
        for column, letter in enumerate(line)
        if letter != " "
    ]


def boxes_for(pieces: list[PlacedText], text: str, passage: str) -> list[tuple[float, float]]:
    start = text.index(passage)
    return [(round(box.left, 4), round(box.top, 4)) for box in boxes_of(pieces, text, start, start + len(passage))]


def test_hyphen_joined_at_a_line_end_and_a_ligature_do_not_hide_a_passage() -> None:
    pieces = page_of("the ofﬁce pays for main-", "tenance of the roof")
    text = "the office pays for maintenance of the roof"
    assert boxes_for(pieces, text, "office pays for maintenance") == [(0.04, 0.0), (0.0, 0.04)]


def test_passage_that_stands_twice_is_marked_where_it_belongs() -> None:
    pieces = page_of("see notice", "or x", "see notice")
    text = "see notice or see notice"
    assert boxes_for(pieces, text, "see notice") == [(0.0, 0.0)]
    start = text.rindex("see notice")
    boxes = boxes_of(pieces, text, start, start + len("see notice"))
    assert [round(box.top, 4) for box in boxes] == [0.08]


def test_passage_that_may_stand_in_two_places_has_no_box_rather_than_a_wrong_one() -> None:
    pieces = page_of("all rights reserved", "a b", "all rights reserved")
    assert boxes_for(pieces, "zz all rights reserved yy", "all rights reserved") == []
    known = page_of("all rights reserved", "by the tenant all rights reserved")
    assert boxes_for(known, "by the tenant all rights reserved", "all rights reserved") == [(0.14, 0.04)]


def test_line_of_two_columns_has_a_box_in_each() -> None:
    pieces = [
        *page_of("left words"),
        *(
            PlacedText(letter, Box(0.6 + at * WIDTH, 0.0, 0.61 + at * WIDTH, HEIGHT))
            for at, letter in enumerate("right")
        ),
    ]
    assert boxes_for(pieces, "left words right", "left words right") == [(0.0, 0.0), (0.6, 0.0)]


def test_words_that_were_read_differently_here_and_there_still_have_their_boxes() -> None:
    pieces = page_of("Either party may tcrminate this agreement")
    text = "Either party may terminate this agreement"
    assert boxes_for(pieces, text, text) == [(0.0, 0.0)]


def test_passage_that_the_page_does_not_show_has_no_box() -> None:
    pieces = page_of("an altogether different page of words")
    assert boxes_for(pieces, "Either party may terminate this agreement", "party may terminate") == []
    assert boxes_of([], "text", 0, 4) == []
    assert boxes_of(pieces, "   ", 0, 3) == []


@given(st.lists(st.text("abcdefg .-", min_size=1, max_size=30), min_size=1, max_size=6), st.data())
def test_each_letter_of_any_passage_lies_in_one_of_its_boxes(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    boxes = boxes_of(page_of(*lines), text, start, end)
    places = [(row, column) for row, line in enumerate(lines) for column, _ in enumerate(f"{line}\n")]
    wanted = [places[at] for at in range(start, end) if text[at] not in " \n-"]
    assert bool(boxes) == bool(wanted)
    for row, column in wanted:
        x, y = (column + 0.5) * WIDTH, row * 2 * HEIGHT + HEIGHT / 2
        assert any(box.left < x < box.right and box.top < y < box.bottom for box in boxes)
