"""Names of models: what LiteLLM's table has passes, and no address does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytiq.errors import InvalidInputError
from analytiq.inference.providers.litellm_module import litellm, provider_of
from analytiq.inference.providers.model_names import check_model_name, is_model_name

ADDRESSES = [
    "oobabooga/http://127.0.0.1:38817/latest/meta-data/iam",
    "oobabooga/https://models.example.com/v1",
    "huggingface/http://169.254.169.254/",
    "openai/http:/127.0.0.1",
    "http://127.0.0.1",
    "//127.0.0.1/x",
    "openai//127.0.0.1/x",
    "openai/127.0.0.1",
    "openai/127.0.0.1:8080",
    "openai/2130706433:80/../x",
    "openai/[::1]",
    "openai/::1",
    "openai/::ffff:127.0.0.1",
    "openai/localhost:8000",
    "openai/metadata.localhost",
    "127.0.0.1/x",
    "openai/user@[::1]",
    "openai/x?api_base=http:",
    "openai/x#y",
    "openai/%2f%2f127.0.0.1",
    "openai/..",
    "openai/a/../b",
    "azure/../../admin",
    "openai\\\\evil",
    "openai/m\n",
    "openai/m m",
    "openai/",
    "/openai",
    "",
    "openai/" + "m" * 200,
]


@pytest.mark.parametrize("name", ADDRESSES)
def test_address_is_no_name(name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_model_name(name, field="model")
    assert (caught.value.code, caught.value.errors[0].field) == ("invalid_model_name", "model")


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o-mini",
        "local/all-minilm-l6-v2",
        "ollama/llama3.2:3b",
        "openrouter/meta-llama/llama-3.1-8b-instruct:free",
        "ft:gpt-4o-mini-2024-07-18:my-org::7p4lURel",
        "together_ai/BAAI/bge-base-en-v1.5",
        "openai/@cf/meta/llama-3",
        "openai/model-1.2.3.4",
    ],
)
def test_name_is_taken_as_it_is(name: str) -> None:
    assert check_model_name(name, field="model") == name


def test_every_model_of_an_allowed_provider_in_litellms_table_has_a_name() -> None:
    named = [
        name
        for name, entry in litellm().model_cost.items()
        if entry.get("mode") in ("chat", "embedding", "rerank") and entry.get("litellm_provider") != "bedrock"
    ]
    assert len(named) > 1000
    assert [name for name in named if not is_model_name(name)] == []


@given(text=st.text(alphabet="ab/:.@[]%?#\\- \n0127h", max_size=30))
def test_name_never_reads_as_an_address(text: str) -> None:
    if is_model_name(text):
        assert "//" not in text
        assert ".." not in text
        assert not set(text) & set("[]%?#\\ \n")


@pytest.mark.parametrize(
    "name", ["oobabooga/m", "sagemaker/m", "bedrock/m", "vertex_ai/m", "huggingface/m", "chatgpt/m"]
)
def test_provider_that_is_not_allowed_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Allowed: anthropic, azure, .*openai") as caught:
        provider_of(name)
    assert caught.value.code == "provider_not_allowed"
