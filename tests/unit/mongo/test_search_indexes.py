"""Comparison of a server's index with the wanted one."""

import copy
from typing import Any

import pytest

from analytiq.errors import InvalidInputError
from analytiq.storage.search.indexes import SearchIndex, SearchIndexState, serves, vector_index, word_index

VECTORS, WORDS = vector_index(8, "none"), word_index()


def state(index: SearchIndex, definition: Any) -> SearchIndexState:
    return SearchIndexState(index.name, "READY", is_queryable=True, definition=definition, detail="")


def changed(index: SearchIndex) -> Any:
    return copy.deepcopy(dict(index.definition))


def test_what_was_asked_for_is_what_is_wanted() -> None:
    assert serves(state(VECTORS, changed(VECTORS)), VECTORS)
    assert serves(state(WORDS, changed(WORDS)), WORDS)


def test_defaults_may_be_left_out_and_more_may_be_told() -> None:
    vectors, words = changed(VECTORS), changed(WORDS)
    del vectors["fields"][0]["quantization"]
    vectors["fields"][0]["indexingMethod"] = "hnsw"
    vectors["fields"].reverse()
    del words["mappings"]["dynamic"]
    words["storedSource"] = False
    assert serves(state(VECTORS, vectors), VECTORS)
    assert serves(state(WORDS, words), WORDS)


def test_another_quantization_dimension_field_or_analyzer_is_another_index() -> None:
    scalar = vector_index(8, "scalar")
    assert not serves(state(VECTORS, changed(VECTORS)), scalar)
    assert not serves(state(VECTORS, changed(scalar)), VECTORS)
    assert not serves(state(VECTORS, changed(vector_index(16, "none"))), VECTORS)
    fewer = changed(VECTORS)
    del fewer["fields"][-1]
    assert not serves(state(VECTORS, fewer), VECTORS)
    words = changed(WORDS)
    words["mappings"]["fields"]["chunk_text"]["analyzer"] = "lucene.standard"
    assert not serves(state(WORDS, words), WORDS)
    assert not serves(state(WORDS, {}), WORDS)


def test_what_the_server_cannot_index_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidInputError, match=r"at most 8192\. Choose another model"):
        vector_index(8193, "none")
    with pytest.raises(InvalidInputError, match="a multiple of 8"):
        vector_index(12, "binary")
    assert vector_index(16, "binary").definition["fields"][0]["quantization"] == "binary"
