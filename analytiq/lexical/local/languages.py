"""Which language a text is in, as far as stemming needs to know: by script, then by its most frequent words."""

import re
from functools import cache

_SCRIPTS = {
    "arabic": re.compile("[\u0600-\u06ff]"),
    "russian": re.compile("[\u0400-\u04ff]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "tamil": re.compile("[\u0b80-\u0bff]"),
}
"""Script → the language whose stemmer is taken for it."""
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")

MARKERS = {
    "english": "the of and to in is that it for was on with as are this be by at from or which not have were has an",
    "german": "der die und das ist den von zu mit sich des auf für nicht ein eine dem im als auch wird werden bei oder",
    "french": "le la les des et est dans une pour que qui du sur au par pas avec sont ce il elle nous vous cette aux",
    "spanish": "el los las del que en y por para con una su se es como más pero sus le ya este esta entre cuando son",
    "italian": "il di che e la per un del con non sono della gli una nel alla più dei anche come delle si questo da",
    "portuguese": "o os as da do que em um uma para com não por mais dos como mas ao das foi ele são sua ou ser quando",
    "dutch": "de het een van en in is dat op te zijn met voor niet aan er om ook als bij maar dan naar nog worden door",
    "swedish": "och att det som en är på för av med den till inte har jag om ett var vi kan från eller så men hade",
    "danish": "og at det er en til på som for med de den af ikke der et har jeg var kan fra eller han vil blev efter",
    "norwegian": "og det er som på en av for med at til ikke et har jeg den var de om fra kan men eller ble seg skal",
    "finnish": "ja on ei se että hän oli mutta kun ovat tai niin joka kuin myös ole sen ollut vain mitä jos minä tämä",
    "hungarian": "a az és hogy nem is egy van azt meg ez csak de volt mint el már vagy ki ha még kell lesz minden",
    "romanian": "și de în a la cu pe nu este din care o un să mai ce pentru au fi sau dar prin fost după când sunt",
    "turkish": "ve bir bu için ile da de ne çok daha gibi olarak olan sonra kadar ama var en değil her ya mı ki o",
}
"""Stemmer → words that tell the language: frequent ones, written from general knowledge of each."""
ENGLISH = "english"
MOST_WORDS = 200
"""Of a text that are looked at."""
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The stemmer for a text; English where nothing tells."""
    script = _script_of(text)
    if script is not None:
        return script
    words = [word.lower() for word in _WORD.findall(text[: MOST_WORDS * 12])[:MOST_WORDS]]
    counts: dict[str, int] = {}
    markers = _languages_of_marker()
    for word in words:
        for language in markers.get(word, ()):
            counts[language] = counts.get(language, 0) + 1
    if not counts:
        return ENGLISH
    # English wins a tie: it is what a text of names and numbers most often is.
    return max(counts, key=lambda language: (counts[language], language == ENGLISH))


def _script_of(text: str) -> str | None:
    """The language that is told by its script alone, where most letters are of it."""
    sample = text[:2000]
    latin = len(_LATIN.findall(sample))
    counted = {language: len(letters.findall(sample)) for language, letters in _SCRIPTS.items()}
    language = max(counted, key=lambda name: counted[name])
    return language if counted[language] > latin else None


@cache
def _languages_of_marker() -> dict[str, list[str]]:
    by_word: dict[str, list[str]] = {}
    for language, words in MARKERS.items():
        for word in words.split():
            by_word.setdefault(word, []).append(language)
    return by_word
