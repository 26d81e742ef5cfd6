# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportIncompatibleMethodOverride=false
# pyright: reportUnknownLambdaType=false, reportAttributeAccessIssue=false, reportMissingTypeArgument=false
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false
# ruff: noqa: N802, N803, N815, RUF012 -- the names and attributes are Twisted's
"""SSH and SFTP by Twisted Conch, on a connection of asyncio and without Twisted's reactor.

Conch's classes are protocols: they get bytes and write bytes. Here they get them from a socket that was connected to a
checked address. Conch has few types, so this module is the only one that names them.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from twisted.conch.ssh.channel import SSHChannel
from twisted.conch.ssh.common import NS
from twisted.conch.ssh.connection import SSHConnection
from twisted.conch.ssh.filetransfer import FileTransferClient
from twisted.conch.ssh.keys import EncryptedKeyError, Key
from twisted.conch.ssh.transport import SSHClientTransport
from twisted.conch.ssh.userauth import MSG_USERAUTH_REQUEST, SSHUserAuthClient
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone
from twisted.logger import globalLogBeginner
from twisted.python.failure import Failure

from analytiq.errors import AnalytiqError, InvalidInputError, TransientError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.systems.sftp.host_keys import HostKey, fingerprint_of, kind_of

MOST_PACKET_BYTES = 1024 * 1024
"""Most bytes of a packet of SFTP."""
_CIPHERS = (b"aes256-ctr", b"aes192-ctr", b"aes128-ctr")
_DIGESTS = (b"hmac-sha2-512", b"hmac-sha2-256")
_KEYS = (
    *(b"ssh-ed25519", b"ecdsa-sha2-nistp256", b"ecdsa-sha2-nistp384", b"ecdsa-sha2-nistp521"),
    *(b"rsa-sha2-512", b"rsa-sha2-256"),
)

# Twisted keeps the last 65,536 log events in memory until somebody takes them; they name users and files.
globalLogBeginner.beginLoggingTo([lambda _: None], redirectStandardIO=False, discardBuffer=True)


class HostKeyError(InvalidInputError):
    """The server's key is unknown, or is not the expected one."""

    code = "host_key_unknown"


@dataclass(frozen=True, slots=True)
class SshLogin:
    """A user with a password, a private key, or both."""

    user: str
    password: str | None = None
    key: Key | None = None


def private_key(text: str, passphrase: str | None) -> Key:
    """Read a private key.

    Raises:
        ValueError: it cannot be read, or needs another passphrase.
    """
    try:
        key = Key.fromString(text.strip().encode() + b"\n", passphrase=passphrase.encode() if passphrase else None)
    except EncryptedKeyError:
        raise ValueError("The private key is encrypted. Give its passphrase") from None
    except Exception:  # noqa: BLE001  # Conch's parser raises whatever it stumbles over in a damaged key
        raise ValueError("The private key cannot be read, or its passphrase is wrong") from None
    if key.isPublic():
        raise ValueError("This is a public key. Give the private one")
    return key


class SshSession(asyncio.Protocol):
    """One connection with an SFTP client; `client` is set when it may be used, or the reason why not."""

    def __init__(self, login: SshLogin, host_key: HostKey | None) -> None:
        self.login = login
        self.host_key = host_key
        self.client: asyncio.Future[FileTransferClient] = asyncio.get_running_loop().create_future()
        self.is_authenticating = False
        self._ssh = _Transport(self)
        self._wire: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        self._wire = cast("asyncio.Transport", transport)
        self._ssh.makeConnection(_Wire(self._wire))

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        try:
            self._ssh.dataReceived(data)
        except Exception as error:  # noqa: BLE001  # whatever Conch finds in the bytes of a hostile server
            self.end(TransientError(f"The SSH server sent what cannot be read ({type(error).__name__})."))

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        del exc
        if self.is_authenticating:
            self.end(CredentialsRefusedError("The SSH server refuses the login. Check user, password and key."))
        self.end(TransientError("The SSH server closed the connection."))
        self._ssh.connectionLost(Failure(ConnectionDone()))

    def end(self, reason: AnalytiqError) -> None:
        """Close the connection; what waits for it fails with the reason."""
        if not self.client.done():
            self.client.set_exception(reason)
            self.client.exception()  # retrieved, also if nothing waits for it
        if self._wire is not None:
            self._wire.abort()

    @property
    def is_closed(self) -> bool:
        """Return True if the connection has ended."""
        return self._wire is None or self._wire.is_closing()


class _Wire:
    """The part of Twisted's transports that Conch uses."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._transport.write(data)

    def loseConnection(self) -> None:
        """Close the connection."""
        self._transport.close()

    def getPeer(self) -> None:
        """Return nothing: the address is ours to know."""

    getHost = getPeer


class _Transport(SSHClientTransport):
    supportedCiphers = list(_CIPHERS)
    supportedMACs = list(_DIGESTS)
    supportedCompressions = [b"none"]

    def __init__(self, session: SshSession) -> None:
        self._session = session
        kind = session.host_key.kind if session.host_key is not None else None
        self.supportedPublicKeys = [key for key in _KEYS if kind is None or _is_of(key, kind)] or list(_KEYS)

    def verifyHostKey(self, hostKey: bytes, fingerprint: bytes) -> Deferred:
        """Accept the expected key only."""
        del fingerprint
        expected = self._session.host_key
        if expected is not None and expected.matches(hostKey):
            return succeed(True)  # noqa: FBT003
        shown = f"{kind_of(hostKey)} {fingerprint_of(hostKey)}"
        reason = (
            f"The server shows the key {shown}. Compare it with the one that its administrator names, and enter it."
            if expected is None
            else f"The server shows another key: {shown}. Ask its administrator: somebody may stand between."
        )
        self._session.end(HostKeyError.of_field("settings.host_key", reason, code=HostKeyError.code))
        return fail(Failure(ConnectionDone()))

    def connectionSecure(self) -> None:
        """Log in."""
        self._session.is_authenticating = True
        self.requestService(_Login(self._session))


class _Login(SSHUserAuthClient):
    def __init__(self, session: SshSession) -> None:
        super().__init__(session.login.user.encode(), _Connection(session))
        self._key = session.login.key
        self._password = session.login.password
        self._answers = 2
        """Attempts with the password: by the method of that name, and by keyboard-interactive."""

    def auth_publickey(self) -> bool:
        """Log in by the key, once; return True if there is one.

        Conch itself signs with RSA keys by SHA-1, which servers refuse.
        """
        key, self._key = self._key, None
        if key is None:
            return False
        algorithm = b"rsa-sha2-512" if key.type() == "RSA" else key.sshType()
        named = b"\x01" + NS(algorithm) + NS(key.public().blob())
        request = b"".join(
            [
                NS(self.transport.sessionID),
                bytes((MSG_USERAUTH_REQUEST,)),
                *(NS(self.user), NS(self.instance.name), NS(b"publickey")),
                named,
            ]
        )
        self.askForAuth(b"publickey", named + NS(key.sign(request, signatureType=algorithm)))
        return True

    def getPassword(self, prompt: bytes | None = None) -> Deferred | None:
        """Return the password, once."""
        if prompt is not None or self._password is None or self._answers < 2:
            return None
        self._answers -= 1
        return succeed(self._password.encode())

    def getGenericAnswers(self, name: bytes, instruction: bytes, prompts: list) -> Deferred:
        """Answer a question for the password; and one without questions."""
        del name, instruction
        if not prompts:
            return succeed([])
        if len(prompts) > 1 or self._password is None or not self._answers:
            return fail(Failure(ConnectionDone()))
        self._answers = 0
        return succeed([self._password.encode()])


class _Connection(SSHConnection):
    def __init__(self, session: SshSession) -> None:
        super().__init__()
        self._session = session

    def serviceStarted(self) -> None:
        """Open the channel."""
        super().serviceStarted()
        self._session.is_authenticating = False
        self.openChannel(_Channel(self._session, self))


class _Channel(SSHChannel):
    name = b"session"

    def __init__(self, session: SshSession, connection: SSHConnection) -> None:
        super().__init__(conn=connection)
        self._session = session
        self._sftp: _Sftp | None = None

    def channelOpen(self, specificData: bytes) -> None:
        """Ask for SFTP."""
        del specificData
        started = self.conn.sendRequest(self, b"subsystem", NS(b"sftp"), wantReply=True)
        started.addCallbacks(self._start, lambda _: self._refuse())

    def openFailed(self, reason: object) -> None:
        """Tell that there is no channel."""
        del reason
        self._refuse()

    def dataReceived(self, data: bytes) -> None:
        """Pass the bytes on."""
        if self._sftp is not None:
            self._sftp.dataReceived(data)

    def closed(self) -> None:
        """Fail what is waiting."""
        if self._sftp is not None:
            self._sftp.connectionLost(Failure(ConnectionDone()))
        self._session.end(TransientError("The SSH server closed the connection."))

    def _start(self, _: object) -> None:
        self._sftp = _Sftp(self._session.client)
        self._sftp.makeConnection(self)

    def _refuse(self) -> None:
        self._session.end(InvalidInputError.of_field("settings.host", "The SSH server does not offer SFTP."))


class _Sftp(FileTransferClient):
    def __init__(self, ready: "asyncio.Future[FileTransferClient]") -> None:
        super().__init__()
        self._ready = ready

    def dataReceived(self, data: bytes) -> None:
        """Read packets of a bounded size.

        Raises:
            ValueError: a packet is larger.
        """
        whole = self.buf + data if len(self.buf) < 4 else self.buf
        if len(whole) >= 4 and int.from_bytes(whole[:4], "big") > MOST_PACKET_BYTES:
            raise ValueError("size of a packet")
        super().dataReceived(data)

    def gotServerVersion(self, serverVersion: int, extData: dict) -> None:
        """Be ready."""
        del serverVersion, extData
        if not self._ready.done():
            self._ready.set_result(self)


def _is_of(algorithm: bytes, kind: str) -> bool:
    return algorithm.decode() == kind or (kind == "ssh-rsa" and algorithm.startswith(b"rsa-sha2-"))


def answer_of(deferred: Any) -> "asyncio.Future[Any]":
    """Return what a Deferred gives, for await."""
    convert = cast("Callable[[asyncio.AbstractEventLoop], asyncio.Future[Any]]", deferred.asFuture)
    return convert(asyncio.get_running_loop())
