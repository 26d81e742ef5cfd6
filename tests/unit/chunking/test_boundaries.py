"""Boundaries of the chunkers, beyond the contract's demands."""

from collections.abc import Sequence

import numpy as np
import pytest

from analytiq.inference.embedding.base import Vectors
from analytiq.inference.tokens import count_tokens
from analytiq.ingestion.chunking.registry import create_chunker
from analytiq.ingestion.chunking.spans import Span, overlapping
from analytiq.models.chunk import Chunk
from analytiq.models.text import unstructured


def chunk(chunker_type: str, text: str, size: int, overlap: int = 0) -> list[Chunk]:
    chunker = create_chunker(chunker_type, chunk_size=size, chunk_overlap=overlap, embed_texts=None)
    return list(chunker.chunk(unstructured(text)))


@pytest.mark.parametrize(
    ("overlap", "exact", "beginning"), [(8, False, "eta theta"), (8, True, "eta eta theta"), (2, False, ". Mu")]
)
def test_overlap_begins_at_a_word_unless_it_is_exact(overlap: int, beginning: str, *, exact: bool) -> None:
    text = "Alpha beta. Gamma delta epsilon zeta eta theta iota kappa lambda. Mu nu xi"
    cut = text.index("Mu")
    spans = [Span(start, end, count_tokens(text[start:end])) for start, end in ((0, cut - 1), (cut, len(text)))]
    _, second = overlapping(text, spans, max_tokens=60, overlap=overlap, exact=exact)
    assert text[second.start : second.end].startswith(beginning)


PARAGRAPHS = "\n\n".join(
    f"Paragraph {number} begins here. It goes on for a while, with clauses; then it ends." for number in range(40)
)


def test_recursive_cuts_between_paragraphs_where_they_fit() -> None:
    for piece in chunk("recursive", PARAGRAPHS, 64):
        assert piece.text.startswith("Paragraph")
        assert piece.text.endswith("it ends.")


def test_sentence_cuts_between_sentences() -> None:
    for piece in chunk("sentence", PARAGRAPHS, 30):
        assert piece.text.endswith(".")


def test_sentence_knows_chinese_full_stops() -> None:
    for piece in chunk("sentence", "我喜欢读书。今天天气很好！你吃饭了吗？" * 20, 40):
        assert piece.text[-1] in "。！？"


def test_word_never_cuts_a_word_that_fits() -> None:
    text = " ".join(f"antidisestablishmentarianism{number}" for number in range(200))
    assert {word for piece in chunk("word", text, 50) for word in piece.text.split()} == set(text.split())


def test_token_fills_its_chunks() -> None:
    chunks = chunk("token", "Some plain English words. " * 500, 100)
    assert all(piece.token_count >= 98 for piece in chunks[:-1])


def test_overlap_begins_with_a_sentence_or_a_word() -> None:
    for chunker_type in ("recursive", "sentence", "word"):
        for piece in chunk(chunker_type, PARAGRAPHS, 64, 24):
            assert piece.start == 0 or PARAGRAPHS[piece.start - 1].isspace()


@pytest.mark.parametrize("chunker_type", ["recursive", "sentence", "token", "word"])
def test_text_that_fits_is_one_chunk_whatever_the_overlap(chunker_type: str) -> None:
    text = "A short text. " * 30
    (only,) = chunk(chunker_type, text, count_tokens(text), count_tokens(text) // 2)
    assert only.text == text.strip()


def test_overlap_of_nearly_the_whole_size_does_not_multiply_the_text_without_bound() -> None:
    text = "Some plain English words. " * 500
    assert sum(piece.token_count for piece in chunk("token", text, 128, 127)) <= 9 * count_tokens(text)


def test_letters_keep_their_marks_and_emoji_stay_whole() -> None:
    family, letter = "👩‍👩‍👧", "e\u0301\u0302"
    for unit in (family, letter, "👍🏽", "\r\n."):
        for piece in chunk("token", unit * 200, 64):
            assert piece.text.replace(unit, "").strip() == "" or unit == "\r\n."
            assert not piece.text.startswith(("\u200d", "\u0301", "\U0001f3fd"))


def test_semantic_cuts_where_the_subject_changes() -> None:
    def embed(texts: Sequence[str]) -> Vectors:
        rows = [[text.count("cat") + 0.01, text.count("stock") + 0.01] for text in texts]
        return np.asarray(rows, dtype=np.float32)

    cats = "The cat sleeps on the mat all day long. " * 12
    stocks = "The stock fell by three percent on Monday. " * 12
    chunker = create_chunker("semantic", chunk_size=2000, chunk_overlap=0, embed_texts=embed)
    chunks = chunker.chunk(unstructured(cats + stocks))
    assert len(chunks) > 1
    # Smoothing over five sentences leaves the cut a sentence or two beside the change.
    assert min(abs(piece.start - len(cats)) for piece in chunks[1:]) <= 2 * len(
        "The cat sleeps on the mat all day long. "
    )
