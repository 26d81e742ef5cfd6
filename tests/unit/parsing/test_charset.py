import codecs

import pytest

from analytiq.ingestion.parsing.charset import decode_text

SENTENCES = [
    ("cp1252", "Größe und mehr Wörter. Der Bürgermeister von München überreichte den Schlüssel für die Straße."),
    ("cp1252", "Le café était fermé à Noël. Où sont passés les élèves de l'école ? Ça ne va pas très bien."),
    ("cp1252", "Åsa gick över ån för att köpa räkor. På kvällen åt hon smörgås med skaldjur och drack öl."),
    ("cp1252", "El niño comió una manzana en la montaña. ¿Cómo está usted? Mañana será otro día, señor Núñez."),
    ("cp1252", "The price is £40 – “a bargain”, she said. It’s a short note with typographic quotation marks."),
    ("cp1250", "Zażółć gęślą jaźń. W Szczebrzeszynie chrząszcz brzmi w trzcinie. Łódź jest dużym miastem w Polsce."),
    ("iso8859_2", "Příliš žluťoučký kůň úpěl ďábelské ódy. Praha je hlavní město České republiky na řece Vltavě."),
    ("cp1254", "İstanbul Türkiye'nin en kalabalık şehridir. Çağdaş yaşamı güçlü bir şekilde destekleyen öğrenciler."),
    ("cp1257", "Lietuvos sostinė yra Vilnius. Ąžuolų giraitėje čiulbėjo paukščiai, o žmonės šventė šventes namie."),
    ("cp1251", "Москва является столицей России. Съешь же ещё этих мягких французских булок, да выпей же чаю."),
    ("koi8_r", "Москва является столицей России. Съешь же ещё этих мягких французских булок, да выпей же чаю."),
    ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη της χώρας. Έχει μακρά ιστορία πίσω."),
    (
        "cp932",
        "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で泣いていた。",
    ),
    (
        "euc_jp",
        "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。何でも薄暗いじめじめした所で泣いていた。",
    ),
    (
        "gb18030",
        "维基百科是一个自由内容、公开编辑且多语言的网络百科全书协作计划。通过维基技术使得所有人都可以简单地修改。",
    ),
    (
        "big5",
        "維基百科是一個自由內容、公開編輯且多語言的網路百科全書協作計畫。透過維基技術使得所有人都可以簡單地修改。",
    ),
    (
        "cp949",
        "위키백과는 누구나 자유롭게 쓸 수 있는 다언어판 인터넷 백과사전이다. 대한민국의 수도는 서울이며 인구는 많다.",
    ),
]


@pytest.mark.parametrize(("charset", "sentence"), SENTENCES)
def test_sentence_in_a_national_charset_is_read_without_a_hint(charset: str, sentence: str) -> None:
    assert decode_text(sentence.encode(charset)).text == sentence


@pytest.mark.parametrize(
    ("mark", "charset"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_mark_decides_and_is_dropped(mark: bytes, charset: str) -> None:
    decoded = decode_text(mark + "naïve 文 🎉".encode(charset), hint="cp1252")
    assert decoded.text == "naïve 文 🎉"
    assert decoded.charset == charset


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised_by_its_zeros(charset: str) -> None:
    assert decode_text("Plain words, then naïve ones.".encode(charset)).charset == charset


def test_valid_utf8_wins_over_a_wrong_hint() -> None:
    assert decode_text("Größe".encode(), hint="cp1252").text == "Größe"


def test_hint_is_followed_where_utf8_is_impossible() -> None:
    assert decode_text("Привет".encode("koi8_r"), hint="koi8-r").text == "Привет"


@pytest.mark.parametrize("hint", ["no-such-charset", "hex", "undefined", ""])
def test_hint_that_is_no_charset_is_ignored(hint: str) -> None:
    assert decode_text("Größe".encode("cp1252"), hint=hint).text == "Größe"


def test_single_broken_byte_does_not_turn_utf8_into_another_charset() -> None:
    data = ("Die Größe der Wörter. " * 200).encode()
    decoded = decode_text(data[:-3] + b"\xff" + data[-3:])
    assert decoded.charset == "utf-8"
    assert decoded.text.count("\ufffd") == 1


def test_latin_text_with_a_single_umlaut_is_not_taken_for_broken_utf8() -> None:
    data = ("plain words without accents " * 200 + "Köln").encode("latin-1")
    assert decode_text(data).text.endswith("Köln")


def test_short_latin_text_is_cp1252() -> None:
    assert decode_text("Größe".encode("latin-1")).text == "Größe"


def test_short_japanese_text_that_cp1252_cannot_hold_is_guessed() -> None:
    text = "名前,年齢,住所\r\n佐藤太郎,30,東京\r\n三木英子,25,大阪\r\n髙橋淳,35,名古屋\r\n"
    assert decode_text(text.encode("cp932")).text == text


def test_iso2022_jp_is_not_taken_for_ascii() -> None:
    assert decode_text("こんにちは".encode("iso2022_jp")).text == "こんにちは"


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xfe", b"\x81\x8d\x8f\x90\x9d", bytes(range(256))])
def test_any_bytes_decode_to_something(data: bytes) -> None:
    decode_text(data).text.encode()


SHORT = [
    ("cp1253", "Σύμβαση μίσθωσης"),
    ("cp1255", "שלום עולם"),
    ("cp1255", "הסכם שכירות בתל אביב"),
    ("cp1256", "مرحبا بالعالم"),
    ("mac_roman", "L’été à Montréal coûte 5 €, déjà vu"),
    ("mac_roman", "Die Größe der Wörter über München"),
    ("cp437", "Größe über Maß"),
    ("cp850", "Les élèves étaient très fatigués"),
    ("koi8_r", "Договор аренды склада"),
    ("cp1251", "Привет, мир"),
    ("cp866", "Договор аренды склада"),
    ("gb18030", "合同期限"),
    ("gb18030", "付款方式"),
    ("big5", "合約期限為兩年"),
    ("cp932", "契約期間は二年間"),
    ("euc_jp", "契約期間は二年間"),
    ("cp949", "임대차 계약 기간"),
    ("cp874", "สัญญาเช่ามีอายุสองปี"),
    ("cp1252", "25 °C ± 2"),
    ("cp1252", "ÄRGER MIT ÖL"),
    ("hz", "合同期限为两年"),
]


@pytest.mark.parametrize(("charset", "words"), SHORT)
def test_few_words_are_enough_for_a_guess(charset: str, words: str) -> None:
    assert decode_text(words.encode(charset)).text == words


def test_guess_by_a_small_margin_is_told_with_its_charset() -> None:
    decoded = decode_text("ты".encode("cp1251"))
    assert decoded.charset in decoded.warnings[0]
    assert decode_text("Die Größe der Wörter über München ist schön".encode("cp1252")).warnings == ()
    assert decode_text("Größe".encode()).warnings == ()


def test_file_that_is_mostly_utf8_is_read_line_by_line() -> None:
    lines = ["Straße nach Köln", "plain"] * 50
    data = "\n".join(lines).encode() + "\nGröße auf Französisch: élève".encode("cp1252")
    decoded = decode_text(data)
    assert decoded.text.split("\n") == [*lines, "Größe auf Französisch: élève"]
    assert "1 of 101 lines" in decoded.warnings[0]


@pytest.mark.parametrize("hint", [None, "iso-8859-1", "utf-8", "windows-1252"])
def test_mostly_utf8_is_read_by_lines_whatever_is_declared(hint: str | None) -> None:
    lines = [f"Zeile für {number}".encode() for number in range(20)]
    decoded = decode_text(b"\n".join([*lines, "“Grüße”".encode("cp1252")]), hint=hint)
    assert decoded.text.splitlines()[-2:] == ["Zeile für 19", "“Grüße”"]
    assert decoded.warnings[0].startswith("1 of 21 lines were not UTF-8")


@pytest.mark.parametrize(
    ("declared", "written", "text"),
    [
        ("iso-8859-1", "cp1252", "“It’s” – 5 €"),
        ("gb2312", "gb18030", "朱镕基先生"),
        ("shift_jis", "cp932", "①見積書"),
        ("euc-kr", "cp949", "펲시콜라"),
        ("iso-8859-9", "cp1254", "“İyi”"),
    ],
)
def test_charset_is_the_larger_one_that_programs_mean(declared: str, written: str, text: str) -> None:
    assert decode_text(text.encode(written), hint=declared).text == text
