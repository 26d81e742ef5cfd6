"""Which words of a passage are marked."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from analytiq.search.highlight import MAX_HIGHLIGHTS, highlights

ENDINGS = ["", "e", "ed", "ion", "s", "ate", "ating", "nesses", "é", "É"]
words = st.builds(
    lambda stem, ending: stem + ending,
    st.sampled_from(["termin", "TERMIN", "cat", "ca", "straße", "STRASSE", "größ", "ﬁnal", "年", "notic", "a1", ""]),
    st.sampled_from(ENDINGS),
)
texts = st.lists(words, max_size=12).map(" ".join)


def plainly(question: str, passage: str) -> list[tuple[int, int]]:
    """Every word of the passage beside every word of the question."""

    def folded(word: str) -> str:
        decomposed = unicodedata.normalize("NFKD", word.casefold())
        return "".join(character for character in decomposed if not unicodedata.combining(character))

    def are_alike(one: str, other: str) -> bool:
        shared = 0
        while shared < min(len(one), len(other)) and one[shared] == other[shared]:
            shared += 1
        return one == other or (shared >= 4 and max(len(one), len(other)) - shared <= 4)

    asked = [folded(word) for word in re.findall(r"\w+", question)]
    asked = [word for word in asked if len(word) > 2 or not word.isascii()]
    found = re.finditer(r"\w+", passage)
    return [match.span() for match in found if any(are_alike(folded(match.group()), word) for word in asked)]


@given(texts, texts)
def test_marked_words_are_those_of_the_plain_reading(question: str, passage: str) -> None:
    assert list(highlights(question, passage)) == plainly(question, passage)[:MAX_HIGHLIGHTS]


def test_words_of_one_stem_are_marked_where_they_stand() -> None:
    passage = "Terminated: the notice of termination."
    marked = [passage[start:end] for start, end in highlights("When may we terminate?", passage)]
    assert marked == ["Terminated", "termination"]


def test_no_more_than_so_many_words_are_marked() -> None:
    assert len(highlights("cat", "cat " * 500)) == MAX_HIGHLIGHTS
