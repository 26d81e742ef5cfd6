import base64
import hashlib
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from analytiq.errors import InvalidInputError, ProviderRefusedError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers import minilm
from analytiq.inference.embedding.providers.idle_release import AfterIdle
from analytiq.inference.embedding.providers.local import LOCAL_DIMENSIONS, LOCAL_MODEL, LocalEmbedder
from analytiq.inference.embedding.providers.wordpiece import WordPiece
from scripts.integer_graph import converted


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder(LOCAL_MODEL, 2)


@pytest.fixture(scope="module")
def words() -> WordPiece:
    return WordPiece()


def shipped_session() -> minilm.MiniLm:
    path = minilm.shipped_model()
    return minilm.MiniLm(minilm._open_session(path.read_bytes(), path.parent))


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


def test_vectors_are_the_same_after_the_memory_of_past_runs_is_released(embedder: LocalEmbedder) -> None:
    texts = ["a short one", "word " * 700]
    before = embedder.embed_texts(texts)
    embedder.release_memory()
    assert np.array_equal(embedder.embed_texts(texts), before)


def test_release_loads_no_model() -> None:
    unused = LocalEmbedder(LOCAL_MODEL)
    unused.release_memory()
    assert unused._loaded is None


def test_action_after_idle_is_called_once_for_each_period() -> None:
    calls: list[int] = []
    called = threading.Event()

    def action() -> None:
        calls.append(1)
        called.set()

    idle = AfterIdle(action, seconds=0.01)
    for period in (1, 2):
        called.clear()
        idle.touch()
        assert called.wait(30)
        assert len(calls) == period


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
    assert hashlib.sha256(minilm.shipped_model().read_bytes()).hexdigest() == minilm._SHA256


def test_converted_model_stays_close_to_the_shipped_one(embedder: LocalEmbedder, words: WordPiece) -> None:
    shipped = shipped_session()
    for text in ("heat transfer in a slip flow", "Die Rechnung ist bezahlt.", "x = [1, 2, 3]; print(x)"):
        reference = shipped.token_sum(words.ids(text))
        assert one(embedder, text) @ reference / np.linalg.norm(reference) > 0.98


@pytest.mark.slow
def test_packaged_graph_is_what_the_script_writes(words: WordPiece) -> None:
    shipped = minilm.shipped_model()
    packaged = onnx.load_model_from_string(minilm.INTEGER_GRAPH.read_bytes())
    metadata = {entry.key: entry.value for entry in packaged.metadata_props}
    written = converted(shipped.read_bytes(), file_name=shipped.name, metadata=metadata)
    assert written == minilm.INTEGER_GRAPH.read_bytes()
    noted = np.frombuffer(base64.b64decode(metadata[minilm.REFERENCE]), dtype=np.float32)
    anew = np.frombuffer(base64.b64decode(minilm.describe_shipped(words)[minilm.REFERENCE]), dtype=np.float32)
    assert np.allclose(noted, anew, atol=1e-5)


def test_weights_behind_a_symbolic_link_are_loaded(
    words: WordPiece, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "linked_weights"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "model.onnx").symlink_to(minilm.shipped_model())
    monkeypatch.syspath_prepend(tmp_path)
    expected = minilm.open_model(words).token_sum([2158])
    monkeypatch.setattr(minilm, "_PACKAGE", package.name)
    assert np.array_equal(minilm.open_model(words).token_sum([2158]), expected)


@pytest.mark.slow
def test_weights_as_shipped_are_used_where_the_converted_ones_do_badly(
    words: WordPiece, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No processor at hand saturates; a demand that no conversion meets has the same effect.
    monkeypatch.setattr(minilm, "_LEAST_COSINE", 1.1)
    fallback = minilm.open_model(words)
    assert np.array_equal(fallback.token_sum([2158]), shipped_session().token_sum([2158]))


def test_missing_weights_are_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ProviderRefusedError, match=r"install analytiq\[local-model\]"):
        one(LocalEmbedder(LOCAL_MODEL), "a cat")


def test_weights_with_another_hash_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_SHA256", "0" * 64)
    with pytest.raises(ProviderRefusedError, match="is expected: reinstall"):
        one(LocalEmbedder(LOCAL_MODEL), "a cat")


def test_other_local_models_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="The only one is 'local/all-minilm-l6-v2'"):
        LocalEmbedder("local/other")
