"""The words of a question in one line of a passage."""

from analytiq.retrieval.pipeline.together import shares_in_one_line

RIGHT = "Article: MI01; Description: Mica strainer DN20; Price: 971.66\nArticle: HA02; Description: Harz union DN15"
SCATTERED = "Mica cross DN40; 4.10\nTopaz strainer DN50; 7.20\nRaven union DN20; 3.00\nMica hose DN20; 8.00"


def test_a_passage_with_all_words_in_one_line_has_the_greatest_share() -> None:
    right, scattered = shares_in_one_line("What does the Mica strainer DN20 cost?", [RIGHT, SCATTERED], ["", ""])
    assert right > scattered > 0.0


def test_words_of_the_context_count_for_every_line() -> None:
    texts = ["The tank holds two litres.", "The tank of the Umbra holds a litre.", "The Tarn was called back."]
    contexts = ["Manual > Tarn water filter", "Manual > Umbra", "Minutes"]
    shares = shares_in_one_line("How much does the tank of the Tarn hold?", texts, contexts)
    assert shares[0] == max(shares)
    assert shares[0] > shares[1]


def test_the_words_of_two_sentences_do_not_stand_together() -> None:
    one, two = shares_in_one_line("blue kettle", ["A blue kettle boils.", "It is blue. The kettle boils."], ["", ""])
    assert one == 1.0
    assert two < 1.0


def test_a_question_of_stop_words_or_strangers_prefers_nothing() -> None:
    assert shares_in_one_line("who is it", ["Who is it?", "A door."], ["", ""]) == [0.0, 0.0]
    assert shares_in_one_line("zeppelin", ["A door.", "A wall."], ["", ""]) == [0.0, 0.0]
    assert shares_in_one_line("zeppelin", [], []) == []


def test_words_are_compared_by_their_stems_and_without_accents() -> None:
    assert shares_in_one_line("cooling the motors", ["The motor is cooled."], [""]) == [1.0]


def test_numbers_and_dates_count_in_any_notation() -> None:
    texts = ["The transformer takes 230V.", "It takes 400 V. Order 230 of them."]
    assert shares_in_one_line("230 V", texts, ["", ""]) == [1.0, 0.0]
    meetings = ["Minutes > Meeting of 12 January 2025", "Minutes > Meeting of 9 February 2025"]
    shares = shares_in_one_line("treasurer of 2025-01-12", ["Treasurer: Ms Novak"] * 2, meetings)
    assert shares[0] == 1.0
    assert shares[1] < 1.0


def test_sentences_without_spaces_are_lines() -> None:
    one, two = shares_in_one_line("红色水壶", ["红色水壶很好。", "红色。水壶很好。"], ["", ""])
    assert one > two


def test_a_passage_with_few_of_the_words_has_no_share() -> None:
    texts = ["A blue door.", "The blue copper kettle has a lamp."]
    assert shares_in_one_line("blue copper kettle lamp", texts, ["", ""]) == [0.0, 1.0]


def test_signs_and_letters_beyond_ascii_change_no_share() -> None:
    plain = ["The blue kettle costs 12 now.", "A kettle, blue"]
    for sign in ("\u201c", "\u2013", "\u03a9"):
        written = [f"{text} {sign}" for text in plain]
        assert shares_in_one_line("blue kettle", written, ["", ""]) == shares_in_one_line(
            "blue kettle", plain, ["", ""]
        )
