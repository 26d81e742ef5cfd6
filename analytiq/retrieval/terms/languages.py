"""Language detection for stemming: by script, then by the most frequent words.

Only Latin script is ambiguous. Words of other scripts are stemmed by their script alone.
"""

import re
from collections.abc import Sequence
from functools import cache

FREQUENT = {
    "english": "the of and to in is that it for was on with as are this be by at from or which not have were has an"
    " what how who when where why does did do can will would should their they there these been more",
    "german": "der die und das ist den von zu mit sich des auf für nicht ein eine einer dem im als auch wird werden"
    " bei oder wie was wer welche welcher wann warum wurde war sind hat aus zum zur nach über durch kann noch sie",
    "french": "le la les des et est dans une pour que qui du sur au par pas avec sont ce il elle nous vous cette aux"
    " quel quelle quels comment où quand pourquoi combien ont été se plus leur ou mais",
    "spanish": "el los las del que en y por para con una su se es como más pero sus le este esta entre cuando son"
    " qué cuál cuándo cómo dónde quién fue ha no al lo sobre también desde hasta muy",
    "italian": "il di che e la per un del con non sono della gli una nel alla più dei anche come delle si questo da"
    " chi cosa quando dove perché quanto quale è stato ha lo nella dal al sul",
    "portuguese": "o os as da do que em um uma para com não por mais dos como mas ao das foi ele são sua ou ser quando"
    " é no na nos nas pelo pela qual onde quem também até seu",
    "dutch": "de het een van en in is dat op te zijn met voor niet aan er om ook als bij maar dan naar nog worden door"
    " wat wie hoe waar wanneer waarom welke wordt werd tot uit over heeft",
    "swedish": "och att det som en är på för av med den till inte har jag om ett var vi kan från eller så men hade"
    " vad hur när vem vilken vilka också där efter blev",
    "danish": "og at det er en til på som for med de den af ikke der et har jeg var kan fra eller han vil blev efter"
    " hvad hvor hvornår hvem hvilken hvordan også blive sig ved",
    "norwegian": "og det er som på en av for med at til ikke et har jeg den var de om fra kan men eller ble seg skal"
    " hva hvor når hvem hvilken hvordan også etter være",
    "finnish": "ja on ei se että hän oli mutta kun ovat tai niin joka kuin myös ole sen ollut vain mitä jos minä tämä"
    " mikä missä milloin kuka miten miksi sekä jonka",
    "hungarian": "a az és hogy nem is egy van azt meg ez csak de volt mint el már vagy ki ha még kell lesz minden"
    " mi mikor hol hogyan miért melyik amely után szerint",
    "romanian": "și de în a la cu pe nu este din care o un să mai ce pentru au fi sau dar prin fost după când sunt"
    " cine unde cum cât lui sa al ale",
    "turkish": "ve bir bu için ile da de ne çok daha gibi olarak olan sonra kadar ama var en değil her ya mı ki o"
    " nasıl nerede zaman kim hangi neden mi olduğu",
}
"""Stemmer of a language in Latin script → words that distinguish the language; from general knowledge of each."""

ENGLISH = "english"
STOP_WORDS = {
    ENGLISH: "i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers"
    " herself it its itself they them their theirs themselves what which who whom whose this that these those am is are"
    " was were be been being have has had having do does did doing done a an the and but if or because as until while"
    " of at by for with about against between into through during before after above below to from up down in out on"
    " off over under again further then once here there when where why how all any both each few more most other some"
    " such no nor not only own same so than too very can will shall may might must could would should just now also"
    " upon within without s t d ll m re ve",
    "arabic": "من في على إلى عن ما ماذا هو هي هم أن إن أو و لا لم لن كان كانت هذا هذه ذلك تلك التي الذي الذين كما مع قد"
    " ثم بعد قبل بين كل عند متى أين كيف كم لماذا هل أي حيث منذ خلال حتى أيضا",
    "greek": "ο η το οι τα του της των τον την στο στη στην στον στα και να με για από που είναι δεν θα ως σε ένα μια"
    " τι ποιος ποια πότε πού πώς γιατί",
    "romanian": FREQUENT["romanian"],
    "turkish": FREQUENT["turkish"],
    "tamil": "ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன",
}
"""Replace tantivy's lists, which are short for English (nDCG@10 of Cranfield 0.372 instead of 0.380), and missing
for the others (of XQuAD-ar 0.934 instead of 0.939)."""
MOST_WORDS = 300
"""Most words of a text that are examined."""
FEWEST_MARKS = 2
"""Fewest frequent words that decide: `die` alone is English too."""
_LATIN = re.compile("[a-z\u00df-\u024f]")
_ACCENTED = re.compile("[\u00df-\u024f]")
_OTHER = re.compile(r"[^\W\d_a-z\u00df-\u024f]")


def language_of(words: Sequence[str]) -> str | None:
    """Return the stemmer for a text, by its lower-case words in Latin script.

    Return None if the evidence is too thin, or most of the text is in other scripts.
    """
    sample = words[:MOST_WORDS]
    marks = _languages_of_word()
    counts: dict[str, int] = {}
    for languages in filter(None, map(marks.get, sample)):
        for language in languages:
            counts[language] = counts.get(language, 0) + 1
    most = max(counts.values(), default=0)
    letters = "".join(sample)
    # English has hardly an accent: beside one, a single frequent word of another language decides.
    fewest = 1 if not letters.isascii() and _ACCENTED.search(letters) else FEWEST_MARKS
    if most < fewest or _is_mostly_of_other_scripts(letters):
        return None
    # The order of FREQUENT decides a tie, so that every process answers the same.
    return next(language for language in FREQUENT if counts.get(language) == most)


def _is_mostly_of_other_scripts(letters: str) -> bool:
    return not letters.isascii() and len(_OTHER.findall(letters)) > len(_LATIN.findall(letters))


@cache
def _languages_of_word() -> dict[str, tuple[str, ...]]:
    by_word: dict[str, tuple[str, ...]] = {}
    for language, words in FREQUENT.items():
        for word in set(words.split()):
            by_word[word] = (*by_word.get(word, ()), language)
    return by_word
