"""The local embedding model: no key, no network, English.

For other languages choose a provider's multilingual model, for example `embed-multilingual-v3.0` (Cohere),
`text-embedding-3-small` (OpenAI), or any on an OpenAI-compatible server of your own.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytiq.errors import InvalidInputError
from analytiq.inference.embedding.base import BeforeRepeat, InputType, Vectors
from analytiq.inference.embedding.providers.idle_release import AfterIdle
from analytiq.inference.embedding.providers.minilm import CONTENT_TOKENS, DIMENSIONS, MiniLm, open_model
from analytiq.inference.embedding.providers.wordpiece import WordPiece

LOCAL_MODEL = "local/all-minilm-l6-v2"
LOCAL_DIMENSIONS = DIMENSIONS

# Two windows, about 25 ms of work. A caller's next slice is queued when its last is done, so that a query
# waits for one slice of each indexing job in flight, not for a batch of a hundred passages.
_SLICE_TOKENS = 2 * CONTENT_TOKENS

IDLE_SECONDS = 20.0
"""Seconds without a text after which the memory of past computations is given back."""


@dataclass(frozen=True, slots=True)
class _Window:
    text_index: int
    token_ids: Sequence[int]


_Sums = list[tuple[int, NDArray[np.float32]]]
"""For each window of a slice: the index of its text, and the sum of its token vectors."""


class LocalEmbedder:
    """all-MiniLM-L6-v2 in this process: 384 dimensions, a window of 256 tokens.

    A longer text is read in windows of equal length and gets the mean over the tokens of all of them: nothing
    is cut off. A vector depends on the text alone, never on other texts of the call; vectors have length 1.

    Args of the constructor:
        model: `local/all-minilm-l6-v2`.
        threads: the number of windows computed concurrently, each on one core.
        batch_size: the most texts of one call.
    """

    def __init__(self, model: str, threads: int = 1, *, batch_size: int = 100) -> None:
        if model != LOCAL_MODEL:
            raise InvalidInputError.of_field(
                "embedding_model", f"Unknown local model {model!r}. The only one is {LOCAL_MODEL!r}."
            )
        self.model = model
        self.batch_size = batch_size
        self.dimensions = DIMENSIONS
        self._threads = threads
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="local-embedding")
        self._lock = threading.Lock()
        self._words: WordPiece | None = None
        self._loaded: tuple[WordPiece, MiniLm] | None = None
        self._idle = AfterIdle(self.release_memory, seconds=IDLE_SECONDS)

    async def embed(
        self, texts: Sequence[str], *, input_type: InputType, before_repeat: BeforeRepeat | None = None
    ) -> Vectors:
        """Embed texts, shape (len(texts), 384), off the event loop; the model is loaded at the first call.

        This model embeds questions and passages alike.

        Raises:
            ProviderRefusedError: the weights are missing or damaged.
        """
        loop = asyncio.get_running_loop()
        slices = await asyncio.to_thread(self._slices, texts)
        remaining = iter(enumerate(slices))
        results: list[_Sums] = [[] for _ in slices]

        async def lane() -> None:
            for position, part in remaining:
                results[position] = await loop.run_in_executor(self._pool, self._run, part)

        await asyncio.gather(*(lane() for _ in range(self._threads)))
        return _pooled(results, len(texts))

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Embed any number of texts, as `embed` does, for callers in their own thread; blocking."""
        results: list[_Sums] = []
        running: deque[Future[_Sums]] = deque()
        for part in self._slices(texts):
            if len(running) == self._threads:
                results.append(running.popleft().result())
            running.append(self._pool.submit(self._run, part))
        results.extend(future.result() for future in running)
        return _pooled(results, len(texts))

    def token_vectors(self, text: str) -> Vectors:
        """Return the output vectors of a text's own tokens, shape (tokens, 384), not normalised; blocking."""
        words, model = self._load()
        self._idle.touch()
        parts = [model.token_vectors(window.token_ids) for window in _windows(0, words.ids(text))]
        return np.concatenate(parts)

    @property
    def has_tokenizer(self) -> bool:
        """Return True once the tokenizer is loaded, so that `known_share` waits for nothing."""
        return self._words is not None

    def known_share(self, text: str) -> float:
        """Return the share of a text's letters, from 0 to 1, in words the model knows whole.

        Takes 0.05 ms for a question once the tokenizer is loaded; loading it blocks.
        """
        words = self._words
        if words is None:
            with self._lock:
                words = self._word_piece()
        return words.known_share(text)

    def release_memory(self) -> None:
        """Give back the memory of past computations, in milliseconds; the loaded model stays."""
        with self._lock:
            loaded = self._loaded
        if loaded is not None:
            loaded[1].release_memory()

    def close(self) -> None:
        """End the threads after their running work; the embedder is unusable afterwards."""
        self._idle.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _slices(self, texts: Sequence[str]) -> list[list[_Window]]:
        words, _ = self._load()
        self._idle.touch()
        return list(_sliced(window for index, text in enumerate(texts) for window in _windows(index, words.ids(text))))

    def _run(self, windows: Sequence[_Window]) -> _Sums:
        _, model = self._load()
        self._idle.touch()
        return [(window.text_index, model.token_sum(window.token_ids)) for window in windows]

    def _load(self) -> tuple[WordPiece, MiniLm]:
        with self._lock:
            if self._loaded is None:
                words = self._word_piece()
                self._loaded = words, open_model(words)
            return self._loaded

    def _word_piece(self) -> WordPiece:
        """Load the tokenizer, with the lock held; without the model that takes a tenth of the time."""
        if self._words is None:
            self._words = WordPiece()
        return self._words


def _windows(text_index: int, token_ids: Sequence[int]) -> Iterator[_Window]:
    """Split into windows of equal length: a short last one would lack context."""
    count = max(1, -(-len(token_ids) // CONTENT_TOKENS))
    for number in range(count):
        first, last = len(token_ids) * number // count, len(token_ids) * (number + 1) // count
        yield _Window(text_index, token_ids[first:last])


def _sliced(windows: Iterable[_Window]) -> Iterator[list[_Window]]:
    part: list[_Window] = []
    tokens = 0
    for window in windows:
        part.append(window)
        tokens += len(window.token_ids)
        if tokens >= _SLICE_TOKENS:
            yield part
            part, tokens = [], 0
    if part:
        yield part


def _pooled(results: Iterable[_Sums], count: int) -> Vectors:
    """Sum over all tokens of a text: the mean has the same direction, and vectors are normalised.

    Sum in the order of the windows, not of their completion: float sums depend on the order.
    """
    vectors = np.zeros((count, DIMENSIONS), dtype=np.float32)
    for sums in results:
        for text_index, window_sum in sums:
            vectors[text_index] += window_sum
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
