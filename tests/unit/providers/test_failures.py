"""Errors of providers in plain words: real calls through LiteLLM to addresses where something is wrong."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from analytiq.errors import AnalytiqError, TransientError
from analytiq.inference.providers.addresses import origin_of
from analytiq.inference.providers.guarded_http import Destination, bound_for
from analytiq.inference.providers.litellm_errors import translated
from analytiq.inference.providers.litellm_module import litellm

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Items? .*`ReadOnly` qualifier:UserWarning")]

USES = ("chat", "stream", "embedding", "rerank")
UNWANTED = {"Error", "Exception", "litellm", "Timeout", "errno", "ssl.", "127.0.0.1"}
"""Text that no reader should meet."""


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Generator[str]:
    """A server on this machine; yields its address without a scheme."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                stack.enter_context(connection)
                answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def answer_with(status: str, body: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        connection.recv(65_536)
        head = (
            f"HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_RDWR)

    return answer


def hang_up(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.close()


def say_nothing(connection: socket.socket) -> None:
    connection.recv(65_536)


def break_off(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    piece = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"one"}}]}\n\n'
    connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    connection.close()


async def error_of(use: str, base: str) -> AnalytiqError:
    """Return our error for the error of one call."""
    common: dict[str, Any] = {"api_base": base, "api_key": "a-key-of-nobody", "timeout": 2}
    messages = [{"role": "user", "content": "hello"}]
    module = litellm()
    try:
        with bound_for(Destination(frozenset({origin_of(base)}), is_guarded=False)):
            match use:
                case "chat" | "stream":
                    answer = await module.acompletion(
                        model="hosted_vllm/m", messages=messages, stream=use == "stream", max_retries=0, **common
                    )
                    if use == "stream":
                        async for _ in answer:
                            pass
                case "embedding":
                    await module.aembedding(model="openai/m", input=["hello"], max_retries=0, **common)
                case _:
                    await module.arerank(model="cohere/m", query="hello", documents=["hello"], **common)
    except Exception as error:  # noqa: BLE001  # whatever LiteLLM raises
        return translated(error, model="m", api_key=None)
    raise AssertionError("the call succeeded")


def told(error: AnalytiqError) -> str:
    assert isinstance(error, TransientError)
    assert not [word for word in UNWANTED if word in error.detail], error.detail
    return error.detail.removeprefix("The provider of 'm' ")


@pytest.mark.parametrize("use", USES)
async def test_refused_connection_is_called_so(use: str) -> None:
    detail = told(await error_of(use, f"http://{unused_address()}/v1"))
    assert detail == "refused the connection: check that it is running, and its address."


@pytest.mark.parametrize("use", USES)
async def test_host_that_does_not_exist_is_called_so(use: str) -> None:
    detail = told(await error_of(use, "http://no-such-host.invalid/v1"))
    assert detail == "could not be found (unknown host name): check the address."


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("status", ["500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable"])
async def test_error_of_the_servers_own_is_called_so_with_its_status(use: str, status: str) -> None:
    with serving(answer_with(status, b"<html>")) as address:
        detail = told(await error_of(use, f"http://{address}/v1"))
    assert detail == f"answered with an error of its own (HTTP {status[:3]}): try again later."


@pytest.mark.parametrize("use", USES)
async def test_server_that_says_nothing_did_not_answer_in_time(use: str) -> None:
    with serving(say_nothing) as address:
        assert told(await error_of(use, f"http://{address}/v1")) == "did not answer in time: try again later."


@pytest.mark.parametrize("use", USES)
async def test_server_that_hangs_up_broke_the_connection_off(use: str) -> None:
    with serving(hang_up) as address:
        detail = told(await error_of(use, f"http://{address}/v1"))
    assert detail == "broke the connection off before its answer was complete: try again later."


async def test_stream_that_ends_in_the_middle_was_broken_off() -> None:
    with serving(break_off) as address:
        detail = told(await error_of("stream", f"http://{address}/v1"))
    assert detail == "broke the connection off before its answer was complete: try again later."


@pytest.mark.parametrize("use", USES)
async def test_plain_http_behind_an_https_address_is_told(use: str) -> None:
    with serving(answer_with("200 OK", b"")) as address:
        detail = told(await error_of(use, f"https://{address}/v1"))
    assert detail.startswith("could not be reached by a secure connection (TLS): check the address")
