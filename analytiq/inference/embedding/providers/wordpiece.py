"""The WordPiece tokenizer of all-MiniLM-L6-v2: lower case, accents stripped, BERT's vocabulary."""

import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from analytiq.errors import ProviderRefusedError

START_TOKEN = 101
"""`[CLS]`, the first of every input of the model."""
END_TOKEN = 102
"""`[SEP]`, the last."""

_VOCABULARY = "bert_uncased_vocabulary.txt"
_VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
UNKNOWN = "[UNK]"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class WordPiece:
    """A tokenizer from text to token ids, without special tokens; safe to use from several threads.

    A text that spells `[CLS]` or `[SEP]` gets the ids of the letters, never a special token: a document cannot steer
    the model by its text.
    """

    def __init__(self) -> None:
        content = (files("analytiq.inference.embedding.providers") / "data" / _VOCABULARY).read_bytes()
        if hashlib.sha256(content).hexdigest() != _VOCABULARY_SHA256:
            raise ProviderRefusedError(f"{_VOCABULARY} is damaged: reinstall the package analytiq.")
        vocabulary = {token: number for number, token in enumerate(content.decode("utf-8").split("\n")[:-1])}
        # A word of more than 100 characters is one unknown token, in the model's training too.
        self._tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=100))
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def ids(self, text: str) -> Sequence[int]:
        """Return the token ids of a whole text of any length.

        Each call takes one text: the library's batches start threads of its own, which warn in every forked child.
        """
        return self._tokenizer.encode(_LONE_SURROGATE.sub("\ufffd", text), add_special_tokens=False).ids

    def known_share(self, text: str) -> float:
        """Return the share of letters and digits, from 0 to 1, in words of one token; 1 for a text without any.

        Single characters beyond ASCII do not count as known: the vocabulary has those of many scripts, for languages
        that the model never learnt.
        """
        plain = _LONE_SURROGATE.sub("\ufffd", text)
        encoded = self._tokenizer.encode(plain, add_special_tokens=False)
        spans: dict[int | None, list[tuple[str, int, int]]] = {}
        for token, word, (start, end) in zip(encoded.tokens, encoded.word_ids, encoded.offsets, strict=True):
            spans.setdefault(word, []).append((token, start, end))
        known = total = 0
        for tokens in spans.values():
            word = plain[tokens[0][1] : tokens[-1][2]]
            if any(character.isalnum() for character in word):
                is_known = len(tokens) == 1 and tokens[0][0] != UNKNOWN and (len(word) > 1 or word.isascii())
                known += len(word) if is_known else 0
                total += len(word)
        return known / total if total else 1.0
