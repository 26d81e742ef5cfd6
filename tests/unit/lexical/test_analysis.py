"""From a text to its terms: the same for chunks and questions, whatever the script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.lexical.local.analysis import LONGEST_WORD, terms_of, without_accents
from analytiq.lexical.local.languages import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The notice is given to the other party", "english"),
        ("Die Kündigung ist an die andere Partei zu richten", "german"),
        ("Le préavis est donné à la partie qui est dans le contrat", "french"),
        ("El plazo es de los que se dan en la ley", "spanish"),
        ("Договор может быть расторгнут", "russian"),
        ("يجوز إنهاء العقد", "arabic"),
        ("INV-2024/00123", "english"),
        ("", "english"),
    ],
)
def test_language_is_told_by_script_and_frequent_words(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("english", "terminated contracts", "terminate contract"),
        ("english", "Café", "cafe"),
        ("german", "Kündigungsfristen", "kundigungsfrist"),
        ("arabic", "الْعَقْدُ", "العقد"),
        ("arabic", "إلغاء", "الغاء"),
        ("russian", "договоры", "договор"),
        ("english", "ＡＢＣ１２３", "abc123"),
    ],
)
def test_words_that_mean_the_same_have_the_same_terms(language: str, one: str, other: str) -> None:
    assert terms_of(one, language).words == terms_of(other, language).words != []


def test_stop_words_are_no_terms() -> None:
    assert terms_of("the of and", "english").words == []


def test_runs_without_spaces_are_taken_in_pairs_and_singly() -> None:
    terms = terms_of("東京都 is big", "english")
    assert terms.words == ["東京", "京都", "big"]
    assert terms.singles == ["東", "京", "都"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Invoice INV-2024/00123.", ["inv-2024/00123"]),
        ("part AX-42-B, and jo@example.org", ["ax-42-b", "jo@example.org"]),
        ("version 1.2.3", ["1.2.3"]),
        ("and/or well-known", []),
    ],
)
def test_codes_are_terms_as_a_whole(text: str, codes: list[str]) -> None:
    assert terms_of(text, "english").codes == codes


def test_parts_of_a_code_are_words_too() -> None:
    assert set(terms_of("INV-2024/00123", "english").words) == {"inv", "2024", "00123"}


def test_marks_that_are_letters_stay() -> None:
    assert without_accents("हिन्दी") == "हिन्दी"
    assert terms_of("हिन्दी", "english").words == ["हिन्दी"]


@given(st.text(max_size=400), st.sampled_from(["english", "german", "arabic", "russian", "finnish"]))
def test_any_text_has_terms_without_spaces_and_of_bounded_length(text: str, language: str) -> None:
    terms = terms_of(text, language)
    for term in [*terms.words, *terms.codes, *terms.singles]:
        assert term
        assert not any(character.isspace() for character in term)
        assert len(term) <= LONGEST_WORD * 4
    language_of(text)


def test_a_very_long_run_of_letters_is_read_in_one_go() -> None:
    assert terms_of("a" * 1_000_000 + " AX-42", "english").codes == ["ax-42"]
