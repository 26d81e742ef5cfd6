import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from analytiq.errors import InvalidInputError, ProviderRefusedError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers import minilm
from analytiq.inference.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL, LocalEmbedder
from analytiq.inference.embedding.providers.wordpiece import WordPiece


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="module")
def embedder(cache: Path) -> LocalEmbedder:
    return LocalEmbedder(LOCAL_MODEL, cache, 2)


@pytest.fixture(scope="module")
def words() -> WordPiece:
    return WordPiece()


def one(embedder: LocalEmbedder, text: str) -> NDArray[np.float32]:
    return embedder.embed_texts([text])[0]


def test_vectors_are_of_length_one(embedder: LocalEmbedder) -> None:
    vectors = embedder.embed_texts(["a cat", "", "漢字", "\x00", "word " * 2000, "\ud800", "[CLS] [SEP]"])
    assert vectors.shape == (7, LOCAL_DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: LocalEmbedder) -> None:
    assert embedder.embed_texts([]).shape == (0, LOCAL_DIMENSIONS)


def test_meaning_counts_more_than_words(embedder: LocalEmbedder) -> None:
    question, right, wrong = embedder.embed_texts(
        [
            "When must the bill be paid?",
            "Payment of the invoice is due within thirty days.",
            "The bill of the duck must be wide to catch its prey.",
        ]
    )
    assert question @ right > question @ wrong


async def test_vector_does_not_depend_on_the_texts_beside_it(embedder: LocalEmbedder) -> None:
    texts = ["a short one", "word " * 700, "another of a middling length " * 12, "a short one"]
    together = await embedder.embed(texts, input_type=InputType.DOCUMENT)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(vector, one(embedder, text))


def test_text_longer_than_the_window_is_read_to_its_end(embedder: LocalEmbedder) -> None:
    filler = "Rain fell on the quiet town and nothing happened. " * 60
    ending = "Quantum entanglement links the spins of distant electrons. " * 20
    plain, mixed, physics = embedder.embed_texts([filler, filler + ending, ending])
    assert mixed @ physics > plain @ physics + 0.1


def test_window_that_is_just_full_is_one_window(embedder: LocalEmbedder, words: WordPiece) -> None:
    full = "cat " * minilm.CONTENT_TOKENS
    assert len(words.ids(full)) == minilm.CONTENT_TOKENS
    assert len(embedder._slices([full])[0]) == 1
    windows = [window for part in embedder._slices([full + "cat"]) for window in part]
    assert [len(window.token_ids) for window in windows] == [127, 128]


def test_special_tokens_in_a_text_are_ordinary_text(words: WordPiece) -> None:
    assert not {101, 102} & set(words.ids("ignore [CLS] and [SEP]"))


def test_token_ids_are_those_of_bert(words: WordPiece) -> None:
    assert list(words.ids("Hello, world!")) == [7592, 1010, 2088, 999]
    assert list(words.ids("Café embeddings")) == [7668, 7861, 8270, 4667, 2015]


def test_shipped_weights_are_the_ones_that_are_pinned() -> None:
    assert hashlib.sha256(minilm._shipped_weights()).hexdigest() == minilm._SHA256


def test_converted_model_stays_close_to_the_shipped_one(embedder: LocalEmbedder, words: WordPiece) -> None:
    shipped = minilm.MiniLm(minilm._open_session(minilm._shipped_weights()))
    for text in ("heat transfer in a slip flow", "Die Rechnung ist bezahlt.", "x = [1, 2, 3]; print(x)"):
        reference = shipped.token_sum(words.ids(text))
        assert one(embedder, text) @ reference / np.linalg.norm(reference) > 0.98


def test_converted_model_is_cached_and_nothing_else(embedder: LocalEmbedder, cache: Path) -> None:
    one(embedder, "load")
    (only,) = cache.iterdir()
    assert only.name == minilm._CONVERTED_NAME


def test_cached_model_is_used_at_the_next_start(
    embedder: LocalEmbedder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = one(embedder, "a cat")

    def refuse(*_: object) -> bytes:
        raise AssertionError("converted again")

    monkeypatch.setattr(minilm, "_convert_and_describe", refuse)
    second = LocalEmbedder(LOCAL_MODEL, cache)
    assert np.array_equal(one(second, "a cat"), expected)
    second.close()


@pytest.mark.parametrize("content", [b"", b"not a model", None])
def test_damaged_cache_is_replaced(content: bytes | None, embedder: LocalEmbedder, cache: Path, tmp_path: Path) -> None:
    expected = one(embedder, "a cat")
    whole = (cache / minilm._CONVERTED_NAME).read_bytes()
    damaged = tmp_path / minilm._CONVERTED_NAME
    damaged.write_bytes(whole[: len(whole) // 2] if content is None else content)
    second = LocalEmbedder(LOCAL_MODEL, tmp_path)
    assert np.array_equal(one(second, "a cat"), expected)
    assert len(damaged.read_bytes()) == len(whole)
    second.close()


def test_model_works_where_the_cache_cannot_be_written(embedder: LocalEmbedder, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a directory")
    second = LocalEmbedder(LOCAL_MODEL, file)
    assert np.array_equal(one(second, "a cat"), one(embedder, "a cat"))
    second.close()


def test_weights_as_shipped_are_used_where_the_converted_ones_do_badly(
    cache: Path, tmp_path: Path, words: WordPiece, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No processor at hand saturates; a demand that no conversion meets has the same effect.
    monkeypatch.setattr(minilm, "_LEAST_COSINE", 1.1)
    shutil.copy(cache / minilm._CONVERTED_NAME, tmp_path)
    fallback = minilm.open_model(tmp_path, words)
    shipped = minilm.MiniLm(minilm._open_session(minilm._shipped_weights()))
    assert np.array_equal(fallback.token_sum([2158]), shipped.token_sum([2158]))


def test_missing_weights_are_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ProviderRefusedError, match=r"install analytiq\[local-model\]"):
        one(LocalEmbedder(LOCAL_MODEL, tmp_path), "a cat")


def test_weights_with_another_hash_are_not_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(minilm, "_SHA256", "0" * 64)
    with pytest.raises(ProviderRefusedError, match="is expected: reinstall"):
        one(LocalEmbedder(LOCAL_MODEL, tmp_path), "a cat")


def test_other_local_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is 'local/all-minilm-l6-v2'"):
        LocalEmbedder("local/other", tmp_path)
