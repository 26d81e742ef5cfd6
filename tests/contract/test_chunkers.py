"""The contract of `analytiq.ingestion.chunking.base.Chunker`, over every built-in chunker and hostile texts."""

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.inference.embedding.base import Vectors
from analytiq.ingestion.chunking.registry import create_chunker, known_chunkers
from analytiq.models.chunk import Chunk
from analytiq.models.text import unstructured

CHUNKERS = (
    "auto", "code", "page", "qa", "recursive", "row", "sdpm", "section", "semantic", "sentence", "token", "word",
)  # fmt: skip
SIZES = ((4, 0), (5, 4), (16, 6), (64, 0), (64, 63), (512, 128))


def embed_by_words(texts: Sequence[str]) -> Vectors:
    """Vectors in which texts with the same words are close: cheap, deterministic, never zero."""
    vectors = np.full((len(texts), 16), 0.01, dtype=np.float32)
    for row, text in enumerate(texts):
        for word in re.findall(r"\w+", text):
            vectors[row, hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=1).digest()[0] % 16] += 1
    return vectors


@pytest.fixture(scope="session")
def reference_encoding() -> tiktoken.Encoding:
    """cl100k as tiktoken itself builds it, from the file in LiteLLM's wheel."""
    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    with pytest.MonkeyPatch.context() as patch:
        directory = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
        patch.setenv("TIKTOKEN_CACHE_DIR", str(directory))
        return tiktoken.get_encoding("cl100k_base")


def chunk(chunker_type: str, text: str, size: int, overlap: int) -> Sequence[Chunk]:
    chunker = create_chunker(chunker_type, chunk_size=size, chunk_overlap=overlap, embed_texts=embed_by_words)
    return chunker.chunk(unstructured(text))


def check_contract(chunks: Sequence[Chunk], text: str, size: int, encoding: tiktoken.Encoding) -> None:
    covered = bytearray(len(text))
    for index, piece in enumerate(chunks):
        assert piece.chunk_index == index
        assert piece.text == text[piece.start : piece.end]
        assert piece.text.strip()
        # A lone surrogate cannot be written in UTF-8, in which tokens are defined: it counts as U+FFFD.
        readable = re.sub("[\ud800-\udfff]", "\ufffd", piece.text)
        tokens = encoding.encode(readable, disallowed_special=())
        assert piece.token_count == len(tokens) <= size
        covered[piece.start : piece.end] = b"\x01" * (piece.end - piece.start)
    starts = [piece.start for piece in chunks]
    ends = [piece.end for piece in chunks]
    assert starts == sorted(starts)
    assert ends == sorted(set(ends)), "a chunk ends where an earlier one does: it adds nothing"
    assert all(covered[at] or character.isspace() for at, character in enumerate(text))


HOSTILE = st.one_of(
    st.text(st.characters(blacklist_categories=()), max_size=400),
    st.lists(
        st.sampled_from(
            [
                "The cat sat on the mat. ",
                "Is it? Yes! ",
                "\r\n",
                "\r",
                "\n\n\n",
                "\u2029",
                "漢字仮名交じり文です。",
                "한국어 문장. ",
                "👩‍👩‍👧‍👦",
                "👍🏽",
                "e\u0301\u0302\u0303",
                "\x00",
                "\ud800",
                "\udc00",
                "<|endoftext|>",
                "x" * 300,
                "{'a': [1, 2, 3]}; ",
                " ",
                "\u3000",
                "\t",
                "٣.١٤ مرحبا بالعالم؟ ",
                "नमस्ते दुनिया। ",
                "✄",
                "....",
                "1234567890" * 20,
            ]
        ),
        max_size=60,
    ).map("".join),
)


def test_every_built_in_chunker_is_under_this_contract() -> None:
    assert set(CHUNKERS) <= set(known_chunkers())


@pytest.mark.parametrize("chunker_type", CHUNKERS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=HOSTILE, sizes=st.sampled_from(SIZES))
def test_chunks_of_hostile_text_keep_the_contract(
    chunker_type: str, text: str, sizes: tuple[int, int], reference_encoding: tiktoken.Encoding
) -> None:
    size, overlap = sizes
    check_contract(chunk(chunker_type, text, size, overlap), text, size, reference_encoding)


@pytest.mark.parametrize("chunker_type", CHUNKERS)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * 200_000, id="one-word"),
        pytest.param("漢字仮名交" * 20_000, id="cjk-without-punctuation"),
        pytest.param("👩‍👩‍👧" * 10_000, id="joined-emoji"),
        pytest.param("e" + "\u0301" * 50_000, id="one-letter-with-marks"),
        pytest.param("x\n" * 30_000, id="one-letter-lines"),
        pytest.param("word " * 40_000, id="no-sentence"),
        pytest.param("a" + " " * 200_000 + "b", id="blanks-inside"),
        pytest.param("A sentence of words. " * 8_000, id="several-sections"),
    ],
)
def test_chunks_of_long_monotonous_text_keep_the_contract(
    chunker_type: str, text: str, reference_encoding: tiktoken.Encoding
) -> None:
    check_contract(chunk(chunker_type, text, 512, 128), text, 512, reference_encoding)


@pytest.mark.parametrize("chunker_type", CHUNKERS)
@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "\u3000\t\r\n", "\u2029"])
def test_blank_text_gives_no_chunk(chunker_type: str, text: str) -> None:
    assert list(chunk(chunker_type, text, 512, 128)) == []


@pytest.mark.parametrize("chunker_type", CHUNKERS)
def test_the_same_text_is_always_cut_the_same_way(chunker_type: str) -> None:
    text = "Cats purr. Dogs bark! Do fish talk? " * 300
    assert list(chunk(chunker_type, text, 64, 16)) == list(chunk(chunker_type, text, 64, 16))


@pytest.mark.parametrize("chunker_type", CHUNKERS)
def test_neighbours_share_text_up_to_the_overlap(chunker_type: str, reference_encoding: tiktoken.Encoding) -> None:
    text = " ".join(f"Sentence number {number} speaks of subject {number * 7}." for number in range(400))
    chunks = chunk(chunker_type, text, 128, 32)
    shared = [
        len(reference_encoding.encode(text[after.start : before.end]))
        for before, after in pairwise(chunks)
        if after.start < before.end
    ]
    assert len(shared) == len(chunks) - 1
    assert max(shared) <= 32 + 1  # the slice alone may be tokenized with one token more than in its place
    assert min(shared) >= 8


@pytest.mark.parametrize("chunker_type", CHUNKERS)
def test_neighbours_share_nothing_without_overlap(chunker_type: str) -> None:
    chunks = chunk(chunker_type, "One sentence follows another. " * 500, 64, 0)
    assert all(before.end <= after.start for before, after in pairwise(chunks))
