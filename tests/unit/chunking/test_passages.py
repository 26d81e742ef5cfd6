"""Passages: texts that are one chunk with any settings."""

import pytest

from analytiq.ingestion.chunking.index_types import chunks_of_types
from analytiq.ingestion.parsing.plain_text import passage_pages, plain_pages
from analytiq.models.flaws import FlawKind
from analytiq.models.index_types import Chunking, IndexType, index_type_at
from analytiq.models.text import DocumentText, join_pages

ANSWER = "\n\n".join(
    f"Step {number}. Turn valve {number} until the pressure falls.\f\n- Note {number}." for number in range(90)
)
TEXT = f"How is the pump emptied?\n\n{ANSWER}"
ALL_TYPES = tuple(IndexType)


def passage(text: str = TEXT) -> DocumentText:
    return join_pages(passage_pages(text))


@pytest.mark.parametrize(
    "chunker_type", ["auto", "code", "page", "qa", "recursive", "row", "sentence", "token", "word"]
)
def test_passage_is_one_chunk_with_any_chunker_and_size(chunker_type: str) -> None:
    chunking = Chunking(chunker_type, 64, 16)
    text = passage()
    (chunk,) = chunks_of_types(text, chunking, (), embed_texts=None)
    assert (chunk.text, chunk.start, chunk.end) == (text.text, 0, len(text.text))
    assert chunk.token_count > 1000
    assert len(chunks_of_types(join_pages(plain_pages(TEXT)), chunking, (), embed_texts=None)) > 1


def test_passage_is_one_chunk_of_each_index_type() -> None:
    chunks = chunks_of_types(passage(), Chunking("recursive", 64, 0, index_types=ALL_TYPES), (), embed_texts=None)
    assert [index_type_at(chunk.chunk_index) for chunk in chunks] == list(ALL_TYPES)


def test_passage_that_a_model_cannot_read_at_once_is_cut_and_nothing_is_lost() -> None:
    text = passage()
    chunks = chunks_of_types(text, Chunking("recursive", 64, 0, longest_chunk=500), (), embed_texts=None)
    assert len(chunks) > 1
    assert all(64 < chunk.token_count <= 500 for chunk in chunks[:-1])
    assert all(text.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text.text.split())


def test_blank_passage_has_no_chunk() -> None:
    text = passage(" \n\n ")
    assert not text.is_passage
    assert chunks_of_types(text, Chunking("recursive", 64, 0), (), embed_texts=None) == []


def test_text_of_paragraphs_is_no_passage() -> None:
    assert not join_pages(plain_pages("One paragraph.")).is_passage


def test_skipped_flaws_are_left_out_of_a_passage() -> None:
    assert chunks_of_types(passage(), Chunking("recursive", 64, 0), tuple(FlawKind), embed_texts=None)
