"""Ask every provider that LiteLLM knows, with sockets recorded; a program of its own, as it changes the process.

    python -m tests.integration.providers.walking

Prints what was sent, connected to and refused, as JSON. No connection is opened: every name resolves to one public
address, and whatever passes the product's guards is refused by the recorder, as by a host that is down.
"""

import asyncio
import json
import logging
import socket
import sys
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx

from analytiq.errors import AnalytiqError, InvalidInputError
from analytiq.inference.embedding.base import InputType
from analytiq.inference.embedding.providers.litellm_provider import LiteLLMEmbedder
from analytiq.inference.llm.base import Message, Options, Role
from analytiq.inference.llm.litellm_chat import LiteLLMChat
from analytiq.inference.providers.allowed import ALLOWED_PROVIDERS, OwnAddress, Use
from analytiq.inference.providers.guarded_http import Destination, GuardedTransport, bound_for
from analytiq.inference.providers.litellm_module import litellm
from analytiq.retrieval.reranking.litellm_reranker import LiteLLMReranker
from analytiq.settings import EmbeddingSettings
from tests.fakes.credentials import credential_of

TENANT_KEY = "key-of-the-tenant"
OWN_ADDRESS = "https://models.tenant.example/v1"
PUBLIC = "93.184.216.34"
SECONDS = 30.0
NAMES = ("{}/m", "{}/http://127.0.0.1:9/x", "{}/http:/169.254.169.254/x", "{}/127.0.0.1:9")


@dataclass
class Sent:
    """A request that the guarded transport let through, and whether the tenant's key is in it."""

    call: str
    url: str
    text: str


@dataclass
class Record:
    """The outcomes of the calls."""

    providers: list[str] = field(default_factory=list[str])
    sent: list[Sent] = field(default_factory=list[Sent])
    stopped: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Calls that the transport refused, with the URL."""
    connected: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Connections that no guard refused."""
    taken: list[str] = field(default_factory=list[str])
    """Calls of providers that are not allowed, or by names that are addresses, that were not refused beforehand."""
    stray: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Connections of calls below the guards' first lines, which have nowhere to go."""


record = Record()
present = ""
is_below = False


def _resolved(host: str | bytes | None, port: Any, *_: object, **__: object) -> list[Any]:
    name = host.decode() if isinstance(host, bytes) else str(host)
    address = "127.0.0.1" if name == "localhost" else name
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.inet_pton(family, address)
    except OSError:
        address = PUBLIC
    return [(family, socket.SOCK_STREAM, 6, "", (address, int(port or 0)))]


def _watch_sockets(event: str, arguments: tuple[Any, ...]) -> None:
    # Added after the product's own hook: what that refuses is not seen here.
    if event in ("socket.connect", "socket.sendto") and present:
        (record.stray if is_below else record.connected).append((present, str(arguments[-1])))
        raise ConnectionRefusedError("the recorder opens no connection")


def _watch_transport() -> None:
    sending = httpx.AsyncHTTPTransport.handle_async_request
    guarding = GuardedTransport.handle_async_request

    async def sent(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        body = (await request.aread()).decode(errors="replace")
        record.sent.append(Sent(present, str(request.url), f"{request.url} {dict(request.headers)} {body}"))
        return await sending(self, request)

    async def guarded(self: GuardedTransport, request: httpx.Request) -> httpx.Response:
        try:
            return await guarding(self, request)
        except AnalytiqError:
            record.stopped.append((present, str(request.url)))
            raise

    httpx.AsyncHTTPTransport.handle_async_request = sent  # type: ignore[method-assign]
    GuardedTransport.handle_async_request = guarded  # type: ignore[method-assign]


def _product(use: Use, model: str, api_base: str | None) -> Coroutine[Any, Any, object]:
    """Make a call as the product does."""
    credential = credential_of(TENANT_KEY, api_base, is_guarded=True)
    match use:
        case Use.EMBEDDING:
            return LiteLLMEmbedder(model, credential, EmbeddingSettings()).embed(["a"], input_type=InputType.QUERY)
        case Use.CHAT:
            return LiteLLMChat(model, credential).complete([Message(Role.USER, "a")], Options())
        case Use.RERANKING:
            return LiteLLMReranker(model, credential, timeout_seconds=SECONDS).scores("q", ["a"])


def _below(use: Use, model: str) -> Coroutine[Any, Any, object]:
    """Make a call of LiteLLM, as if the list and the grammar of names were not there."""
    module = litellm()
    options = {"model": model, "api_key": TENANT_KEY, "num_retries": 0, "max_retries": 0, "timeout": 5}
    match use:
        case Use.EMBEDDING:
            call: Coroutine[Any, Any, object] = module.aembedding(input=["a"], **options)
        case Use.CHAT:
            call = module.acompletion(messages=[{"role": "user", "content": "a"}], drop_params=True, **options)
        case Use.RERANKING:
            call = module.arerank(query="q", documents=["a"], top_n=1, **options)
    return call


async def _tried(call: str, made: Callable[[], Coroutine[Any, Any, object]]) -> BaseException | None:
    global present  # what the hooks attribute events to
    present = call
    try:
        await asyncio.wait_for(made(), SECONDS)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is: what it did is recorded
        return error
    finally:
        present = ""
    return None


async def _walk_product(provider: str) -> None:
    rule = ALLOWED_PROVIDERS.get(provider)
    for use in Use:
        for name in NAMES:
            model = name.format(provider)
            call = f"{use.name} {model}"
            error = await _tried(call, lambda use=use, model=model: _product(use, model, None))
            is_known = rule is not None or provider in ("cohere_chat", "ollama_chat")
            if not isinstance(error, InvalidInputError) and not (is_known and name == NAMES[0]):
                record.taken.append(call)
        if rule is not None and use in rule.uses and rule.own_address is not OwnAddress.REFUSED:
            model = f"{provider}/m"
            await _tried(f"{use.name} {model} own", lambda use=use, model=model: _product(use, model, OWN_ADDRESS))


async def _walk_below(provider: str) -> None:
    for use in Use:
        for name in NAMES[:2]:
            model = name.format(provider)
            with bound_for(Destination(frozenset({"https://nowhere.example:443"}))):
                await _tried(f"{use.name} {model} below", lambda use=use, model=model: _below(use, model))


async def _walk() -> None:
    global is_below
    for provider in record.providers:
        is_below = False
        await _walk_product(provider)
        is_below = True
        await _walk_below(provider)


def main() -> None:
    """Walk, and print the record."""
    module = litellm()
    logging.disable(logging.CRITICAL)
    record.providers = sorted({str(getattr(name, "value", name)) for name in module.provider_list})
    socket.getaddrinfo = _resolved  # type: ignore[assignment]
    _watch_transport()
    sys.addaudithook(_watch_sockets)
    asyncio.run(_walk())
    print(json.dumps(asdict(record)))  # to the test


if __name__ == "__main__":
    main()
