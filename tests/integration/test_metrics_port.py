"""Workers and the reconciler answer `/metrics` on a port of their own, where they are given one."""

import socket

import httpx
import pytest

from analytiq.errors import InvalidInputError
from analytiq.telemetry import metrics


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_process_answers_with_what_it_counts() -> None:
    port = free_port()
    metrics.serve("127.0.0.1", port)
    assert "kb_embedding_api_calls_total" in httpx.get(f"http://127.0.0.1:{port}/metrics").text


def test_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        with pytest.raises(InvalidInputError, match=f"127.0.0.1:{port}"):
            metrics.serve("127.0.0.1", port)


def test_nothing_is_served_without_a_port() -> None:
    metrics.serve("127.0.0.1", None)
