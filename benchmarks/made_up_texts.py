"""Generated texts with word frequencies of natural language, many at once, with numpy alone."""

from collections.abc import Iterator

import numpy as np

_SYLLABLES = [consonant + vowel for consonant in "bdfghklmnprstv" for vowel in "aeiou"]
VOCABULARY = 60_000
WORDS_PER_CHUNK = 150
BATCH = 2000


def vocabulary(seed: int = 20_261_128) -> list[str]:
    """Return words of one to four syllables, most frequent first; some repeat, as homonyms."""
    random = np.random.default_rng(seed)
    lengths = random.integers(2, 5, size=VOCABULARY)
    return ["".join(random.choice(_SYLLABLES, size=length)) for length in lengths]


def texts(count: int, *, seed: int = 3) -> Iterator[str]:
    """Yield texts of about 1,000 characters, the same at every run."""
    words = np.asarray(vocabulary(), dtype=object)
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(2.7, VOCABULARY + 2.7)  # Zipf's law with Mandelbrot's correction
    edges = np.cumsum(shares / shares.sum())
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        drawn = np.searchsorted(edges, random.random((size, WORDS_PER_CHUNK)))
        for row in words[np.minimum(drawn, VOCABULARY - 1)]:
            yield " ".join(row)


def questions(source: list[str], count: int, *, seed: int = 5) -> list[str]:
    """Return questions of eight words from one text each."""
    random = np.random.default_rng(seed)
    asked: list[str] = []
    for _ in range(count):
        words = source[int(random.integers(len(source)))].split()
        asked.append(" ".join(random.choice(words, size=8, replace=False)))
    return asked
