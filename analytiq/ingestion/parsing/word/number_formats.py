"""Numbers of lists as Word writes them, by the name of their format."""

from collections.abc import Callable

_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_MOST_ROMAN = 3999
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_KATAKANA = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_IROHA = "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン"
_GANADA = "가나다라마바사아자차카타파하"
_HEBREW = "אבגדהוזחטיכלמנסעפצקרשת"
_ARABIC = "أبتثجحخدذرزسشصضطظعغفقكلمنهوي"
_ABJAD = "أبجدهوزحطيكلمنسعفصقرشتثخذضظغ"
_THAI = "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ"
_HEAVENLY = "甲乙丙丁戊己庚辛壬癸"
_EARTHLY = "子丑寅卯辰巳午未申酉戌亥"
_CHINESE_DIGITS = "〇一二三四五六七八九"
_KOREAN_DIGITS = "영일이삼사오육칠팔구"
_CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_ONES = _CARDINALS.split()
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_ENDS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_MOST_REPEATS = 10


def formatted(number: int, kind: str) -> str:
    """Return a number in a format of `w:numFmt`; in digits if the format or the number is out of its reach."""
    form = _FORMATS.get(kind)
    return (form(number) if form and number > 0 else "") or str(number)


def roman(number: int) -> str:
    """Return a number in small Roman letters."""
    if not 0 < number <= _MOST_ROMAN:
        return ""
    letters = ""
    for value, sign in _ROMAN:
        count, number = divmod(number, value)
        letters += sign * count
    return letters


def _repeated(alphabet: str) -> Callable[[int], str]:
    """Count a, b … z, aa, bb, as Word does."""

    def form(number: int) -> str:
        repeats, index = divmod(number - 1, len(alphabet))
        return alphabet[index] * (repeats + 1) if repeats < _MOST_REPEATS else ""

    return form


def _cyclic(alphabet: str) -> Callable[[int], str]:
    return lambda number: alphabet[(number - 1) % len(alphabet)]


def _upper(form: Callable[[int], str]) -> Callable[[int], str]:
    return lambda number: form(number).upper()


def _positional(digits: str) -> Callable[[int], str]:
    return lambda number: "".join(digits[int(digit)] for digit in str(number))


def _chinese_counting(number: int) -> str:
    """Return 十, 二十三, 一百零五 and so on, below ten thousand."""
    if number >= 10_000:
        return ""
    written, rest = "", number
    for value, unit in ((1000, "千"), (100, "百"), (10, "十")):
        digit, rest = divmod(rest, value)
        if digit:
            written += _CHINESE_DIGITS[digit] + unit
        elif written and rest and not written.endswith("零"):
            written += "零"
    written += _CHINESE_DIGITS[rest] if rest else ""
    return written.removeprefix("一") if 10 <= number < 20 else written


def _enclosed(number: int) -> str:
    return chr(0x2460 + number - 1) if number <= 20 else ""


def _cardinal(number: int) -> str:
    if number < 20:
        return _ONES[number]
    tens, rest = divmod(number, 10)
    if number < 100:
        return _TENS[tens] + (f"-{_ONES[rest]}" if rest else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" {_cardinal(rest)}" if rest else "") if number < 1000 else ""


def _ordinal_words(number: int) -> str:
    words = _cardinal(number)
    head, separator, last = words.rpartition("-") if "-" in words else words.rpartition(" ")
    if not last:
        return ""
    end = _ORDINAL_ENDS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return f"{head}{separator}{end}"


def _ordinal(number: int) -> str:
    if number % 100 in {11, 12, 13}:
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def _padded(width: int) -> Callable[[int], str]:
    return lambda number: str(number).zfill(width)


_FORMATS: dict[str, Callable[[int], str]] = {
    "decimalZero": _padded(2),
    "01, 02, 03, ...": _padded(2),
    "001, 002, 003, ...": _padded(3),
    "0001, 0002, 0003, ...": _padded(4),
    "00001, 00002, 00003, ...": _padded(5),
    "lowerLetter": _repeated(_LATIN),
    "upperLetter": _repeated(_LATIN.upper()),
    "lowerRoman": roman,
    "upperRoman": _upper(roman),
    "ordinal": _ordinal,
    "cardinalText": lambda number: _cardinal(number).capitalize(),
    "ordinalText": lambda number: _ordinal_words(number).capitalize(),
    "russianLower": _repeated(_RUSSIAN),
    "russianUpper": _repeated(_RUSSIAN.upper()),
    "aiueo": _cyclic(_KATAKANA),
    "aiueoFullWidth": _cyclic(_KATAKANA),
    "iroha": _cyclic(_IROHA),
    "irohaFullWidth": _cyclic(_IROHA),
    "ganada": _cyclic(_GANADA),
    "hebrew2": _repeated(_HEBREW),
    "arabicAlpha": _repeated(_ARABIC),
    "arabicAbjad": _repeated(_ABJAD),
    "thaiLetters": _repeated(_THAI),
    "thaiNumbers": _positional("๐๑๒๓๔๕๖๗๘๙"),
    "hindiNumbers": _positional("०१२३४५६७८९"),
    "decimalFullWidth": _positional("０１２３４５６７８９"),
    "decimalFullWidth2": _positional("０１２３４５６７８９"),
    "decimalEnclosedCircle": _enclosed,
    "decimalEnclosedCircleChinese": _enclosed,
    "decimalEnclosedParen": lambda number: f"({number})",
    "decimalEnclosedFullstop": lambda number: f"{number}.",
    "numberInDash": lambda number: f"- {number} -",
    "chineseCounting": _chinese_counting,
    "chineseCountingThousand": _chinese_counting,
    "taiwaneseCounting": _chinese_counting,
    "taiwaneseCountingThousand": _chinese_counting,
    "japaneseCounting": _chinese_counting,
    "ideographDigital": _positional(_CHINESE_DIGITS),
    "japaneseDigitalTenThousand": _positional(_CHINESE_DIGITS),
    "taiwaneseDigital": _positional(_CHINESE_DIGITS),
    "koreanDigital": _positional(_KOREAN_DIGITS),
    "ideographTraditional": _cyclic(_HEAVENLY),
    "ideographZodiac": _cyclic(_EARTHLY),
}
