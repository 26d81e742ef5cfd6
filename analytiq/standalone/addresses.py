"""Addresses and readiness of the API."""

import http.client
import socket
from urllib.parse import urlsplit

from analytiq.errors import ConflictError, InvalidInputError

WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # asked for by users, never our default
"""An address to listen on → the address for clients on this machine."""

ANSWER_SECONDS = 10.0

SIGN_IN_PATH = "/sign-in/"
"""A page that every build of the management UI has."""


def url_of(host: str, port: int) -> str:
    """Return the API's URL for clients on this machine."""
    reachable = WILDCARD_HOSTS.get(host, host)
    return f"http://[{reachable}]:{port}" if ":" in reachable else f"http://{reachable}:{port}"


def available_port(host: str, port: int) -> int:
    """Return `port` if it is free, or, for 0, a free one.

    Checked before anything is started, so that the refusal comes at once and in a sentence. Another program may
    still take it before the API does; the API then ends with the same message.

    Raises:
        ConflictError: another program listens there.
        InvalidInputError: this machine has no such address, or this user must not use that port.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            # As uvicorn binds: connections of an earlier run in TIME_WAIT do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except socket.gaierror as error:
        raise InvalidInputError.of_field(
            "--host",
            f"{host!r} is not an address of this machine. 127.0.0.1 serves this machine, 0.0.0.0 all networks.",
        ) from error
    except PermissionError as error:
        raise InvalidInputError.of_field(
            "--port", f"This user may not listen on {port}. Choose a port from 1024 up, or 0 for a free one."
        ) from error
    except OSError as error:
        raise ConflictError(
            f"{host}:{port} is not available ({error.strerror}): another program listens there. Choose another port"
            " with `--port`; `--port 0` takes a free one.",
            code="port_taken",
        ) from error


def serves_pages(url: str) -> bool:
    """Return whether the API at `url` serves the management UI; blocking."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", SIGN_IN_PATH)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def is_ready(host: str, port: int) -> bool:
    """Return whether the API is ready; blocking."""
    connection = http.client.HTTPConnection(WILDCARD_HOSTS.get(host, host), port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
