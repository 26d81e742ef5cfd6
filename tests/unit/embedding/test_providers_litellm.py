import base64
import math
import sys
from subprocess import run

import numpy as np
import pytest

from analytiq.errors import DimensionMismatchError, InvalidInputError, TransientError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import (
    EMBEDDING_EXAMPLES,
    LiteLLMEmbedder,
    checked_vectors,
    input_type_parameters,
)
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.settings import EmbeddingSettings
from tests.fakes.credentials import credential_of

# LiteLLM puts imports off to its calls, and pytest has put its own filters in the place of the product's by then.
pytestmark = pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")


def row(index: int | None, embedding: object) -> dict[str, object]:
    return {"embedding": embedding, "index": index, "object": "embedding"}


def check(data: object, count: int, dimensions: int | None = None) -> np.ndarray:
    return checked_vectors(data, count, model="m", dimensions=dimensions)


@pytest.mark.slow
def test_importing_the_provider_does_not_import_litellm() -> None:
    program = (
        "import sys\nimport analytiq.inference.embedding.providers.litellm_provider\n"
        "import analytiq.inference.embedding.providers.local\n"
        "assert not {'litellm', 'onnxruntime', 'onnx', 'openai'} & set(sys.modules)\n"
    )
    result = run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.slow
def test_first_use_of_litellm_opens_no_connection_and_reads_no_file_of_settings() -> None:
    program = (
        "import os, socket, sys, tempfile\n"
        "def refuse(*arguments, **more): raise AssertionError('a connection')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "os.chdir(tempfile.mkdtemp()); open('.env', 'w').write('OPENAI_API_KEY=stray')\n"
        "from analytiq.inference.providers.litellm_module import provider_of\n"
        "assert provider_of('text-embedding-3-small') == 'openai'\n"
        "assert 'OPENAI_API_KEY' not in os.environ\n"
        "import threading; assert threading.active_count() == 1, threading.enumerate()\n"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    result = run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("text-embedding-3-small", "openai"),
        ("text-embedding-3-large", "openai"),
        ("embed-english-v3.0", "cohere"),
        ("embed-multilingual-v3.0", "cohere"),
        ("azure/my-deployment", "azure"),
        ("voyage/voyage-3", "voyage"),
        ("openai/a-model-of-my-own", "openai"),
        ("local/all-minilm-l6-v2", "local"),
    ],
)
def test_provider_follows_from_the_model(model: str, provider: str) -> None:
    assert provider_of(model) == provider


@pytest.mark.parametrize("model", ["no-such-model", "nonsense/model"])
def test_model_without_provider_is_refused_with_examples(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidInputError, match="Examples are text-embedding-3-small") as caught:
        provider_of(model, examples=EMBEDDING_EXAMPLES)
    assert caught.value.errors[0].field == "embedding_model"
    assert repr(model) in caught.value.detail
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("embed-english-v3.0", {"input_type": "search_query"}, {"input_type": "search_document"}),
        ("cohere/embed-v4.0", {"input_type": "search_query"}, {"input_type": "search_document"}),
        ("embed-english-v2.0", {}, {}),
        ("voyage/voyage-3", {"input_type": "query"}, {"input_type": "document"}),
        ("jina_ai/jina-embeddings-v3", {"task": "retrieval.query"}, {"task": "retrieval.passage"}),
        ("jina_ai/jina-embeddings-v2-base-en", {}, {}),
        ("nvidia_nim/nvidia/nv-embedqa-e5-v5", {"input_type": "query"}, {"input_type": "passage"}),
        ("text-embedding-3-small", {}, {}),
        ("mistral/mistral-embed", {}, {}),
    ],
)
def test_input_type_goes_to_models_that_have_it_only(
    model: str, query: dict[str, str], document: dict[str, str]
) -> None:
    provider = provider_of(model)
    assert input_type_parameters(provider, model, InputType.QUERY) == query
    assert input_type_parameters(provider, model, InputType.DOCUMENT) == document


def test_answer_is_put_in_the_order_of_its_indexes() -> None:
    vectors = check([row(1, [3.0, 4.0]), row(0, [1.0, 2.0])], 2)
    assert vectors.tolist() == [[1, 2], [3, 4]]
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous


def test_answer_without_indexes_keeps_its_order() -> None:
    assert check([row(None, [1.0]), row(None, [2.0])], 2).tolist() == [[1], [2]]


def test_answer_in_base64_is_read() -> None:
    content = base64.b64encode(np.asarray([1.5, -2.5], dtype="<f4").tobytes()).decode()
    assert check([row(0, content)], 1).tolist() == [[1.5, -2.5]]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="nothing"),
        pytest.param([], id="empty"),
        pytest.param([row(0, [1.0])], id="too few"),
        pytest.param([row(0, [1.0]), row(1, [1.0]), row(2, [1.0])], id="too many"),
        pytest.param([row(0, [1.0]), row(0, [2.0])], id="index twice"),
        pytest.param([row(0, [1.0]), row(2, [2.0])], id="index out of range"),
        pytest.param([row(0, [1.0]), row(None, [2.0])], id="index missing"),
        pytest.param([row(0, [1.0]), row(1, [1.0, 2.0])], id="unequal lengths"),
        pytest.param([row(0, []), row(1, [])], id="no dimensions"),
        pytest.param([row(0, [1.0]), row(1, [math.nan])], id="NaN"),
        pytest.param([row(0, [1.0]), row(1, [math.inf])], id="infinite"),
        pytest.param([row(0, [1.0]), row(1, [1e300])], id="too large"),
        pytest.param([row(0, [1.0, 0.0]), row(1, [0.0, 0.0])], id="zero vector"),
        pytest.param([row(0, [1.0]), row(1, None)], id="no vector"),
        pytest.param([row(0, [1.0]), row(1, ["x"])], id="no numbers"),
        pytest.param([row(0, [[1.0]]), row(1, [[1.0]])], id="nested"),
        pytest.param([row(0, "!"), row(1, "!")], id="no base64"),
    ],
)
def test_malformed_answer_is_refused_whole(data: object) -> None:
    with pytest.raises(TransientError) as caught:
        check(data, 2)
    assert caught.value.code == "malformed_answer"


def test_answer_of_other_dimensions_than_asked_for_is_a_mismatch() -> None:
    with pytest.raises(DimensionMismatchError, match="2 dimensions where 3"):
        check([row(0, [1.0, 2.0])], 1, 3)


async def test_empty_and_oversized_batches_are_refused_before_a_call() -> None:
    embedder = LiteLLMEmbedder("text-embedding-3-small", credential_of("k"), EmbeddingSettings(batch_size=2))
    for texts in ([], ["a", "b", "c"]):
        with pytest.raises(InvalidInputError, match="1 to 2"):
            await embedder.embed(texts, input_type=InputType.DOCUMENT)
