"""The contract of `analytiq.inference.embedding.base.Embedder`: the local model, and LiteLLM over real HTTP.

The provider is `tests.fakes.embedding_server`: it speaks OpenAI's protocol, so what is tested is the road
through LiteLLM and OpenAI's client, not a provider.
"""

import asyncio
import time
from collections.abc import Iterator
from typing import cast

import numpy as np
import pytest

from analytiq.errors import (
    CallRefusedError,
    DimensionMismatchError,
    ProviderRefusedError,
    ProviderUnavailableError,
    RateLimitedError,
    TransientError,
)
from analytiq.inference.embedding.base import Embedder, InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.inference.embedding.providers.local import LOCAL_MODEL, LocalEmbedder
from analytiq.inference.providers import litellm_module
from analytiq.settings import EmbeddingSettings
from tests.fakes.credentials import credential_of
from tests.fakes.embedding_server import EmbeddingServer, Failure, Reply, http_date

# LiteLLM puts imports off to its calls, and pytest has put its own filters in the place of the product's by then.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

MALFORMED = (
    Failure.TOO_FEW,
    Failure.UNEQUAL,
    Failure.NOT_A_NUMBER,
    Failure.ZERO,
    Failure.WRONG_INDEX,
    Failure.NOT_JSON,
    Failure.EMPTY,
)
TEXTS = ["The cat sleeps.", "漢字仮名", "👩‍👩‍👧", "<|endoftext|>", "a\x00b", "word " * 900]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer(extra_fields=["input_type"]) as running:
        yield running


@pytest.fixture(scope="module")
def local() -> Iterator[LocalEmbedder]:
    embedder = LocalEmbedder(LOCAL_MODEL)
    yield embedder
    embedder.close()


def hosted(server: EmbeddingServer, **options: object) -> LiteLLMEmbedder:
    api_key = str(options.pop("api_key", server.api_key))
    dimensions = cast("int | None", options.pop("dimensions", None))
    settings = EmbeddingSettings.model_validate(options)
    return LiteLLMEmbedder("openai/fake-embedding", credential_of(api_key, server.url), settings, dimensions=dimensions)


@pytest.fixture(params=["local", "hosted"])
def embedder(request: pytest.FixtureRequest, local: LocalEmbedder, server: EmbeddingServer) -> Embedder:
    return local if request.param == "local" else hosted(server)


async def document(embedder: Embedder, *texts: str) -> np.ndarray:
    return await embedder.embed(texts, input_type=InputType.DOCUMENT)


async def test_one_finite_vector_comes_for_each_text_in_order(embedder: Embedder) -> None:
    together = await document(embedder, *TEXTS)
    assert together.dtype == np.float32
    assert together.flags.c_contiguous
    assert together.shape[0] == len(TEXTS)
    assert np.isfinite(together).all()
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.allclose((await document(embedder, text))[0], vector, atol=1e-6)


async def test_questions_and_passages_have_the_same_dimensions(embedder: Embedder) -> None:
    question = await embedder.embed(["who?"], input_type=InputType.QUERY)
    assert question.shape == (await document(embedder, "he")).shape


async def test_a_full_batch_is_taken(embedder: Embedder) -> None:
    vectors = await document(embedder, *(f"text {number}" for number in range(embedder.batch_size)))
    assert len(vectors) == embedder.batch_size


async def test_the_event_loop_runs_on_meanwhile(embedder: Embedder) -> None:
    ticks = 0
    work = asyncio.create_task(document(embedder, *TEXTS * 4))
    while not work.done():
        ticks += 1
        await asyncio.sleep(0)
    assert ticks > 3


async def test_calls_at_the_same_time_do_not_mix(embedder: Embedder) -> None:
    alone = [await document(embedder, text) for text in TEXTS]
    together = await asyncio.gather(*(document(embedder, text) for text in TEXTS))
    for expected, found in zip(alone, together, strict=True):
        assert np.allclose(expected, found, atol=1e-6)


async def test_cancelled_local_call_leaves_the_embedder_usable(local: LocalEmbedder) -> None:
    work = asyncio.create_task(document(local, *["word " * 900] * 50))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await document(local, "still here")).shape == (1, 384)


@pytest.mark.parametrize("failure", [Failure.RATE_LIMITED, Failure.UNAVAILABLE])
async def test_wait_that_the_provider_asks_for_is_passed_on(server: EmbeddingServer, failure: Failure) -> None:
    server.script(failure)
    with pytest.raises(TransientError) as caught:
        await document(hosted(server), "a")
    assert caught.value.retry_after == 7
    assert isinstance(caught.value, RateLimitedError) is (failure is Failure.RATE_LIMITED)


async def test_wait_until_a_moment_is_passed_on_in_seconds(server: EmbeddingServer) -> None:
    server.script(Reply(429, retry_after=http_date(90)))
    with pytest.raises(RateLimitedError) as caught:
        await document(hosted(server), "a")
    assert 80 < (caught.value.retry_after or 0) <= 90


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (400, "Error 429: too many requests, rate limit, retry after 500", CallRefusedError),
        (422, "503 service unavailable timeout", CallRefusedError),
        (404, "429", ProviderRefusedError),
        (500, "401 Unauthorized: invalid api key 400", ProviderUnavailableError),
        (503, "400 bad request: content policy violation", ProviderUnavailableError),
        (429, "insufficient permissions 403", RateLimitedError),
    ],
)
async def test_status_decides_whatever_digits_the_text_contains(
    server: EmbeddingServer, status: int, message: str, expected: type[Exception]
) -> None:
    # A refused call is made once more, without the parameter that strict servers refuse.
    server.script(*[Reply(status, message)] * (2 if expected is CallRefusedError else 1))
    with pytest.raises(expected) as caught:
        await document(hosted(server), "a")
    assert type(caught.value) is expected


@pytest.mark.parametrize("failure", [Failure.SERVER_ERROR, Failure.CUT, Failure.RATE_LIMITED])
async def test_failed_call_is_not_repeated_by_the_libraries_below(server: EmbeddingServer, failure: Failure) -> None:
    before = len(server.requests)
    server.script(failure)
    with pytest.raises(TransientError):
        await document(hosted(server), "a")
    assert len(server.requests) == before + 1


async def test_call_that_takes_too_long_is_given_up() -> None:
    with EmbeddingServer() as slow:
        slow.script(Failure.SLOW)
        started = time.monotonic()
        with pytest.raises(TransientError, match="did not answer in time"):
            await document(hosted(slow, timeout_seconds=0.3), "a")
        assert time.monotonic() - started >= 0.3


async def test_server_that_is_not_there_is_transient() -> None:
    with EmbeddingServer() as gone:
        pass
    with pytest.raises(TransientError):
        await document(hosted(gone), "a")


@pytest.mark.parametrize("failure", MALFORMED)
async def test_malformed_answer_is_refused_whole(server: EmbeddingServer, failure: Failure) -> None:
    server.script(failure)
    with pytest.raises(TransientError) as caught:
        await document(hosted(server), "a", "b", "c")
    assert caught.value.code == "malformed_answer"


async def test_answer_in_another_order_is_put_right(server: EmbeddingServer) -> None:
    expected = await document(hosted(server), "a", "b", "c")
    server.script(Failure.SHUFFLED)
    assert np.array_equal(await document(hosted(server), "a", "b", "c"), expected)


async def test_dimensions_are_asked_for_and_demanded(server: EmbeddingServer) -> None:
    assert (await document(hosted(server, dimensions=32), "a")).shape == (1, 32)
    assert server.requests[-1]["dimensions"] == 32
    server.script(Failure.WRONG_DIMENSIONS)
    with pytest.raises(DimensionMismatchError):
        await document(hosted(server, dimensions=32), "a")


async def test_model_that_the_provider_does_not_know_is_refused(server: EmbeddingServer) -> None:
    embedder = LiteLLMEmbedder("openai/unheard-of", credential_of(server.api_key, server.url), EmbeddingSettings())
    with pytest.raises(ProviderRefusedError, match=r"does not know the model.*HTTP 404"):
        await document(embedder, "a")


@pytest.mark.parametrize("failure", [Failure.UNAUTHORIZED, Failure.REFUSED])
async def test_key_is_in_no_error_repr_or_log(
    server: EmbeddingServer,
    failure: Failure,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.script(*[failure] * (2 if failure is Failure.REFUSED else 1))
    embedder = hosted(server)
    with caplog.at_level("DEBUG"), pytest.raises(ProviderRefusedError) as caught:
        await document(embedder, "a")
    printed = capsys.readouterr()
    shown = [caught.value.detail, repr(caught.value), str(caught.getrepr(style="native")), repr(embedder)]
    for text in (*shown, caplog.text, printed.out, printed.err):
        assert server.api_key not in text


async def test_key_of_the_environment_is_never_sent(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    # The operator's key must not reach an address that a tenant has given.
    monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
    with pytest.raises(ProviderRefusedError, match="refuses the API key"):
        await document(hosted(server, api_key=""), "a")


async def test_address_of_the_environment_is_never_used(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A tenant's key must not reach an address that the operator has set for its own.
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    with EmbeddingServer() as official:
        monkeypatch.setattr(litellm_module, "OPENAI_BASE", official.url)
        embedder = LiteLLMEmbedder("text-embedding-3-small", credential_of(official.api_key), EmbeddingSettings())
        await document(embedder, "a")
        assert official.calls == 1


async def test_server_that_answers_numbers_instead_of_base64_is_understood() -> None:
    with EmbeddingServer() as full, EmbeddingServer(is_without_base64=True) as lesser:
        expected = await document(hosted(full), *TEXTS)
        assert full.requests[-1]["encoding_format"] == "base64"
        assert np.array_equal(await document(hosted(lesser), *TEXTS), expected)
        for failure in MALFORMED:
            lesser.script(failure)
            with pytest.raises(TransientError, match="the whole answer is refused"):
                await document(hosted(lesser), "a", "b")


async def test_input_type_reaches_a_provider_that_has_it(server: EmbeddingServer) -> None:
    embedder = LiteLLMEmbedder(
        "nvidia_nim/fake-embedding", credential_of(server.api_key, server.url), EmbeddingSettings()
    )
    await embedder.embed(["who?"], input_type=InputType.QUERY)
    assert server.requests[-1]["input_type"] == "query"
    await embedder.embed(["he"], input_type=InputType.DOCUMENT)
    assert server.requests[-1]["input_type"] == "passage"


async def test_connections_are_reused_by_calls_and_embedders() -> None:
    with EmbeddingServer() as counted:
        for number in range(10):
            await document(hosted(counted), f"text {number}")
        assert counted.calls == 10
        assert counted.connections == 1
