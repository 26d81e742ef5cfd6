# pyright: reportArgumentType=false, reportUntypedClassDecorator=false
# ruff: noqa: N802, N803, N815, PTH116, PTH118, PTH208 -- the names are Twisted's, and paths are bytes
"""A real SSH server (Twisted Conch, on an asyncio loop) that serves a folder by SFTP."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from twisted.conch.avatar import ConchUser
from twisted.conch.error import ValidPublicKey
from twisted.conch.interfaces import IConchUser, ISFTPFile, ISFTPServer
from twisted.conch.ssh.connection import SSHConnection
from twisted.conch.ssh.factory import SSHFactory
from twisted.conch.ssh.filetransfer import FileTransferServer
from twisted.conch.ssh.keys import Key
from twisted.conch.ssh.session import SSHSession
from twisted.conch.ssh.userauth import SSHUserAuthServer
from twisted.cred.checkers import InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.credentials import ISSHPrivateKey
from twisted.cred.error import UnauthorizedLogin
from twisted.cred.portal import Portal
from twisted.internet.error import ConnectionDone
from twisted.python.components import registerAdapter
from twisted.python.failure import Failure
from zope.interface import implementer

from tests.fakes.server_loop import ServerLoop

USER, PASSWORD = "ada", "a password"


def new_key() -> Key:
    return Key(Ed25519PrivateKey.generate())


class SftpServer:
    """Serves a folder on `port`, to USER with PASSWORD or `user_key`."""

    def __init__(self, folder: Path) -> None:
        self.host_key = new_key()
        self.user_key = new_key()
        self.port = 0
        self.transports: list[asyncio.BaseTransport] = []
        self._loop = ServerLoop()
        self._factory = _Factory(self, folder)
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._loop.start()
        self._factory.startFactory()
        self._server = self._loop.run(self._listen())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._loop.stop(self._server, disconnect=self._disconnect)

    def cut(self) -> None:
        """Cut all connections."""
        self._loop.run(self._disconnect())

    async def _listen(self) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: _Socket(self), "127.0.0.1", 0)

    async def _disconnect(self) -> None:
        for transport in self.transports:
            if isinstance(transport, asyncio.Transport):
                transport.abort()
        await asyncio.sleep(0)


class _Clock:
    """Does at once what Conch delays after a wrong password; its reactor does not run."""

    def callLater(self, seconds: float, function: Any, *arguments: Any) -> Any:
        if seconds <= SSHUserAuthServer.passwordDelay:
            function(*arguments)
        return self

    def cancel(self) -> None: ...


class _Login(SSHUserAuthServer):
    clock: Any = _Clock()


class _Factory(SSHFactory):
    services = {b"ssh-userauth": _Login, b"ssh-connection": SSHConnection}  # noqa: RUF012

    def __init__(self, server: SftpServer, folder: Path) -> None:
        key = server.host_key
        self.privateKeys = {key.sshType(): key}
        self.publicKeys = {key.sshType(): key.public()}
        passwords = InMemoryUsernamePasswordDatabaseDontUse()
        passwords.addUser(USER.encode(), PASSWORD.encode())
        self.portal = Portal(_Realm(folder), [passwords, _KeyChecker(server)])


class _KeyChecker:
    credentialInterfaces = (ISSHPrivateKey,)

    def __init__(self, server: SftpServer) -> None:
        self._server = server

    def requestAvatarId(self, credentials: Any) -> bytes:
        key = self._server.user_key.public()
        if credentials.username != USER.encode() or credentials.blob != key.blob():
            raise UnauthorizedLogin
        if not credentials.signature:
            raise ValidPublicKey
        if not key.verify(credentials.signature, credentials.sigData):
            raise UnauthorizedLogin
        return USER.encode()


class _Realm:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def requestAvatar(self, _name: bytes, _mind: object, *_: object) -> Any:
        return IConchUser, _User(self._folder), lambda: None


class _User(ConchUser):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = os.fsencode(folder)
        self.channelLookup[b"session"] = SSHSession
        self.subsystemLookup[b"sftp"] = FileTransferServer


@implementer(ISFTPServer)
class _Files:
    """The reading part of SFTP on a folder."""

    def __init__(self, user: _User) -> None:
        self._folder = user.folder

    def gotVersion(self, _version: int, _extensions: object) -> dict[str, str]:
        return {}

    def realPath(self, path: bytes) -> bytes:
        return self._place(path)

    def getAttrs(self, path: bytes, followLinks: bool) -> dict[str, int]:
        return attributes_of(os.stat(self._place(path), follow_symlinks=followLinks))

    def openFile(self, path: bytes, flags: int, _attributes: object) -> "_File":
        return _File(self._place(path))

    def openDirectory(self, path: bytes) -> "_Folder":
        return _Folder(self._place(path))

    def _place(self, path: bytes) -> bytes:
        return os.path.join(self._folder, path)


@implementer(ISFTPFile)
class _File:
    def __init__(self, place: bytes) -> None:
        self._descriptor = os.open(place, os.O_RDONLY)

    def readChunk(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def getAttrs(self) -> dict[str, int]:
        return attributes_of(os.fstat(self._descriptor))

    def close(self) -> None:
        os.close(self._descriptor)


class _Folder:
    def __init__(self, place: bytes) -> None:
        self._place = place
        self._names = iter(sorted(os.listdir(place)))

    def __iter__(self) -> Iterator[tuple[bytes, bytes, dict[str, int]]]:
        return self

    def __next__(self) -> tuple[bytes, bytes, dict[str, int]]:
        name = next(self._names)
        return name, name, attributes_of(os.lstat(os.path.join(self._place, name)))

    def close(self) -> None:
        pass


def attributes_of(found: os.stat_result) -> dict[str, int]:
    return {
        "size": found.st_size,
        "uid": 0,
        "gid": 0,
        "permissions": found.st_mode,
        "atime": int(found.st_atime),
        "mtime": int(found.st_mtime),
    }


registerAdapter(_Files, _User, ISFTPServer)


class _Socket(asyncio.Protocol):
    """Passes the bytes of a connection to Conch."""

    def __init__(self, server: SftpServer) -> None:
        self._server = server
        self._ssh: Any = server._factory.buildProtocol(None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._server.transports.append(transport)
        self._ssh.makeConnection(_Wire(transport))

    def data_received(self, data: bytes) -> None:
        self._ssh.dataReceived(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ssh.connectionLost(Failure(ConnectionDone()))


class _Wire:
    def __init__(self, transport: Any) -> None:
        self.write = transport.write
        self.loseConnection = transport.close

    def getPeer(self) -> None: ...

    def getHost(self) -> None: ...

    def setTcpNoDelay(self, _: object) -> None: ...
