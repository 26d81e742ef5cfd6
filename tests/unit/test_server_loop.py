"""The servers of tests leave no socket open, whatever their clients do while they end."""

import contextlib
import gc
import socket
import threading
import warnings
from collections.abc import Callable

import pytest
from aiohttp import web

from tests.fakes.embedding_server import EmbeddingServer
from tests.fakes.server_loop import AppServer


def embedding_server() -> tuple[int, Callable[[], None]]:
    server = EmbeddingServer().start()
    return int(server.url.split(":")[2].split("/")[0]), server.stop


def app_server() -> tuple[int, Callable[[], None]]:
    server = AppServer(web.Application())
    server.start()
    return server.port, server.stop


def connect(port: int, clients: list[socket.socket], has_first: threading.Event) -> None:
    """Open connections until the server does not listen any more."""
    with contextlib.suppress(OSError):
        for _ in range(200):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            has_first.set()


@pytest.mark.parametrize("start", [embedding_server, app_server], ids=["streams", "aiohttp"])
def test_server_that_ends_while_clients_connect_leaves_no_socket_open(
    start: Callable[[], tuple[int, Callable[[], None]]],
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(20):
            port, stop = start()
            clients: list[socket.socket] = []
            has_first = threading.Event()
            connecting = threading.Thread(target=connect, args=(port, clients, has_first))
            connecting.start()
            assert has_first.wait(10)
            stop()
            connecting.join()
            for client in clients:
                client.close()
        gc.collect()
    assert [str(each.message) for each in caught] == []
