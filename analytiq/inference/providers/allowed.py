"""The providers that organizations may use: a fixed list, because LiteLLM's own serves another purpose.

LiteLLM knows about 190 providers. Some call this machine unless told otherwise, some sign with the operator's
credentials (AWS, Google, Azure's identities, `HUGGINGFACE_API_KEY`), some take an address from the model's name, some
run programs. This list has the providers called over HTTPS with one key of the organization, at an address known
beforehand or named by the organization.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from urllib.parse import urlsplit

from analytiq.errors import InvalidInputError
from analytiq.inference.providers.addresses import FIELD, origin_of
from analytiq.inference.providers.guarded_http import Destination

PROVIDER_FIELD = "litellm_provider"


class Use(Enum):
    """The purpose of a call: it selects providers, and the advice in their errors."""

    EMBEDDING = auto()
    CHAT = auto()
    RERANKING = auto()


class OwnAddress(StrEnum):
    """The rule for an organization's own address (`api_base`) of a provider."""

    REFUSED = "refused"
    OPTIONAL = "optional"
    REQUIRED = "required"


class BaseForm(Enum):
    """LiteLLM's form of an address, which differs by provider and use."""

    AS_GIVEN = auto()
    """The address up to the name of the endpoint, for example `https://models.example.com/v1`."""
    ROOT = auto()
    """LiteLLM appends the version itself."""
    WITH_V1 = auto()
    """With `/v1` at its end."""
    COHERE = auto()
    """The whole endpoint for embedding and chat, the root for reranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRule:
    """A provider, its uses, and its address. A call carries the address and one key."""

    name: str
    uses: frozenset[Use]
    own_address: OwnAddress = OwnAddress.REFUSED
    origins: frozenset[str] = frozenset()
    form: BaseForm = BaseForm.AS_GIVEN


_E, _C, _R = Use.EMBEDDING, Use.CHAT, Use.RERANKING


def _hosted(
    name: str,
    uses: tuple[Use, ...],
    *hosts: str,
    own_address: OwnAddress = OwnAddress.REFUSED,
    form: BaseForm = BaseForm.AS_GIVEN,
) -> ProviderRule:
    origins = frozenset(f"https://{host}:443" for host in hosts)
    return ProviderRule(name=name, uses=frozenset(uses), own_address=own_address, origins=origins, form=form)


def _server(name: str, *uses: Use, form: BaseForm = BaseForm.AS_GIVEN) -> ProviderRule:
    return ProviderRule(name=name, uses=frozenset(uses), own_address=OwnAddress.REQUIRED, form=form)


_OPTIONAL = OwnAddress.OPTIONAL
_RULES = (
    _hosted("openai", (_E, _C), "api.openai.com", own_address=_OPTIONAL),
    _server("azure", _E, _C),
    _server("azure_ai", _E, _C, _R),
    _hosted("anthropic", (_C,), "api.anthropic.com", own_address=_OPTIONAL, form=BaseForm.ROOT),
    _hosted("cerebras", (_C,), "api.cerebras.ai"),
    _hosted("cohere", (_E, _C, _R), "api.cohere.com", "api.cohere.ai", own_address=_OPTIONAL, form=BaseForm.COHERE),
    _hosted("deepinfra", (_C, _R), "api.deepinfra.com"),
    _hosted("deepseek", (_C,), "api.deepseek.com"),
    _hosted("fireworks_ai", (_E, _C, _R), "api.fireworks.ai"),
    _hosted("gemini", (_E, _C), "generativelanguage.googleapis.com"),
    _hosted("groq", (_C,), "api.groq.com"),
    _hosted("jina_ai", (_E, _R), "api.jina.ai", own_address=_OPTIONAL, form=BaseForm.WITH_V1),
    _hosted("mistral", (_E, _C), "api.mistral.ai", own_address=_OPTIONAL, form=BaseForm.WITH_V1),
    _hosted("nebius", (_E, _C), "api.studio.nebius.ai"),
    _hosted(
        "nvidia_nim",
        (_E, _C, _R),
        "integrate.api.nvidia.com",
        "ai.api.nvidia.com",
        own_address=_OPTIONAL,
        form=BaseForm.WITH_V1,
    ),
    _hosted("openrouter", (_E, _C), "openrouter.ai"),
    _hosted("perplexity", (_C,), "api.perplexity.ai"),
    _hosted("sambanova", (_E, _C), "api.sambanova.ai"),
    _hosted("scaleway", (_C, _R), "api.scaleway.ai"),
    _hosted("together_ai", (_E, _C, _R), "api.together.ai", "api.together.xyz", own_address=_OPTIONAL),
    _hosted("voyage", (_E, _R), "api.voyageai.com", own_address=_OPTIONAL, form=BaseForm.WITH_V1),
    _hosted("xai", (_C,), "api.x.ai"),
    # Users' own servers, for which LiteLLM would look on this machine.
    _server("hosted_vllm", _E, _C, _R),
    _server("infinity", _E, _R),
    _server("llamafile", _E, _C),
    _server("lm_studio", _E, _C),
    _server("ollama", _E, _C, form=BaseForm.ROOT),
    _server("xinference", _E, _C),
)
ALLOWED_PROVIDERS: Mapping[str, ProviderRule] = {rule.name: rule for rule in _RULES}

_SAME_PROVIDER = {"cohere_chat": "cohere", "ollama_chat": "ollama"}
"""LiteLLM's alternative names of a provider, whose models use the same key."""
_COHERE_ENDPOINTS = {Use.EMBEDDING: "/v2/embed", Use.CHAT: "/v2/chat", Use.RERANKING: ""}
_SERVED = {Use.EMBEDDING: "embedding", Use.CHAT: "chat", Use.RERANKING: "reranking"}
_ENDINGS = ("/embeddings", "/embed", "/rerank", "/chat/completions", "/chat", "/messages")
_VERSIONS = ("/v1", "/v2")


def canonical_provider(litellm_name: str) -> str:
    """Return the name under which a provider's key is stored."""
    return _SAME_PROVIDER.get(litellm_name, litellm_name)


def is_allowed(litellm_name: str) -> bool:
    """Return True if a provider is on the list, under any of its names."""
    return canonical_provider(litellm_name) in ALLOWED_PROVIDERS


def rule_of(provider: str, *, field: str = PROVIDER_FIELD) -> ProviderRule:
    """Return a provider's rule.

    Raises:
        InvalidInputError: the provider is not on the list.
    """
    rule = ALLOWED_PROVIDERS.get(provider)
    if rule is None:
        close = difflib.get_close_matches(provider, ALLOWED_PROVIDERS, n=1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise InvalidInputError.of_field(
            field,
            f"The provider {provider[:100]!r} is not allowed.{meant} Allowed: {', '.join(sorted(ALLOWED_PROVIDERS))}. A"
            " server that speaks OpenAI's protocol goes under 'openai' with its address.",
            code="provider_not_allowed",
        )
    return rule


def require_use(provider: str, use: Use, *, field: str) -> None:
    """Refuse a provider that does not serve a use.

    Raises:
        InvalidInputError: the provider is not on the list, or serves other uses only.
    """
    if use not in rule_of(provider, field=field).uses:
        able = ", ".join(sorted(rule.name for rule in _RULES if use in rule.uses))
        raise InvalidInputError.of_field(
            field,
            f"The provider {provider!r} is not used for {_SERVED[use]}. Allowed: {able}.",
            code="provider_not_allowed",
        )


def check_own_address(provider: str, api_base: str | None) -> None:
    """Check that an organization names the provider's address if required, and only if allowed.

    Raises:
        InvalidInputError: the provider is not on the list, or its address is missing or refused.
    """
    own_address = rule_of(provider).own_address
    if api_base is None and own_address is OwnAddress.REQUIRED:
        raise InvalidInputError.of_field(
            FIELD, f"The provider {provider!r} has an address for each customer. Give yours along with the key."
        )
    if api_base is not None and own_address is OwnAddress.REFUSED:
        raise InvalidInputError.of_field(
            FIELD,
            f"{provider!r} is called at its own address. A server that speaks OpenAI's protocol goes under the provider"
            " 'openai', its models by the name openai/<model>.",
        )


def destination_of(provider: str, api_base: str | None, *, is_guarded: bool) -> Destination:
    """Return the destination of calls to the provider.

    Raises:
        InvalidInputError: the provider is not on the list.
    """
    rule = rule_of(provider)
    origins = rule.origins if api_base is None else frozenset({origin_of(api_base)})
    return Destination(origins, is_guarded=is_guarded)


def base_for(provider: str, api_base: str | None, use: Use) -> str | None:
    """Return the address for LiteLLM by use; one address serves all uses of a provider."""
    rule = ALLOWED_PROVIDERS.get(provider)
    if api_base is None or rule is None or rule.form is BaseForm.AS_GIVEN:
        return api_base
    root = _root_of(api_base)
    if rule.form is BaseForm.COHERE:
        return root + _COHERE_ENDPOINTS[use]
    return root if rule.form is BaseForm.ROOT else f"{root}/v1"


def is_of_known_origin(url: str) -> bool:
    """Return True if a URL belongs to a provider of the list, and not to a server named by a user."""
    return urlsplit(url).scheme == "https" and any(origin_of(url) in rule.origins for rule in _RULES)


def _root_of(api_base: str) -> str:
    """Return an address without endpoint and version: people copy more than the root."""
    root = api_base.rstrip("/")
    for endings in (_ENDINGS, _VERSIONS):
        ending = next((ending for ending in endings if root.endswith(ending)), "")
        root = root.removesuffix(ending).rstrip("/")
    return root
