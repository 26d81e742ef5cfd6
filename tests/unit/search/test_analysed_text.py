"""Texts whose analysis is kept: a question is answered as if it had been made for the question alone."""

from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.pipeline.highlight import Highlighter, highlights
from analytiq.retrieval.pipeline.together import shares_in_one_line, shares_of_analysed
from analytiq.retrieval.terms.analysed_text import AnalysedText

WORDS = (
    "the", "cooling", "cooled", "motors", "Motor", "who", "is", "it", "INV-2024/00123", "AX-42-B", "e-mail",
    "1,234.50", "230", "V", "2025-01-12", "café", "cafe", "Größe", "Straße", "co\u00adoperate", "Pump\u2122",
    "\u201cquoted\u201d", "x_y", "红色水壶", "ثقة", "naïve", "news", "dying", "die", "\u2013", "¼",
)  # fmt: skip
SENTENCES = st.lists(st.sampled_from((*WORDS, ".", "\n", "- ")), max_size=24).map(" ".join)


def repeated(text: str) -> AnalysedText:
    analysed = AnalysedText(text)
    analysed.is_repeated = True
    return analysed


@given(question=SENTENCES, texts=st.lists(SENTENCES, min_size=1, max_size=5))
def test_kept_analysis_changes_no_highlight_and_no_share(question: str, texts: list[str]) -> None:
    kept = list(map(repeated, texts))
    contexts = ["Motors"] * len(texts)
    highlighter = Highlighter(question)
    for _ in range(2):
        assert [highlighter.spans_in(one) for one in kept] == [highlights(question, text) for text in texts]
        assert shares_of_analysed(question, kept, contexts) == shares_in_one_line(question, texts, contexts)


def test_a_text_read_once_keeps_no_words() -> None:
    once, again = AnalysedText("Cooling of motors"), repeated("Cooling of motors")
    assert once.vocabulary("english") is None
    vocabulary = again.vocabulary("english")
    assert vocabulary is not None
    assert vocabulary is again.vocabulary("english")
    assert list(vocabulary.words_of("motor")) == ["motors"]
    assert (vocabulary.has_stem("cool"), vocabulary.has_word("of"), vocabulary.has_stem("of")) == (True, True, False)
