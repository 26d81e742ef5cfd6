"""The quality gate finds text that does not read as its page does, and leaves everything else alone."""

import base64
import codecs
import hashlib
import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytiq.ingestion.quality.counting import flaw_counts
from analytiq.ingestion.quality.judging import flaws_of, judged
from analytiq.ingestion.quality.telling import flaw_warnings
from analytiq.models.blocks import Block, BlockKind
from analytiq.models.flaws import FlawKind
from analytiq.models.text import ParsedDocument, ParsedPage, TextSource, join_pages
from analytiq.storage.repositories.stored_flaws import packed_flaws, unpacked_flaws
from analytiq.storage.repositories.texts import text_hash

PROSE = (
    "The pump starts when the pressure in the tank falls below two bar, and it stops when the valve at the inlet is"
    " closed. Before any work on the motor, disconnect the supply and wait until the display has gone dark. The"
    " technician signs the report, and a copy of the report stays with the machine for as long as it is in service."
)
HEBREW = "מסמך זה נועד לכל העובדים. הם צריכים לקרוא אותו ולהבין את כל הסעיפים, אין יוצאים מן הכלל. בברכה, ההנהלה."
ARABIC = "يجب قراءة هذه الوثيقة قبل بداية العمل، وهي متاحة على موقع الشركة. تبقى النسخة الورقية لدى المدرسة والجامعة."
RUSSIAN = "Документы компании за прошлый год, которые были подписаны директором, хранятся в архиве десять лет."
CRAMPED = base64.b64encode(hashlib.sha512(b"x").digest() * 8).decode()
SOUP = (
    "~ ,.;- '_ |: ¥ §° a. e ,- ~ ‘| ;; .-,_ \\/ ^ ° » i. —_ ,' “ l: ; ., ~~ § I| *' -. _ ¢ ) ( ,, i; ” ... ® |_ .: -~ '"
)


def _kinds(text: str) -> set[FlawKind]:
    return {flaw.kind for flaw in flaws_of(ParsedPage(1, text))}


def _lines(text: str, width: int = 76) -> str:
    return "\n".join(text[start : start + width] for start in range(0, len(text), width))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("".join(chr(0xF000 + ord(letter)) for letter in PROSE), FlawKind.NOISE),
        ("\ufffd" * 60 + PROSE[:80], FlawKind.NOISE),
        (" ".join(f"(cid:{number})" for number in range(60)), FlawKind.NOISE),
        (SOUP, FlawKind.NOISE),
        (codecs.encode(PROSE, "rot13"), FlawKind.NOISE),
        ("".join(chr(ord(letter) - 29) for letter in PROSE if ord(letter) - 29 > 0x20), FlawKind.NOISE),
        (PROSE.translate(str.maketrans("aeiouthnrs", "xqzkvwfjpg")), FlawKind.NOISE),
        (RUSSIAN.encode().decode("latin-1"), FlawKind.MISDECODED),
        (RUSSIAN.encode().decode("cp1251", errors="ignore"), FlawKind.MISDECODED),
        (RUSSIAN.encode("cp1251").decode("cp1252"), FlawKind.MISDECODED),
        ("Le cafÃ© est fermÃ© jusqu’Ã\xa0 demain.".replace("’", "â€™"), FlawKind.MISDECODED),
        ("CafÃƒÂ© and crÃƒÂ¨me", FlawKind.MISDECODED),
        ("The caf√© and the cr√®me", FlawKind.MISDECODED),
        ("The caf├⌐ and the cr├¿me", FlawKind.MISDECODED),
        ("それは日本語です。".encode().decode("latin-1"), FlawKind.MISDECODED),
        (CRAMPED, FlawKind.MACHINE_TEXT),
        (_lines(CRAMPED), FlawKind.MACHINE_TEXT),
        (f"<img src='data:image/png;base64,{CRAMPED}'>", FlawKind.MACHINE_TEXT),
        (base64.b64encode(PROSE.encode()).decode(), FlawKind.MACHINE_TEXT),
        (f"-----BEGIN CERTIFICATE-----\n{_lines('MIIC' * 10)}\n-----END CERTIFICATE-----", FlawKind.MACHINE_TEXT),
        (PROSE.encode().hex(), FlawKind.MACHINE_TEXT),
        (
            "\n".join(
                f"{at:08x}: {PROSE[at : at + 16].encode().hex(' ', 2)}  {PROSE[at : at + 16]}"
                for at in range(0, 240, 16)
            ),
            FlawKind.MACHINE_TEXT,
        ),
        ("\n".join(hashlib.md5(bytes([n])).hexdigest() for n in range(40)), FlawKind.MACHINE_TEXT),  # noqa: S324
        ("!function(e,t){var n=e.a;return n&&t(n)};" * 30, FlawKind.MACHINE_TEXT),
        (HEBREW[::-1], FlawKind.VISUAL_ORDER),
        (ARABIC[::-1], FlawKind.VISUAL_ORDER),
        (" ".join(word[::-1] for word in HEBREW.split()), FlawKind.VISUAL_ORDER),
    ],
)
def test_flaw_is_found(text: str, kind: FlawKind) -> None:
    assert _kinds(text) == {kind}


@pytest.mark.parametrize(
    "text",
    [
        "",
        PROSE,
        PROSE.upper(),
        HEBREW,
        ARABIC,
        RUSSIAN,
        "ประเทศไทยมีประชากรประมาณเจ็ดสิบล้านคน และมีกรุงเทพมหานครเป็นเมืองหลวงซึ่งเป็นศูนย์กลางทางเศรษฐกิจของประเทศ",
        "東京都の人口は約千四百万人で、日本の首都である。多くの企業の本社が置かれており、経済の中心となっている。",
        "भारत एक विशाल देश है, जिसकी राजधानी नई दिल्ली है। यहाँ अनेक भाषाएँ बोली जाती हैं और संस्कृति बहुत समृद्ध है।",
        "Príliš žluťoučký kůň úpěl ďábelské ódy. Čtvrtek, zmrzl, scvrnkl, vlk a krk: strč prst skrz krk a prohnětl.",
        "Tiếng Việt là ngôn ngữ chính thức của đất nước, được hơn chín mươi triệu người sử dụng mỗi ngày ở khắp nơi.",
        "Hann á að fá það á þriðjudaginn, sagði hún, en ég held að þetta sé ekki rétt og við þurfum að bíða lengur.",
        "| Nr. | Part |\n|---|---|\n" + "".join(f"| {n} | XK-{n * 7919} | {n}.{n:02} € |\n" for n in range(40)),
        "\n".join(f"{n * 1.5:.4f}\t{n * n}\t{n / 7:.3e}" for n in range(60)),
        "DE89 3704 0044 0532 0130 00\nGB82 WEST 1234 5698 7654 32\nFR14 2004 1010 0505 0001 3M02 606\n" * 6,
        "ATGGCCATTGTAATGGGCCGCTGAAAGGGTGCCCGATAG" * 12,
        "1 gatcctccat atacaacggt atctccacct caggtttaga tctcaacaac\n" * 8,
        "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVV" * 4,
        "CC(=O)OC1=CC=CC=C1C(=O)O\nCN1C=NC2=C1C(=O)N(C(=O)N2C)C\nC1=CC=C(C=C1)C(=O)O\n" * 5,
        "2024-03-05T10:22:31.123Z ERROR [http-nio-8080-exec-3] c.a.s.Api - GET /v1/items/42 -> 500 (31 ms)\n" * 8,
        'def f(x: int) -> dict[str, int]:\n    return {"a": x << 2, "b": (x & 0xFF) | ~x}\n\n\nassert f(1)\n' * 5,
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7",
        "┌──────┬──────┐\n│ Name │ Size │\n├──────┼──────┤\n│ Pump │ 1    │\n└──────┴──────┘\n" * 4,
        "Name: ____________________  Date: ______________\n\nSignature: ........................................ " * 3,
        "The key sk_live_51H8xYzKjN2mP4qR7sT9uV1wX3yZ5 and the hash d41d8cd98f00b204e9800998ecf8427e are examples.",
        "/usr/share/projects/documentation/reference/architecture/decisions/records/of/the/platform/index " * 4,
        "An article on charsets: the é of café, the ü of Zürich and the ß of Straße turn into Ã©, Ã¼ and ÃŸ.",
        "« CAFÉ » – l’été, où l’on naît : forma d’ús, c’était “éternel” et “âgé”, à l’œuvre d’à côté…",
        "🙂🙂🙂 ✓ ✓ ✗ ★★★★☆ ♥ → ← ⇒ • ● ■ □ ▲ ☎ ✉ ☀ ☂ ☃ ♠ ♣ ♦ ♩ ♪ ♫ © ® ™ 🚀🚀🚀 👍👍👍 🎉🎉🎉",
    ],
)
def test_readable_text_has_no_flaw(text: str) -> None:
    assert _kinds(text) == set()


def test_code_is_no_noise() -> None:
    """Patterns and escapes are what a source file means to say."""
    page = ParsedPage(1, SOUP)
    assert {flaw.kind for flaw in flaws_of(page)} == {FlawKind.NOISE}
    assert flaws_of(replace(page, blocks=(Block(BlockKind.CODE, 0, len(SOUP)),))) == ()


def test_flaw_covers_its_paragraph_and_not_its_neighbours() -> None:
    noise = codecs.encode(PROSE, "rot13")
    text = f"{PROSE}\n\n{noise}\n\n{PROSE}"
    (flaw,) = flaws_of(ParsedPage(1, text))
    assert text[flaw.start : flaw.end].strip() == noise


def test_base64_within_a_line_covers_its_own_characters() -> None:
    text = f"{PROSE} [logo]: data:image/png;base64,{CRAMPED} {PROSE}"
    (flaw,) = flaws_of(ParsedPage(1, text))
    assert text[flaw.start : flaw.end] == CRAMPED


def test_picture_without_text_is_told_once() -> None:
    pages = (ParsedPage(1, PROSE), ParsedPage(2, "", TextSource.OCR), ParsedPage(3, "", TextSource.NEEDS_OCR))
    text = join_pages(judged(ParsedDocument(pages)).pages)
    assert [flaw.kind for flaw in text.flaws] == [FlawKind.NOT_READ, FlawKind.NOT_READ]
    assert flaw_warnings(text) == [
        "Page 2 shows a picture or a drawing, and no text was found. Compare with the original."
    ]


def test_warnings_name_pages_reasons_and_the_next_step() -> None:
    noise = "".join(chr(0xF000 + ord(letter)) for letter in PROSE)
    text = join_pages(judged(ParsedDocument((ParsedPage(1, PROSE), ParsedPage(2, noise), ParsedPage(3, noise)))).pages)
    assert [text.text[flaw.start : flaw.end] for flaw in text.flaws] == [noise, noise]
    assert flaw_warnings(text) == [
        "Pages 2-3 are unreadable: the font has no map to Unicode. Upload a copy with readable text."
    ]


def test_warning_of_a_text_without_pages_names_characters() -> None:
    text = join_pages(judged(ParsedDocument((ParsedPage(1, f"{PROSE} {CRAMPED} {PROSE}"),))).pages)
    (warning,) = flaw_warnings(text)
    assert warning.startswith(
        f"{len(CRAMPED):,} of {len(text.text):,} characters, from character {len(PROSE) + 1:,} on"
    )


@given(
    st.lists(st.sampled_from([PROSE, HEBREW[::-1], CRAMPED, SOUP, "\n\n", "ok", RUSSIAN.encode().decode("latin-1")]))
)
@settings(deadline=None)
def test_flaws_are_ranges_in_order_without_overlap(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    flaws = flaws_of(ParsedPage(1, text))
    assert all(0 <= flaw.start < flaw.end <= len(text) for flaw in flaws)
    assert all(one.end <= following.start for one, following in pairwise(flaws))


@given(st.text())
@settings(deadline=None)
def test_any_text_is_judged(text: str) -> None:
    assert all(text[flaw.start : flaw.end] for flaw in flaws_of(ParsedPage(1, text)))


def test_shuffled_letters_of_prose_are_found_where_they_cannot_be_pronounced() -> None:
    letters = list("abcdefghijklmnopqrstuvwxyz")
    random.Random(3).shuffle(letters)
    vowels_last = "".join(sorted(letters, key=lambda letter: letter in "aeiouy"))
    text = PROSE.translate(str.maketrans("etaoinshrdlcumwfgypbvkjxqz", vowels_last))
    assert _kinds(text) == {FlawKind.NOISE}


def test_flaws_are_counted_by_kind_with_their_words_and_pages() -> None:
    sound, noise = "Pumps move water. " * 20, "(cid:3)(cid:7) (cid:9)(cid:11) (cid:2)(cid:5) " * 6
    pages = tuple(ParsedPage(number, page) for number, page in enumerate((sound, noise, noise), 1))
    text = join_pages(judged(ParsedDocument(pages)).pages)
    counts = [(count.kind, count.word_count, count.page_count) for count in flaw_counts(text)]
    assert counts == [(FlawKind.NOISE, 36, 2)]
    assert unpacked_flaws(packed_flaws(text.flaws)) == text.flaws
    assert text_hash(text) != text_hash(replace(text, flaws=()))


def test_pages_of_a_pdf_with_unreadable_text_of_their_own_are_advised_to_be_read_by_ocr() -> None:
    noise = "(cid:3)(cid:7) (cid:9)(cid:11) (cid:2)(cid:5) " * 6
    for source, advice in (
        (TextSource.EMBEDDED, "Read this page by OCR, or upload a copy with readable text."),
        (TextSource.OCR, "Upload a copy with readable text."),
    ):
        text = join_pages(judged(ParsedDocument((ParsedPage(1, noise, source),))).pages)
        assert flaw_warnings(text, is_pdf=True)[0].endswith(advice)
        assert flaw_warnings(text)[0].endswith(". Upload a copy with readable text.")


@pytest.mark.parametrize(
    "flawed",
    [
        "Ð¿Ñ€Ð¸Ð²ÐµÑ‚ Ð´Ñ€ÑƒÐ·ÑŒÑ " * 12,
        "(cid:3)(cid:7) (cid:9)(cid:11) (cid:2)(cid:5) " * 6,
    ],
)
def test_short_sound_paragraph_beside_a_flaw_is_no_part_of_it(flawed: str) -> None:
    sound = "Kind regards from the workshop on the hill, and do call us."
    text = f"{sound}\n\n{flawed}\n"
    (flaw,) = flaws_of(ParsedPage(1, text))
    assert text[flaw.start : flaw.end].strip() == flawed.strip()


@pytest.mark.parametrize("distance", range(1, 26))
def test_every_shift_of_the_alphabet_is_seen(distance: int) -> None:
    alphabet = {first + place: first + (place + distance) % 26 for first in (65, 97) for place in range(26)}

    assert _kinds(PROSE.translate(alphabet)) == {FlawKind.NOISE}


@pytest.mark.parametrize("distance", [*range(-31, -24), *range(1, 5)])
def test_every_shift_of_codes_is_seen(distance: int) -> None:
    shifted = {code: code + distance for code in range(0x40, 0x7B)}

    assert _kinds(PROSE.translate(shifted)) == {FlawKind.NOISE}


@pytest.mark.parametrize(
    "machine",
    [
        CRAMPED[:201],
        hashlib.sha512(b"y").hexdigest() * 2,
        " ".join(f"{byte:02x}" for byte in hashlib.sha512(b"z").digest() * 2),
        " ".join(hashlib.md5(bytes([number]), usedforsecurity=False).hexdigest() for number in range(20)),
    ],
)
def test_machine_text_is_seen_wherever_it_begins(machine: str) -> None:
    sentence = "We saw the log of it. " * 12

    assert {
        start
        for start in range(1, 211)
        if FlawKind.MACHINE_TEXT not in _kinds(f"{sentence[:start]} {machine} . {PROSE}")
    } == set()
