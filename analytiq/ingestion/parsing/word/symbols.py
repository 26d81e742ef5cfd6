"""Characters of the symbol fonts, which store signs under the codes of other characters."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_UPPER_HALF = "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
_SYMBOL = {
    **dict(zip(_LETTERS, _GREEK, strict=True)),
    **dict(zip("\x22$'*-@\\^~\xf1\xf2", "∀∃∋∗−≅∴⊥∼〉∫", strict=True)),
    **dict(zip(map(chr, range(0xA1, 0xE6)), _UPPER_HALF, strict=True)),
}
_WINGDINGS = dict(
    zip(
        "\x22()*EFGHJKLlnopqruv\x9f\xa7\xa8\xd8\xdf\xe0\xe1\xe2\xe8\xef\xf0\xfb\xfc\xfd\xfe",
        "✂☎✆✉☜☞☝☟☺😐☹●■□❐❑❒◆❖•▪☐➢←→↑↓➔⇦⇨✗✓☒☑",
        strict=True,
    )
)
_WINGDINGS_2 = dict(zip("OPQRSTU\xa3\x9f\x96", "✗✓☒☑☒☒☒☐••", strict=True))
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2, "webdings": {"a": "✓", "c": "☐"}}

_PRIVATE = 0xF000
_PRIVATE_END = 0xF100


def symbol_of(code: str, font: str) -> str:
    """Return the sign that `w:sym` shows, "" for a picture without a character."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    if not 0 < number <= 0xFFFD or 0xD800 <= number < 0xE000:
        return ""
    return shown_sign(chr(number), font)


def shown_sign(sign: str, font: str) -> str:
    """Return the sign that a character of a font shows."""
    signs = _FONTS.get(font.lower())
    number = ord(sign)
    plain = chr(number - _PRIVATE) if _PRIVATE <= number < _PRIVATE_END else sign
    if signs is not None:
        found = signs.get(plain)
        is_text = signs is _SYMBOL and plain.isascii()
        return found if found is not None else plain if is_text else ""
    return sign if plain == sign else ""


def shown_text(text: str, font: str) -> str:
    """Return a text in a symbol font as it is shown, where its characters are of the font's private area."""
    if font.lower() not in _FONTS or text.isascii():
        return text
    return "".join(shown_sign(sign, font) if _PRIVATE <= ord(sign) < _PRIVATE_END else sign for sign in text)
