import pytest
from chonkie import SentenceChunker

from analytiq.errors import InvalidInputError
from analytiq.ingestion.chunking import registry
from analytiq.ingestion.chunking.base import Chunker
from analytiq.ingestion.chunking.registry import (
    DEFAULT_CHUNKER,
    MAX_CHUNK_SIZE,
    check_chunking,
    create_chunker,
    known_chunkers,
    needs_embeddings,
)
from analytiq.ingestion.chunking.span_chunker import SpanChunker
from analytiq.models.text import unstructured


def make(chunker_type: str, size: int = 512, overlap: int = 128) -> Chunker:
    return create_chunker(chunker_type, chunk_size=size, chunk_overlap=overlap, embed_texts=None)


def fields(error: InvalidInputError) -> set[str]:
    return {entry.field for entry in error.errors}


def test_names_of_the_design_are_known() -> None:
    assert {
        "token",
        "word",
        "sentence",
        "recursive",
        "semantic",
        "sdpm",
        "section",
        "row",
        "code",
        "page",
        "qa",
        "auto",
    } <= set(known_chunkers())
    assert DEFAULT_CHUNKER in known_chunkers()


def test_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"Unknown chunker 'fast'\. Known chunkers: .*recursive") as caught:
        make("fast")
    assert fields(caught.value) == {"chunker_type"}


def test_late_is_refused_with_the_reason_and_the_alternative() -> None:
    with pytest.raises(InvalidInputError, match=r"late chunking is not available.*'recursive'"):
        make("late")


@pytest.mark.parametrize("size", [-1, 0, 3, MAX_CHUNK_SIZE + 1])
def test_size_out_of_bounds_is_refused(size: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make("recursive", size, 0)
    assert fields(caught.value) == {"chunk_size"}


@pytest.mark.parametrize("overlap", [-1, 64, 65])
def test_overlap_out_of_bounds_is_refused(overlap: int) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make("token", 64, overlap)
    assert fields(caught.value) == {"chunk_overlap"}


def test_all_wrong_fields_are_named_at_once() -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_chunking("nothing", chunk_size=0, chunk_overlap=-1)
    assert fields(caught.value) == {"chunker_type", "chunk_size", "chunk_overlap"}


@pytest.mark.parametrize("chunker_type", ["semantic", "sdpm"])
def test_chunkers_by_meaning_need_an_embedding_function(chunker_type: str) -> None:
    assert needs_embeddings(chunker_type)
    with pytest.raises(InvalidInputError, match="needs an embedding function"):
        make(chunker_type)


def test_chunkers_by_text_need_none() -> None:
    assert not any(needs_embeddings(name) for name in ("token", "word", "sentence", "recursive"))


def test_entry_point_of_another_package_becomes_a_chunker(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int]] = []

    def create(*, chunk_size: int, chunk_overlap: int, embed_texts: object) -> SpanChunker:
        made.append((chunk_size, chunk_overlap))
        return SpanChunker(lambda text: [(0, len(text))], chunk_size=chunk_size, chunk_overlap=chunk_overlap)

    class Point:
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> object:
            return create

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point("stanzas"), Point("recursive")])
    assert "stanzas" in known_chunkers()
    assert make("stanzas", 100, 10).chunk(unstructured("a line"))[0].text == "a line"
    assert make("recursive", 100, 10).chunk(unstructured("a line"))[0].text == "a line"
    assert made == [(100, 10)], "a third party's entry point took the place of a built-in chunker"


def test_chonkie_still_needs_its_chunks_cut_again() -> None:
    # Should this fail after an update of Chonkie, `SpanChunker` may have less to do.
    long = "word " * 3000
    chunks = SentenceChunker(tokenizer="character", chunk_size=100).chunk(long)
    assert max(len(chunk.text) for chunk in chunks) > 100


@pytest.mark.parametrize(("chunker_type", "level"), [("section", 7), ("section", -1), ("recursive", 2), ("page", 1)])
def test_section_level_is_of_sections_and_from_1_to_6(chunker_type: str, level: int) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_chunking(chunker_type, chunk_size=512, chunk_overlap=0, section_level=level)
    assert [error.field for error in refused.value.errors] == ["section_level"]
