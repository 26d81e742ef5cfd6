"""The list of providers: known to LiteLLM, called over TLS, each with the address that its rule says."""

import pytest

from analytiq.errors import InvalidInputError
from analytiq.inference.providers.allowed import (
    ALLOWED_PROVIDERS,
    OwnAddress,
    Use,
    base_for,
    check_own_address,
    destination_of,
    is_of_known_origin,
    require_use,
)
from analytiq.inference.providers.litellm_module import litellm
from analytiq.settings import PROVIDER_KEY_VARIABLES

COHERE = [
    "https://p.example.com",
    "https://p.example.com/",
    "https://p.example.com/v1",
    "https://p.example.com/v2/embed",
]


def test_every_provider_of_the_list_is_known_to_litellm_and_has_a_place_to_go() -> None:
    known = {str(getattr(name, "value", name)) for name in litellm().provider_list}
    for name, rule in ALLOWED_PROVIDERS.items():
        assert name in known
        assert bool(rule.origins) is (rule.own_address is not OwnAddress.REQUIRED)
        assert all(origin.startswith("https://") and origin.endswith(":443") for origin in rule.origins)


def test_every_key_that_the_environment_may_bring_is_of_an_allowed_provider() -> None:
    assert set(PROVIDER_KEY_VARIABLES) <= set(ALLOWED_PROVIDERS)


@pytest.mark.parametrize(
    ("provider", "api_base", "words"),
    [
        ("oobabooga", None, "is not allowed"),
        ("opnai", None, "Did you mean 'openai'"),
        ("ollama", None, "Give yours"),
        ("azure", None, "Give yours"),
        ("groq", "https://p.example.com", "at its own address"),
    ],
)
def test_provider_is_refused_without_or_with_an_address_as_its_rule_says(
    provider: str, api_base: str | None, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_own_address(provider, api_base)


def test_provider_that_serves_another_use_is_refused() -> None:
    require_use("groq", Use.CHAT, field="model")
    with pytest.raises(InvalidInputError, match="not used for embedding"):
        require_use("groq", Use.EMBEDDING, field="embedding_model")


@pytest.mark.parametrize("api_base", COHERE)
def test_one_address_of_cohere_serves_every_use(api_base: str) -> None:
    assert base_for("cohere", api_base, Use.EMBEDDING) == "https://p.example.com/v2/embed"
    assert base_for("cohere", api_base, Use.CHAT) == "https://p.example.com/v2/chat"
    assert base_for("cohere", api_base, Use.RERANKING) == "https://p.example.com"


def test_address_of_ones_own_is_the_only_destination() -> None:
    assert destination_of("cohere", "https://p.example.com/v1", is_guarded=True).origins == {
        "https://p.example.com:443"
    }
    assert "https://api.cohere.com:443" in destination_of("cohere", None, is_guarded=True).origins


def test_known_origins_are_those_of_the_list() -> None:
    assert is_of_known_origin("https://api.cohere.com/v2/embed")
    for url in (
        "http://api.cohere.com/v2/embed",
        "https://api.cohere.com.example.com/",
        "https://api.cohere.com:8443/",
    ):
        assert not is_of_known_origin(url)
