"""Scores of charsets of scripts other than Latin: how much the bytes, read so, look like a language of the script.

The scores lie between 0 and 1, so that readings by different charsets compare. A text of a few words is enough: a
wrong reading has letters in unusual places and of unusual frequency.
"""

from collections import Counter

_ALPHABETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Russian": ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёієїґ", ("cp1251", "koi8_r", "koi8_u", "cp866", "iso8859_5")),
    "Greek": ("αοιετσνηυρπκμλςωδίγχόάθέφήβξύζώψϊϋΐΰ", ("cp1253", "iso8859_7")),
    "Hebrew": ("יוהלאתרבמשנדעחקפםכןגטצזסךףץ", ("cp1255", "iso8859_8")),
    "Arabic": ("ايلمونترةبعدسفهكقحجأشصىخطضإذغءزثظئآؤپچژگ", ("cp1256", "iso8859_6")),
}
"""Letters of a language, the most frequent first, and its charsets, in order of preference."""
_THAI = "cp874"
_THAI_MARKS = frozenset("ัิีึืฺุูํ็่้๊๋์")
_THAI_LEADING = frozenset("เแโใไ")
_THAI_RARE = frozenset("ฃฅฆฌฎฏฑฒฤฦฯ๎๏๚๛")
_MEAN, _RANGE = 0.5, 0.22
"""Frequency rank of random letters, and how much more texts of the language have."""
MOST = 1.3
"""Highest score, so that two readings of frequent letters still differ."""
_FINALS, _FINALS_WEIGHT = frozenset("םןךףץ"), 0.3
"""Hebrew letters that end words."""
_SIGNS = frozenset("«»“”‘’–—…№·„‚°§€\xa0\xad©®™±")

_COMMON_CHARACTERS = {
    "gb18030": "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后"
    "作里用道行"
    "所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日"
    "军者意无力它与"
    "长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什"
    "二等产或新己制"
    "身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几"
    "口认条平系气题"
    "活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保"
    "至队形社便空决"
    "约限租付款方日止终签甲乙双货价单号收证书银费",
    "big5": "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後"
    "作里用道行"
    "所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日"
    "軍者意無力它與"
    "長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應戰向頭文體政美相見被利什"
    "二等產或新己制"
    "約限租付款合期止終簽雙貨價單號收證書銀費式份自動續",
    "cp949": "이다는을의가에하고은를로기지사한도리인자해어시으아그서니라대나만스전수보정있제구일부여게과상원되"
    "면고요주들았었습"
    "모동국성관와장년것안적신계약경선조공진화우세비용위생실학분문무",
}
"""The frequent characters of Chinese and Korean, in any order."""
_KANA = frozenset(map(chr, range(0x3041, 0x30FF)))
_SHARE_OF_COMMON = 0.35
"""Share of frequent characters from which a text has its full score."""
_PUNCTUATION = frozenset("，。、；：？！「」『』（）《》〈〉【】・ー　～…—“”‘’％")


def script_scores(sample: bytes, high_bytes: Counter[tuple[int, int, int]]) -> dict[str, float]:
    """Return the score of each charset; `high_bytes` are the sample's with the bytes before and after them."""
    scores: dict[str, float] = {}
    for letters, charsets in _ALPHABETS.values():
        for charset in charsets:
            scores[charset] = _alphabet_score(high_bytes, charset, letters)
    text = sample.decode(_THAI, errors="replace")
    scores[_THAI] = _thai_score(text)
    for charset in ("gb18030", "big5", "cp949", "cp932", "euc_jp"):
        text = sample.decode(charset, errors="replace")
        scores[charset] = _ideographic_score(text, charset)
    return scores


def _alphabet_score(high_bytes: Counter[tuple[int, int, int]], charset: str, letters: str) -> float:
    table = [bytes([code]).decode(charset, errors="replace") for code in range(256)]
    ranks = {letter: 1 - place / len(letters) for place, letter in enumerate(letters)}
    good = known = total = finals = 0.0
    for (before, code, after), count in high_bytes.items():
        character = table[code]
        total += count
        lower = character.lower()
        neighbours = table[before], table[after]
        if lower in ranks:
            is_odd = any(each.isascii() and each.isalpha() for each in neighbours)
            is_odd = is_odd or (character != lower and neighbours[0] != neighbours[0].upper())
            if character in _FINALS:
                finals += count if not neighbours[1].isalpha() else -count
            if not is_odd:
                good += ranks[lower] * count
                known += count
        elif character in _SIGNS and not (neighbours[0].isalpha() and neighbours[1].isalpha()):
            total -= 0.8 * count
    if not known or not total:
        return 0.0
    usual = (good / known - _MEAN) / _RANGE + (_FINALS_WEIGHT if finals > 1 else 0.0)
    return min(max(usual, 0.0), MOST) * min(known / total, 1.0) ** 2


def _thai_score(text: str) -> float:
    total, good = 0, 0.0
    for before, character, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if character.isascii():
            continue
        total += 1
        if character == "\ufffd":
            good -= 2
        if character in _THAI_RARE or not "\u0e01" <= character <= "\u0e5b":
            continue
        if character in _THAI_MARKS:
            good += 1 if "\u0e01" <= before <= "\u0e2e" or before in _THAI_MARKS else -2
        elif character in _THAI_LEADING:
            good += 1 if "\u0e01" <= after <= "\u0e2e" else -2
        elif not (before.isascii() and before.isalpha()):
            good += 1
    return max(good / total, 0.0) if total else 0.0


def _ideographic_score(text: str, charset: str) -> float:
    common = _COMMON_SETS.get(charset, _KANA)
    total, good, frequent = 0, 0.0, 0
    for before, character, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if character.isascii() or character in _PUNCTUATION:
            continue
        total += 1
        if _is_letter(before) and _is_letter(after):
            continue  # alone within a Latin word
        if character in common:
            frequent += 1
            good += 1
        elif _is_usual(character, charset):
            good += 1
        elif character == "\ufffd":
            good -= 2
    if not total:
        return 0.0
    return max(good / total, 0.0) * (0.55 + 0.45 * min(frequent / total / _SHARE_OF_COMMON, 1.0))


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _is_usual(character: str, charset: str) -> bool:
    """Return True for the characters of the charset's first level, which texts consist of."""
    if character == "\ufffd":
        return False
    try:
        first = character.encode(charset)
    except UnicodeEncodeError:
        return False
    if len(first) != 2:
        return False
    lead, trail = first
    match charset:
        case "gb18030":
            return 0xB0 <= lead <= 0xD7 and trail >= 0xA1
        case "big5":
            return 0xA4 <= lead <= 0xC6
        case "cp949":
            return 0xB0 <= lead <= 0xC8 and trail >= 0xA1
        case "cp932":
            return 0x88 <= lead <= 0x97
        case _:
            return 0xB0 <= lead <= 0xCF


_COMMON_SETS = {charset: frozenset(characters) for charset, characters in _COMMON_CHARACTERS.items()}
