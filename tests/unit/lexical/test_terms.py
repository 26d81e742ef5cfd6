"""Terms of a text: the same whoever wrote it, in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.retrieval.terms.analysis import asked_terms, chunk_terms
from analytiq.retrieval.terms.codes import joined_words, wholes_of
from analytiq.retrieval.terms.folding import folded, normalised
from analytiq.retrieval.terms.languages import language_of
from analytiq.retrieval.terms.scripts import ASCII_WORD, WORD, ascii_words, words_in

ENGLISH = "The answer to that question is in the book which was on the table"


def words_of(text: str) -> list[str]:
    return chunk_terms(text).words.split()


def test_words_of_one_stem_are_one_term() -> None:
    assert words_of(f"{ENGLISH}, terminating") == words_of(f"{ENGLISH}, termination")


@pytest.mark.parametrize(
    ("language", "text", "one", "other"),
    [
        ("german", "Das ist nicht der Weg, auf dem sich die Stadt", "Häuser", "Haus"),
        ("french", "Les enfants sont dans une maison avec des chats et", "continuation", "continuer"),
        ("spanish", "Los niños y las niñas que son de la ciudad", "corriendo", "correr"),
        ("italian", "Il gatto che non è della casa, con gli altri", "propagazione", "propagare"),
        ("portuguese", "Os meninos não são da cidade, mas ele é", "quietamente", "quieta"),
        ("dutch", "Het is niet van de man die ook met zijn", "lichamen", "lichaam"),
        ("swedish", "Det är inte vad jag har, och som var för", "flickorna", "flicka"),
        ("finnish", "Se ei ole niin kuin hän on, mutta myös että", "talossa", "talo"),
        ("hungarian", "Ez nem az, és hogy csak egy volt, mint", "házakban", "házak"),
        ("turkish", "Bu çok ve bir için ama daha gibi olarak", "evler", "evlerin"),
    ],
)
def test_chunk_is_stemmed_by_its_own_language(language: str, text: str, one: str, other: str) -> None:
    chunk = chunk_terms(f"{text} {one}")
    assert chunk.language == language
    asked = asked_terms(other, (language,))
    assert {stem for word in asked.words for stem in word.stems} & set(chunk.words.split())


@pytest.mark.parametrize(
    ("one", "other"),
    [("книгами", "книга"), ("المعلمون", "معلم"), ("άνθρωποι", "άνθρωπος"), ("நூல்கள்", "நூல்")],
    ids=["russian", "arabic", "greek", "tamil"],
)
def test_scripts_other_than_latin_tell_their_stemmer_wherever_they_stand(one: str, other: str) -> None:
    assert set(words_of(f"{ENGLISH} {one}")) & set(words_of(other))


def test_language_of_short_text_is_not_told_by_a_single_word() -> None:
    assert language_of(["die", "casting"]) is None
    assert language_of(words_in(normalised(ENGLISH))) == "english"


def test_one_frequent_word_tells_the_language_beside_an_accent() -> None:
    assert chunk_terms("Die Kündigungsfrist beträgt dreißig Tage.").language == "german"
    assert chunk_terms("The café").language == "english"


def test_names_in_a_chinese_text_do_not_make_it_dutch() -> None:
    assert chunk_terms("黑豹队的防守只丢了三百分，在联赛中排名第六 (van de Berg, de Boer)").language is None


def test_chunk_that_does_not_tell_its_language_takes_the_one_of_its_document() -> None:
    assert chunk_terms("Rechnungen 2024").language is None
    assert chunk_terms("Rechnungen 2024", language="german").words == "rechnung 2024"


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Crème brûlée", "creme brulee"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("ﬁnance", "finance"),
        ("Straße", "strasse"),
        ("İstanbul", "istanbul"),
        ("e\u0301cole", "école"),
        ("Silben\u00adtrennung", "Silbentrennung"),
        ("Łódź", "lodz"),
        ("الكِتَابُ", "الكتاب"),
        ("أحمد إلى آخر", "احمد الي اخر"),
        ("كتـــاب", "كتاب"),
        ("ёлка", "елка"),
    ],
)
def test_case_width_accents_and_marks_make_no_difference(written: str, typed: str) -> None:
    asked = asked_terms(typed, ())
    assert asked.words
    chunk = chunk_terms(written)
    terms = set(chunk.words.split()) | set(chunk.stopped)
    assert all(terms.intersection(word.stems) or word.exact in terms for word in asked.words), (asked.words, terms)


def test_accent_that_a_stemmer_reads_may_be_missing_in_question_or_text() -> None:
    spanish = "Los datos de la facturación que son para el cliente"
    plain = "Los datos de la facturacion que son para el cliente"
    for text in (spanish, plain):
        for question in ("facturación", "facturacion"):
            asked = asked_terms(question, ("spanish",))
            stems = {stem for word in asked.words for stem in word.stems}
            assert stems & set(words_of(text)), (text, question)


@pytest.mark.parametrize("text", ["東京タワー", "ประเทศไทย", "한국어", "こんにちは"])
def test_what_has_no_spaces_is_taken_in_pairs(text: str) -> None:
    assert words_of(text) == [text[place : place + 2] for place in range(len(text) - 1)]
    assert chunk_terms(text).characters == " ".join(text)


def test_scripts_part_words_even_without_spaces() -> None:
    assert words_of("新型iPhone手机2024年") == ["新型", "iphon", "手机", "2024"]


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("INV-2024/00123", "inv-2024/00123"),
        ("INV-2024/00123", "INV 2024-00123 is INV2024-00123"),
        ("AX-42-B", "AX42B"),
        ("AX/42/B", "ax-42-b"),
        ("Jane.Doe@example.com", "jane.doe@example.com"),
        ("see https://example.org/invoices/INV-2024/00123", "INV-2024"),
        ("Ref:AX-42-B", "AX-42-B"),
        ("version 1.2.3", "1.2.3"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("written in C++", "c++"),
        ("written in C#.", "C#"),
        ("§ AX\u201142\u2011B", "AX-42-B"),
        ("1,234.56 EUR", "1,234.56"),
    ],
)
def test_code_is_the_same_in_every_notation(written: str, asked: str) -> None:
    codes = {code.whole for code in asked_terms(asked, ()).codes}
    assert codes & set(chunk_terms(written).codes)


@pytest.mark.parametrize(("one", "other"), [("1.23", "12.3"), ("AX-42", "AX-421"), ("1-234", "12-34"), ("C++", "C#")])
def test_different_codes_stay_different(one: str, other: str) -> None:
    first = {code.whole for code in asked_terms(one, ()).codes}
    second = {code.whole for code in asked_terms(other, ()).codes}
    assert first
    assert second
    assert not first & second


def test_groups_of_four_that_are_no_account_number_are_no_code() -> None:
    assert "de89370400440532013001" not in chunk_terms("DE89 3704 0044 0532 0130 01").codes


def test_long_path_is_found_by_its_parts_alone() -> None:
    path = "/".join(f"folder{number}" for number in range(30))
    assert wholes_of(path) == []
    assert "folder7" in words_of(path)


def test_stop_word_of_one_language_does_not_count_beside_words_that_say_something() -> None:
    asked = asked_terms("die Rechnung", ("english", "german"))
    assert [word.exact for word in asked.words] == ["rechnung"]
    assert [word.stems for word in asked_terms("die", ("english", "german")).words] == [("die",)]


def test_repeated_word_counts_as_often_as_it_is_said() -> None:
    asked = asked_terms("heat transfer and heated heat", ("english",))
    assert sum(count for word, count in asked.words.items() if word.stems == ("heat",)) == 3


@given(st.text())
def test_any_text_has_terms_without_spaces_in_them(text: str) -> None:
    chunk = chunk_terms(text)
    for term in (*chunk.codes, *chunk.stopped):
        assert len(term.split()) <= 1
    asked_terms(text, ("english", "german"))


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_short_cut_for_ascii_finds_the_same_words(text: str) -> None:
    plain = normalised(text)
    assert ASCII_WORD.findall(plain) == WORD.findall(plain)


@given(st.text())
def test_what_is_normalised_or_folded_stays_as_it_is(text: str) -> None:
    plain = normalised(text)
    assert normalised(plain) == plain
    assert folded(folded(plain)) == folded(plain)


@pytest.mark.parametrize(
    ("written", "typed"),
    [("إلغاء", "الغاء"), ("الْعَقْدُ", "العقد"), ("Kündigungsfristen", "kundigungsfristen"), ("договоры", "договор")],
)
def test_word_is_found_however_it_is_typed(written: str, typed: str) -> None:
    stems = {stem for word in asked_terms(typed, ("german",)).words for stem in word.stems}
    assert stems & set(chunk_terms(written, language="german").words.split())


@pytest.mark.parametrize("run", ["a", "é", "a\u0300", "\u0300", "x-"])
def test_a_very_long_run_before_a_sign_is_read_in_one_go(run: str) -> None:
    codes = [whole.term for whole in joined_words(f"{run * 300_000}, and ax-42")]
    assert codes[-1] == joined_words("ax-42")[0].term


NOTATIONS = [
    ("1234.5", "1,234.50", "1 234,50", "1.234,50", "1'234.50", "1\u202f234,5"),
    ("1234567", "1,234,567", "1.234.567", "1 234 567", "12,34,567"),
    ("0.5 l", "0,50 l", "0.5L", ".5 liters"),
    ("2024-03-05", "March 5, 2024", "5 March 2024", "05.03.2024", "3/5/2024", "5/3/2024", "5. März 2024", "5.3.24"),
    ("2024-03-05T10:00:00Z", "Mar 5th 2024", "05-Mar-2024", "5 de marzo de 2024", "2024年3月5日", "2024/3/5"),
    ("230V", "230 V", "230 volts", "230\u00a0V"),
    ("10%", "10 %", "10 percent", "10 Prozent"),
    ("25 °C", "25°C", "25 degrees Celsius", "25 ℃"),
    ("€1,500", "1.500 EUR", "1 500 euros", "1500 €"),
    ("100 km/h", "100km/h", "100 kph"),
]


@pytest.mark.parametrize(
    ("written", "asked"),
    [(one, other) for notations in NOTATIONS for one in notations for other in notations],
)
def test_value_is_found_in_every_notation(written: str, asked: str) -> None:
    chunk, question = chunk_terms(written), asked_terms(asked, ())
    by_code = any(not {*chunk.codes}.isdisjoint(code.spellings) for code in question.codes)
    words = {stem for word in question.words for stem in word.stems if len(stem) > 3}
    numbers = words.union(*(code.numbers for code in question.codes))
    assert by_code or not numbers.isdisjoint(chunk.words.split())


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("1,234.5", "12345"),
        ("1.5", "15"),
        ("2024-03-05", "2024-03-06"),
        ("13/5/2024", "5 December 2024"),
        ("230 V", "230 W"),
        ("1,234.56", "1234.57"),
        ("10 %", "10 kg"),
        ("1.2.3", "1.23"),
        ("the 3,4-biphosphate", "3.4"),
        ("05.03.2024", "May 3, 2024"),
    ],
)
def test_other_values_are_other_terms(written: str, asked: str) -> None:
    chunk, question = chunk_terms(written), asked_terms(asked, ())
    assert all({*chunk.codes}.isdisjoint(code.spellings) for code in question.codes)


def test_month_finds_its_days() -> None:
    (code,) = asked_terms("March 2024", ()).codes
    assert code.whole in chunk_terms("Due on 05.03.2024").codes
    (code,) = asked_terms("March 5, 2024", ()).codes
    assert "2024-03" not in code.spellings


def test_plain_words_and_numbers_have_no_further_terms() -> None:
    text = f"{ENGLISH} 42 and 2024, may it be 7 (see 12)."
    assert chunk_terms(text).codes == ()
    assert asked_terms(text, ()).codes == ()


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1 234 ", "1,23", "1.234", "5 march ", "$ ", "12/", "1", "3 5 may 1 ", "1,234,"])
def test_numbers_without_end_are_read_in_one_go(piece: str) -> None:
    chunk_terms(piece * (300_000 // len(piece)))


@pytest.mark.parametrize(
    ("written", "question"),
    [("retryLimit = 3", "retry limit"), ("class HTTPServer:", "http server"), ("ParcelTracker", "parcel_tracker")],
)
def test_identifiers_are_found_by_their_words(written: str, question: str) -> None:
    asked = {stem for word in asked_terms(question, ("english",)).words for stem in word.stems}
    assert asked <= set(words_of(written))


@pytest.mark.parametrize("question", ["retrylimit", "RetryLimit", "retryLimit"])
def test_identifiers_are_found_whole(question: str) -> None:
    asked = asked_terms(question, ("english",))
    exact = {word.exact for word in (*asked.words, *asked.joined)}
    assert exact & set(chunk_terms("def retryLimit(): pass").exact.split())


def test_names_with_a_capital_inside_stay_whole() -> None:
    assert {"iphon", "mcdonald", "gmbh"} <= set(words_of("iPhone McDonald GmbH"))


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_that_the_expression_finds(text: str) -> None:
    assert ascii_words(text) == ASCII_WORD.findall(text)
