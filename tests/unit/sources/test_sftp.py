"""SFTP sources on a real SSH server: keys, logins, files, and servers that fail."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat
from pydantic import JsonValue

from analytiq.errors import AnalytiqError, InvalidInputError, TransientError
from analytiq.ingestion.sources.base import ItemGoneError, ItemRefusedError, KnownItem, ListedItem, SourceContext
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.sftp import SftpConnector, SftpCredentials, SftpSettings
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.sftp import client
from analytiq.ingestion.sources.systems.sftp.host_keys import HostKey, fingerprint_of
from analytiq.ingestion.sources.systems.sftp.ssh import HostKeyError
from analytiq.settings import SourceSettings
from tests.fakes.sftp_server import PASSWORD, USER, SftpServer, new_key

LOGIN: dict[str, JsonValue] = {"user": USER, "password": PASSWORD}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SftpServer]:
    with SftpServer(tmp_path) as made:
        yield made


def fingerprint(server: SftpServer) -> str:
    return fingerprint_of(server.host_key.public().blob())


def connector_of(
    server: SftpServer,
    settings: Mapping[str, JsonValue] | None = None,
    *,
    credentials: Mapping[str, JsonValue] = LOGIN,
    private_hosts: tuple[str, ...] = ("127.0.0.1",),
) -> SftpConnector:
    async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
        return {}

    context = SourceContext(
        organization_id="a" * 24,
        operator=SourceSettings(private_hosts=private_hosts),
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=1_000_000,
    )
    values = {"host": "127.0.0.1", "port": server.port, "host_key": fingerprint(server), **(settings or {})}
    return SftpConnector(
        settings=validated(SftpSettings, values, field="settings"),
        credentials=validated(SftpCredentials, credentials, field="credentials"),
        context=context,
    )


async def items_of(connector: SftpConnector) -> dict[str, ListedItem]:
    return {item.name: item async for batch in connector.list_changes(None) for item in batch.items}


async def content_of(connector: SftpConnector, item: ListedItem) -> bytes:
    return b"".join([block async for block in (await connector.fetch(item)).content])


async def refused(connector: SftpConnector) -> Exception:
    """Return the error of a check."""
    try:
        await connector.check()
    except AnalytiqError as error:
        return error
    finally:
        await connector.close()
    raise AssertionError("accepted")


async def test_server_is_not_trusted_without_its_key_and_the_test_shows_it(server: SftpServer) -> None:
    unknown = await refused(connector_of(server, {"host_key": ""}))
    assert isinstance(unknown, HostKeyError)
    assert f"ssh-ed25519 {fingerprint(server)}" in unknown.detail
    another = fingerprint_of(new_key().public().blob())
    other = await refused(connector_of(server, {"host_key": another}))
    assert isinstance(other, HostKeyError)
    assert "another key" in other.detail


@pytest.mark.parametrize("form", ["SHA256", "OPENSSH", "known_hosts", "ssh-keygen"])
async def test_key_is_given_as_fingerprint_or_whole(server: SftpServer, tmp_path: Path, form: str) -> None:
    (tmp_path / "a.txt").write_text("A")
    whole = server.host_key.public().toString("OPENSSH").decode()
    forms = {
        "SHA256": f"{fingerprint(server)}=",
        "OPENSSH": f"{whole} comment",
        "known_hosts": f"[127.0.0.1]:22 {whole}",
        "ssh-keygen": f"256 {fingerprint(server)} root@host (ED25519)",
    }
    connector = connector_of(server, {"host_key": forms[form]})
    assert (await items_of(connector)).keys() == {"a.txt"}
    await connector.close()


async def test_private_key_logs_in_and_others_do_not(server: SftpServer) -> None:
    encryption = PrivateFormat.OpenSSH.encryption_builder().kdf_rounds(1).build(b"a phrase")
    own = server.user_key._keyObject.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption).decode()
    connector = connector_of(server, credentials={"user": USER, "private_key": own, "passphrase": "a phrase"})
    await connector.check()
    await connector.close()
    for credentials in (
        {"user": USER, "private_key": new_key().toString("OPENSSH").decode()},
        {"user": USER, "password": "wrong"},
        {"user": "bob", "password": PASSWORD},
    ):
        assert isinstance(await refused(connector_of(server, credentials=credentials)), CredentialsRefusedError)


async def test_private_address_is_not_connected_to(server: SftpServer) -> None:
    assert isinstance(await refused(connector_of(server, private_hosts=())), ForbiddenAddressError)
    assert not server.transports


async def test_files_are_read_and_others_are_skipped_with_the_reason(server: SftpServer, tmp_path: Path) -> None:
    contents = {"ä/1.bin": os.urandom(500_000), "ä/2.bin": os.urandom(32 * 1024), "ä/3.bin": b"x"}
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "large.bin").write_bytes(b"x" * 1_000_001)
    (tmp_path / "empty.txt").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "link.txt").symlink_to("/etc/passwd")
    (tmp_path / "folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x")
    connector = connector_of(server)
    items = await items_of(connector)
    for name, content in contents.items():
        assert await content_of(connector, items[name]) == content
    assert {name: (item.skip_reason or "")[:15] for name, item in items.items() if name not in contents} == {
        "large.bin": "",
        "empty.txt": "The file is emp",
        "link.txt": "A symbolic link",
        "folder": "A symbolic link",
        "pipe": "Not a regular f",
        "?.txt": "The name is not",
    }
    with pytest.raises(ItemRefusedError):
        await content_of(connector, items["large.bin"])
    (tmp_path / "ä/3.bin").unlink()
    with pytest.raises(ItemGoneError):
        await content_of(connector, items["ä/3.bin"])
    await connector.close()


async def test_version_waits_until_a_file_is_settled(server: SftpServer, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("x")
    (tmp_path / "old.txt").write_text("x")
    os.utime(tmp_path / "old.txt", (1_700_000_000, 1_700_000_000))
    connector = connector_of(server)
    items = await items_of(connector)
    assert (items["new.txt"].version, items["old.txt"].version) == (None, "1:1700000000")
    await connector.close()


async def test_paths_that_are_no_folders_are_told(server: SftpServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A")
    for path in ("a.txt", "none", "/nowhere/at/all"):
        error = await refused(connector_of(server, {"path": path}))
        assert isinstance(error, InvalidInputError)
        assert error.errors[0].field == "settings.path"


async def test_lost_connection_is_told_and_opened_again(server: SftpServer, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(os.urandom(900_000))
    connector = connector_of(server)
    items = await items_of(connector)
    content = (await connector.fetch(items["a.bin"])).content
    assert await anext(content)
    server.cut()
    with pytest.raises(TransientError):
        [block async for block in content]
    assert len(await content_of(connector, items["a.bin"])) == 900_000
    await connector.close()


class Greeter:
    """A server that says something, and then nothing."""

    def __init__(self, greeting: bytes) -> None:
        self._greeting = greeting
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(5)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = self._socket.getsockname()[1]

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        with self._socket.accept()[0] as connection, contextlib.suppress(OSError):
            connection.settimeout(5)
            connection.sendall(self._greeting)
            while connection.recv(1000):
                pass


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n" * 400,
        b"SSH-2.0-x\r\n\xff\xff\xff\xff" + b"\0" * 100,
        b"SSH-1.5-old\r\n",
        b"",
    ],
)
async def test_other_servers_are_told(server: SftpServer, greeting: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 5.0 if greeting else 0.3)

    greeter = Greeter(greeting)
    with greeter:
        assert isinstance(await refused(connector_of(server, {"port": greeter.port})), TransientError)


@pytest.mark.parametrize("text", ["MD5:aa:bb", "SHA256:short", "ssh-rsa AAAA!", "nonsense"])
def test_other_keys_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="fingerprint"):
        HostKey.parse(text)


@pytest.mark.parametrize(
    "credentials",
    [
        {},
        {"user": "ada"},
        {"user": "ada", "private_key": "nonsense"},
        {"user": "ada", "private_key": "ssh-ed25519 AAAA"},
    ],
)
def test_incomplete_credentials_are_refused(credentials: dict[str, JsonValue]) -> None:
    with pytest.raises(InvalidInputError):
        validated(SftpCredentials, credentials, field="credentials")
