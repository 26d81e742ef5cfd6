"""An embedder of negligible cost, so that everything else is measured."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from analytiq.inference.embedding.base import BeforeRepeat, InputType, Vectors
from analytiq.inference.embedding.models import ChosenModel, EmbeddingModels
from analytiq.models.organization import Organization
from benchmarks.hash_vectors import hash_vectors

MODEL = "benchmark/hash"


class HashEmbedder:
    """Embeds with vectors of length 1 drawn from a hash of the text: 6 µs each at 384 dimensions; counts the texts."""

    def __init__(self, dimensions: int, *, batch_size: int = 100) -> None:
        self.model = MODEL
        self.batch_size = batch_size
        self.embedded = 0
        self._dimensions = dimensions

    async def embed(
        self, texts: Sequence[str], *, input_type: InputType, before_repeat: BeforeRepeat | None = None
    ) -> Vectors:
        """See `analytiq.inference.embedding.base.Embedder`; questions and passages are embedded alike."""
        del input_type
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> Vectors:
        """Embed synchronously."""
        self.embedded += len(texts)
        return hash_vectors(texts, self._dimensions)


@contextmanager
def every_model_is(embedder: HashEmbedder) -> Generator[None]:
    """Replace every embedding model by this one within the block."""

    async def choose(_self: EmbeddingModels, _organization: Organization, _model: str) -> ChosenModel:
        return ChosenModel(embedder, "global", "")

    with patch.object(EmbeddingModels, "choose", choose):
        yield
