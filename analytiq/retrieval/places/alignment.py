"""Alignment of a page's stored text with the letters shown on the page. Pure.

Both have the same reading order, but the text has been normalized since (white space, ligatures, hyphens at line ends,
bullets), so letters are compared without these. If they still differ, runs of letters are matched; a passage with too
few matches gets no boxes rather than wrong ones.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise, takewhile

from analytiq.models.blocks import Block
from analytiq.models.boxes import Box, PlacedText
from analytiq.retrieval.places.shown import shown_parts

LEAST_SHARE_FOUND = 0.6
"""Least share of a passage's letters that must be found; with fewer, no box is shown."""
MAX_BOXES = 300
"""Most boxes of a page."""
SURROUNDINGS = 12
"""Letters on either side that tell equal passages apart."""
LEAST_RUN = 4
"""Least letters of a run: shorter runs agree by chance."""
LONGEST_GAP = 6.0
"""Longest gap within a box, in line heights: letters of two columns are farther apart, and get a box each."""
SAME_LINE_SHARE = 0.5
"""Share of the smaller of two heights by which neighbours in a line must overlap."""
_IGNORED = "\u00ad-\u2010\u2011;•‣◦▪▫●○■□∙·"
"""Hyphens, which come and go with line breaks; signs between values; bullets."""


@dataclass(frozen=True, slots=True)
class _Letters:
    text: str
    places: list[int]
    """For each letter, its index in the source."""


def boxes_of(
    pieces: Sequence[PlacedText], page_text: str, start: int, end: int, blocks: Sequence[Block] = ()
) -> list[Box]:
    """Return a box for each line of the characters [start, end) of a page's text; none if unsure.

    Args:
        pieces: the letters of the page, in reading order.
        page_text: its stored text.
        start: index of the first character in `page_text`.
        end: index after the last character.
        blocks: its structure, which tells the words that the page does not show.
    """
    wanted = _letters_of(page_text, blocks)
    first, last = bisect_left(wanted.places, start), bisect_left(wanted.places, end)
    if first >= last:
        return []
    shown = _letters([piece.text for piece in pieces], by_piece=True)
    runs = _runs(wanted.text, shown.text, first, last)
    if len(runs) > 1:
        # The same words occur several times, in surroundings unlike the text's: any may be meant.
        return []
    found = range(runs[0], runs[0] + last - first) if runs else _matched(wanted.text, shown.text, first, last)
    if len(found) < LEAST_SHARE_FOUND * (last - first):
        return []
    places = sorted({shown.places[index] for index in found})
    return _lines([pieces[place].box for place in places])[:MAX_BOXES]


def _letters_of(page_text: str, blocks: Sequence[Block]) -> _Letters:
    parts = list(shown_parts(page_text, blocks))
    found = [_letters([page_text[start:end]]) for start, end in parts]
    places = [start + place for (start, _), letters in zip(parts, found, strict=True) for place in letters.places]
    return _Letters("".join(letters.text for letters in found), places)


def _letters(texts: Sequence[str], *, by_piece: bool = False) -> _Letters:
    letters: list[str] = []
    places: list[int] = []
    for number, text in enumerate(texts):
        for position, character in enumerate(text):
            for letter in unicodedata.normalize("NFKC", character):
                if letter.isspace() or letter in _IGNORED:
                    continue
                letters.append(letter)
                places.append(number if by_piece else position)
    return _Letters("".join(letters), places)


def _runs(wanted: str, shown: str, first: int, last: int) -> list[int]:
    """Return the possible starts of the passage among the letters shown; several if they are indistinguishable."""
    if wanted == shown:
        return [first]
    passage = wanted[first:last]
    shown_runs, own_runs = _occurrences(shown, passage), _occurrences(wanted, passage)
    if len(shown_runs) == len(own_runs):
        return [shown_runs[own_runs.index(first)]]
    before, after = wanted[:first], wanted[last:]
    shared = [
        _equal(reversed(before), reversed(shown[max(0, run - SURROUNDINGS) : run]))
        + _equal(after, shown[run + len(passage) : run + len(passage) + SURROUNDINGS])
        for run in shown_runs
    ]
    best = max(shared, default=0)
    nearest = [run for run, letters in zip(shown_runs, shared, strict=True) if letters == best >= LEAST_RUN]
    return nearest or shown_runs


def _equal(one: Iterable[str], other: Iterable[str]) -> int:
    """Count the equal letters from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _occurrences(text: str, passage: str) -> list[int]:
    """Return the start of every occurrence of the needle, overlapping ones included."""
    found: list[int] = []
    at = text.find(passage)
    while at >= 0:
        found.append(at)
        at = text.find(passage, at + 1)
    return found


def _matched(wanted: str, shown: str, first: int, last: int) -> list[int]:
    """Return the indexes in `shown` of the passage's letters that belong to runs common to both texts."""
    # Letter by letter a long page would take seconds; the passage is short, and so is its possible range.
    margin = 2 * (last - first) + 2000
    low, high = max(0, first - margin), min(len(shown), last + margin)
    matcher = SequenceMatcher(None, wanted[first:last], shown[low:high], autojunk=False)
    found: list[int] = []
    for block in matcher.get_matching_blocks():
        if block.size >= LEAST_RUN:
            found += range(low + block.b, low + block.b + block.size)
    return found


def _lines(boxes: Sequence[Box]) -> list[Box]:
    """Join neighbouring letters of a line, horizontal or vertical, into boxes."""
    pairs = list(pairwise(boxes))
    across = sum(_share(one.top, one.bottom, two.top, two.bottom) >= SAME_LINE_SHARE for one, two in pairs)
    down = sum(_share(one.left, one.right, two.left, two.right) >= SAME_LINE_SHARE for one, two in pairs)
    runs_down = down > across
    lines: list[Box] = []
    for box in boxes:
        if lines and _is_same_line(lines[-1], box, runs_down=runs_down):
            lines[-1] = _union(lines[-1], box)
        else:
            lines.append(box)
    return lines


def _is_same_line(line: Box, box: Box, *, runs_down: bool) -> bool:
    if runs_down:
        is_near = _gap(line.top, line.bottom, box.top, box.bottom) <= LONGEST_GAP * (line.right - line.left)
        return is_near and _share(line.left, line.right, box.left, box.right) >= SAME_LINE_SHARE
    is_near = _gap(line.left, line.right, box.left, box.right) <= LONGEST_GAP * (line.bottom - line.top)
    return is_near and _share(line.top, line.bottom, box.top, box.bottom) >= SAME_LINE_SHARE


def _gap(low: float, high: float, other_low: float, other_high: float) -> float:
    """Measure the gap between two intervals; negative if they overlap."""
    return max(low, other_low) - min(high, other_high)


def _share(low: float, high: float, other_low: float, other_high: float) -> float:
    """Return the share of the shorter interval that lies in the other."""
    shorter = min(high - low, other_high - other_low)
    return (min(high, other_high) - max(low, other_low)) / shorter if shorter > 0 else 0.0


def _union(one: Box, two: Box) -> Box:
    return Box(min(one.left, two.left), min(one.top, two.top), max(one.right, two.right), max(one.bottom, two.bottom))
