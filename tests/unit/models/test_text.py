"""Pages joined to one text, and the way back from a place in it to its pages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.models.blocks import Block, BlockKind, TableShape
from analytiq.models.text import PAGE_SEPARATOR, DocumentText, PageLocator, PageSpan, ParsedPage, join_pages

page_texts = st.lists(st.text(max_size=12), min_size=1, max_size=12)


def pages_of(texts: list[str], first: int = 1) -> list[ParsedPage]:
    return [ParsedPage(first + index, text) for index, text in enumerate(texts)]


@given(texts=page_texts)
def test_every_page_is_found_at_its_place(texts: list[str]) -> None:
    joined = join_pages(pages_of(texts))
    assert [joined.text[page.start : page.end] for page in joined.pages] == texts
    assert [page.page_number for page in joined.pages] == list(range(1, len(texts) + 1))
    assert joined.text == PAGE_SEPARATOR.join(texts)


@given(texts=page_texts, data=st.data())
def test_pages_of_a_range_are_those_whose_characters_it_touches(texts: list[str], data: st.DataObject) -> None:
    joined = join_pages(pages_of(texts))
    start = data.draw(st.integers(0, max(0, len(joined.text) - 1)))
    end = data.draw(st.integers(start + 1, max(start + 1, len(joined.text))))
    first, last = PageLocator(joined.pages).between(start, end)
    assert first <= last
    touched = [page.page_number for page in joined.pages if page.start < end and start < page.end]
    if touched:
        assert first == touched[0]
        assert touched[-1] <= last
        # Beyond the last that it touches there can only be pages without a character.
        assert all(page.start == page.end for page in joined.pages if touched[-1] < page.page_number <= last)


def test_range_that_ends_with_a_page_does_not_reach_into_the_next() -> None:
    joined = join_pages(pages_of(["one", "two", "three"]))
    locate = PageLocator(joined.pages).between
    assert locate(0, 3) == (1, 1)
    assert locate(5, 8) == (2, 2)
    assert locate(2, 6) == (1, 2)
    assert locate(0, len(joined.text)) == (1, 3)
    assert locate(10, 11) == (3, 3)


def test_text_without_pages_has_no_places() -> None:
    with pytest.raises(ValueError, match="at least one page"):
        PageLocator([])


def test_beginning_of_a_text_keeps_the_structure_that_it_reaches() -> None:
    table = Block(BlockKind.TABLE, 6, 20, table=TableShape(("a",), ((6, 12), (13, 20))))
    whole = join_pages(
        [ParsedPage(1, "Title\n" + "a: row" + "\n" + "a: rows", blocks=(Block(BlockKind.HEADING, 0, 5, 1), table))]
    )
    assert whole.beginning(len(whole.text)) == whole
    assert whole.beginning(5) == DocumentText("Title", (PageSpan(1, 0, 5),), whole.blocks[:1])
    [_, cut] = whole.beginning(15).blocks
    assert cut == Block(BlockKind.TABLE, 6, 15, table=TableShape(("a",), ((6, 12), (13, 15))))
