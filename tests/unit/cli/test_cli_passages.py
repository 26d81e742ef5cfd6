from hypothesis import given
from hypothesis import strategies as st

from analytiq.cli.passages import CUT, MAX_CHARACTERS, choose_excerpt, render_passage

CONTENT = "The pump is blue. Replace the filter cartridge every 1,200 hours. Clean the housing."


def spans(content: str, *words: str) -> list[tuple[int, int]]:
    return sorted((content.index(word), content.index(word) + len(word)) for word in words)


def styles(content: str, *words: str) -> dict[str, str]:
    text = render_passage(content, spans(content, *words), begins_document=True)
    return {text.plain[span.start : span.end]: str(span.style) for span in text.spans}


def test_sentence_with_the_matching_words_is_marked_and_the_words_in_it() -> None:
    assert styles(CONTENT, "filter", "cartridge", "pump") == {
        "Replace the filter cartridge every 1,200 hours.": "bold",
        "filter": "underline",
        "cartridge": "underline",
        "pump": "underline",
    }


def test_whole_passage_has_no_sign_of_a_cut() -> None:
    assert render_passage(CONTENT, [], begins_document=False).plain == CONTENT


def test_passage_that_begins_or_ends_amid_a_sentence_shows_it() -> None:
    shown = render_passage("and pays within thirty days. The supplier may then", [], begins_document=False)
    assert shown.plain == f"{CUT} and pays within thirty days. The supplier may then {CUT}"


def test_text_at_the_beginning_of_a_document_is_not_called_cut() -> None:
    assert render_passage("iOS is supported.", [], begins_document=True).plain == "iOS is supported."


def test_long_passage_is_shown_around_its_best_sentence() -> None:
    filler = "Nothing of interest stands here at all. " * 40
    content = f"{filler}The notice is ninety days. {filler}"
    shown = render_passage(content, spans(content, "notice", "ninety"), begins_document=True).plain
    assert "The notice is ninety days." in shown
    assert shown.startswith(CUT)
    assert shown.endswith(CUT)
    assert len(shown) <= MAX_CHARACTERS + 4


CONTROLS = {chr(code) for code in (*range(32), *range(127, 160))} - set("\n\t")


@given(content=st.text(), cuts=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=5))
def test_any_passage_and_any_spans_are_shown_without_error(content: str, cuts: list[tuple[int, int]]) -> None:
    highlights = [(a, b) for a, b in cuts if a < b <= len(content)]
    excerpt = choose_excerpt(content, highlights, begins_document=False)
    assert 0 <= excerpt.start <= excerpt.end <= len(content)
    shown = render_passage(content, highlights, begins_document=False).plain
    assert not CONTROLS & set(shown)
    assert len(shown) >= excerpt.end - excerpt.start


def test_escape_sequences_of_a_document_do_not_reach_the_terminal() -> None:
    shown = render_passage("The price is \x1b[2J\x1b[31m5 EUR.", [(13, 14)], begins_document=True)
    assert "\x1b" not in shown.plain
    assert shown.plain.endswith("5 EUR.")
