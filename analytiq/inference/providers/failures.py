"""Plain descriptions of failed calls. Pure."""

import errno
import socket
import ssl
from collections.abc import Sequence

_UNREACHABLE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})
_TIMEOUTS = frozenset(
    {"Timeout", "APITimeoutError", "TimeoutException", "ReadTimeout", "ConnectTimeout", "WriteTimeout", "PoolTimeout"}
)
_BROKEN = frozenset(
    {
        "ServerDisconnectedError",
        "RemoteProtocolError",
        "ReadError",
        "WriteError",
        "ClientPayloadError",
        "IncompleteRead",
    }
)
_UNCONNECTED = frozenset({"ConnectError", "ClientConnectorError", "APIConnectionError", "ClientConnectionError"})


def what_failed(chain: Sequence[BaseException], *, status: int | None) -> tuple[str, str]:
    """Describe the failure, with advice.

    Args:
        chain: the error and its causes, the outermost first.
        status: of the answer, if the provider gave one.

    Returns:
        Words after "The provider of …", and an advice.
    """
    if status is not None:
        return f"answered with an error of its own (HTTP {status})", "try again later"
    names = {ancestor.__name__ for error in chain for ancestor in type(error).__mro__}
    codes = {error.errno for error in chain if isinstance(error, OSError)}
    # The innermost cause tells most; of several, the first of these.
    if any(isinstance(error, socket.gaierror) for error in chain):
        return "could not be found (unknown host name)", "check the address"
    if any(isinstance(error, ssl.SSLError) for error in chain):
        return (
            "could not be reached by a secure connection (TLS)",
            "check the address, http or https, and the certificate",
        )
    if errno.ECONNREFUSED in codes:
        return "refused the connection", "check that it is running, and its address"
    if codes & _UNREACHABLE:
        return "could not be reached (no route to its address)", "check the address and the network"
    if names & _TIMEOUTS or any(isinstance(error, TimeoutError) for error in chain):
        return "did not answer in time", "try again later"
    if names & _BROKEN or any(isinstance(error, ConnectionError) for error in chain):
        return "broke the connection off before its answer was complete", "try again later"
    if names & _UNCONNECTED:
        return "could not be reached", "check that it is running, and its address"
    return "failed without saying why", "try again later"
