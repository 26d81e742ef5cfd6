"""From letters with places to boxes on a page: pure.

A wrong box is worse than none: a part of the text is placed only where its page's letters, all of them or this part
alone, are found again one by one.
"""

from collections.abc import Iterator, Sequence

from analytiq.models.geometry import NO_PLACE, PARTS, Box, PageBoxes, PageLetters, Place, Unplaced
from analytiq.models.text import PageSpan
from analytiq.parsing.letters import bare_letters

SHARED_SIDE = 0.5
"""Letters of a line share so much of the smaller one's side across the line."""
LONGEST_GAP = 4.0
"""Letters farther from each other than so many times their height are of two columns, not of one line."""


def spans_touched(pages: Sequence[PageSpan], start: int, end: int) -> list[PageSpan]:
    """The pages that `[start, end)` has characters on."""
    return [page for page in pages if page.start < end and page.end > start]


def place_on_page(span: PageSpan, text: str, start: int, end: int, letters: PageLetters | None) -> PageBoxes:
    """The part of `[start, end)` on one page.

    Args:
        span: The page's place in the document's text.
        text: The page's text.
        start: Of the passage, in the document's text.
        end: The same.
        letters: What stands on the page; None where it could not be read.
    """
    first, last = max(start, span.start), min(end, span.end)
    if letters is None or len(letters.letters) != len(letters.places):
        return PageBoxes(span.page_number, first, last, (), Unplaced.UNREADABLE)
    before, wanted = (
        bare_letters(text[: first - span.start]),
        bare_letters(text[first - span.start : last - span.start]),
    )
    found = _found(letters.letters, bare_letters(text), before, wanted)
    boxes = tuple(_boxes(letters.places[found : found + len(wanted)])) if found is not None else ()
    is_placed = bool(boxes) or not wanted
    return PageBoxes(span.page_number, first, last, boxes, None if is_placed else Unplaced.DIFFERS)


def _found(drawn: str, extracted: str, before: str, wanted: str) -> int | None:
    """Where the wanted letters are among the drawn ones; None where that is not certain."""
    if drawn == extracted and drawn.startswith(wanted, len(before)):
        return len(before)
    at = drawn.find(wanted) if wanted else -1
    return at if at >= 0 and drawn.find(wanted, at + 1) < 0 else None


def _boxes(places: Sequence[Place]) -> Iterator[Box]:
    """One for each line; of a line that two columns share, one for each."""
    line: Place | None = None
    last: Place = NO_PLACE
    axis: int | None = None
    for place in places:
        if not _is_place(place):
            continue
        along = _along(last, place) if line is not None else None
        if line is not None and (place == last or (along is not None and axis in {None, along})):
            axis = axis if place == last else along
            line = (min(line[0], place[0]), min(line[1], place[1]), max(line[2], place[2]), max(line[3], place[3]))
        else:
            if line is not None:
                yield _box(line)
            line, axis = place, None
        last = place
    if line is not None:
        yield _box(line)


def _along(one: Place, other: Place) -> int | None:
    """0: they stand beside each other, 1: below each other; None: neither."""
    for axis in (0, 1):
        across = 1 - axis
        shared = min(one[across + 2], other[across + 2]) - max(one[across], other[across])
        smaller = min(one[across + 2] - one[across], other[across + 2] - other[across])
        gap = max(one[axis], other[axis]) - min(one[axis + 2], other[axis + 2])
        # Fractions of width and height differ in length, by less than a page's sides do.
        if shared >= SHARED_SIDE * smaller and gap <= LONGEST_GAP * max(
            one[across + 2] - one[across], other[across + 2] - other[across]
        ):
            return axis
    return None


def _is_place(place: Place) -> bool:
    """What comes from a child that read a stranger's file is looked at."""
    return 0 <= place[0] < place[2] <= PARTS and 0 <= place[1] < place[3] <= PARTS


def _box(place: Place) -> Box:
    left, top, right, bottom = (edge / PARTS for edge in place)
    return Box(left, top, round(right - left, 6), round(bottom - top, 6))
