"""SMB sources on a strict server, on hostile ones, and on a real Samba where it is installed."""

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError, PermanentError, TransientError
from analytiq.ingestion.sources.base import ItemGoneError, ItemRefusedError, KnownItem, ListedItem, SourceContext
from analytiq.ingestion.sources.connections.outbound import ForbiddenAddressError
from analytiq.ingestion.sources.connections.service_client import CredentialsRefusedError
from analytiq.ingestion.sources.kinds.smb import SmbConnector, SmbCredentials, SmbSettings
from analytiq.ingestion.sources.registry import validated
from analytiq.ingestion.sources.systems.smb import client, protocol
from analytiq.ingestion.sources.systems.smb.listing import entries_of
from analytiq.settings import SourceSettings
from tests.fakes import samba, smb_server
from tests.fakes.smb_server import Entry, SmbServer

SYMBOLIC_LINK, JUNCTION, DEDUPLICATED = 0xA000000C, 0xA0000003, 0x80000013
REPARSE_POINT, HIDDEN, FOLDER, FILE = 0x400, 0x2, 0x10, 0x80
needs_samba = pytest.mark.skipif(not samba.CAN_RUN, reason="Samba is not installed, or the tests do not run as root")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SmbServer]:
    with SmbServer(tmp_path) as made:
        yield made


def connector_of(
    server: SmbServer | int,
    settings: Mapping[str, JsonValue] | None = None,
    credentials: Mapping[str, JsonValue] | None = None,
    *,
    private_hosts: tuple[str, ...] = ("127.0.0.1",),
) -> SmbConnector:
    async def nothing_known(_: Sequence[str]) -> Mapping[str, KnownItem]:
        return {}

    context = SourceContext(
        organization_id="a" * 24,
        operator=SourceSettings(private_hosts=private_hosts),
        find_known=nothing_known,
        accepts=lambda _: True,
        max_item_bytes=1_000_000,
    )
    port = server if isinstance(server, int) else server.port
    values = {"server": "127.0.0.1", "port": port, "share": smb_server.SHARE, **(settings or {})}
    login = {"user": smb_server.USER, "password": smb_server.PASSWORD, **(credentials or {})}
    return SmbConnector(
        settings=validated(SmbSettings, values, field="settings"),
        credentials=validated(SmbCredentials, login, field="credentials"),
        context=context,
    )


async def items_of(connector: SmbConnector) -> dict[str, ListedItem]:
    return {item.name: item async for batch in connector.list_changes(None) for item in batch.items}


async def problems_of(connector: SmbConnector) -> list[str]:
    return [problem async for batch in connector.list_changes(None) for problem in batch.problems]


async def content_of(connector: SmbConnector, item: ListedItem) -> bytes:
    return b"".join([block async for block in (await connector.fetch(item)).content])


async def test_files_are_read_and_nothing_stays_open(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/größe.txt").write_text("ten euros")
    content = os.urandom(700_000)
    (tmp_path / "large.bin").write_bytes(content)
    connector = connector_of(server)
    items = await items_of(connector)
    assert sorted(items) == ["a/größe.txt", "large.bin"]
    assert await content_of(connector, items["a/größe.txt"]) == b"ten euros"
    assert await content_of(connector, items["large.bin"]) == content
    await connector.check()
    assert server.open_handles <= 1  # the last is closed beside
    await connector.close()
    assert server.accesses == {0x81}, "reads data and attributes"


async def test_folder_below_the_share_may_be_the_source(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c.txt").write_text("c")
    (tmp_path / "other.txt").write_text("other")
    connector = connector_of(server, {"path": "\\a\\b\\"})
    assert list(await items_of(connector)) == ["c.txt"]
    await connector.close()


async def test_neither_name_nor_environment_of_the_machine_takes_part(
    server: SmbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETBIOS_COMPUTER_NAME", "INNER-NAME")
    monkeypatch.setenv("LM_COMPAT_LEVEL", "0")  # the first version of NTLM, which the server refuses
    connector = connector_of(server)
    await connector.check()
    await connector.close()
    assert server.workstations == [""]


async def test_private_address_is_refused_before_a_connection(server: SmbServer) -> None:
    connector = connector_of(server, private_hosts=())
    with pytest.raises(ForbiddenAddressError):
        await connector.check()
    await connector.close()
    assert not server.workstations


@pytest.mark.parametrize(
    ("settings", "credentials", "error", "told"),
    [
        ({}, {"password": "wrong"}, CredentialsRefusedError, "does not accept the user and password"),
        ({}, {"domain": "ELSEWHERE"}, CredentialsRefusedError, "does not accept the user and password"),
        ({"share": "none"}, {}, InvalidInputError, "no such share"),
        ({"path": "none"}, {}, InvalidInputError, "no such folder"),
        ({"require_encryption": True}, {}, InvalidInputError, "does not encrypt"),
    ],
)
async def test_wrong_settings_are_told(
    server: SmbServer,
    settings: dict[str, JsonValue],
    credentials: dict[str, JsonValue],
    error: type[Exception],
    told: str,
) -> None:
    connector = connector_of(server, settings, credentials)
    with pytest.raises(error, match=told):
        await connector.check()
    await connector.close()


async def test_domain_is_sent(server: SmbServer) -> None:
    connector = connector_of(server, credentials={"domain": smb_server.DOMAIN})
    await connector.check()
    await connector.close()


async def test_guest_is_refused(server: SmbServer) -> None:
    server.is_guest = True
    connector = connector_of(server)
    with pytest.raises(TransientError, match="does not sign"):
        await connector.check()
    await connector.close()


def without_signature(answer: bytes) -> bytes:
    return answer[:16] + struct.pack("<L", 0x1) + answer[20:48] + bytes(16) + answer[64:]


def as_another_command(answer: bytes) -> bytes:
    unsigned = without_signature(answer)
    return unsigned[:12] + struct.pack("<H", smb_server.SETUP) + unsigned[14:]


def of_several(answer: bytes) -> bytes:
    return answer[:20] + struct.pack("<L", 8) + answer[24:]


def altered(answer: bytes) -> bytes:
    return answer[:-1] + bytes([answer[-1] ^ 1])


@pytest.mark.parametrize("change", [without_signature, as_another_command, of_several, altered])
@pytest.mark.parametrize("command", [smb_server.QUERY, smb_server.CREATE, smb_server.TREE])
async def test_answer_without_the_right_signature_is_refused(
    server: SmbServer, change: Callable[[bytes], bytes], command: int
) -> None:
    server.alter = lambda asked, answer: change(answer) if asked == command else answer
    connector = connector_of(server)
    with pytest.raises(TransientError):
        await connector.check()
    await connector.close()


async def test_long_lists_in_answers_are_not_read(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    server.contexts = (struct.pack("<LHHHHL", 16, 16, 0, 0, 0, 0)) * 40_000  # minutes of the library's time
    connector = connector_of(server)
    assert await content_of(connector, (await items_of(connector))["a.txt"]) == b"x"
    await connector.close()
    server.alter = lambda command, answer: answer + bytes(8192) if command == smb_server.NEGOTIATE else answer
    connector = connector_of(server)
    with pytest.raises(TransientError, match="cannot be understood"):
        await connector.check()
    await connector.close()


async def test_links_are_not_followed_and_deduplicated_files_are_read(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "deduplicated.txt").write_text("stored once")
    server.extra[tmp_path] = [
        Entry("link.txt", FILE | REPARSE_POINT, SYMBOLIC_LINK),
        Entry("junction", FOLDER | REPARSE_POINT, JUNCTION),
        Entry("deduplicated.txt", FILE | REPARSE_POINT, DEDUPLICATED),
    ]
    connector = connector_of(server)
    items = await items_of(connector)
    assert {name for name, item in items.items() if item.skip_reason} == {"link.txt", "junction"}
    assert await content_of(connector, items["deduplicated.txt"]) == b"stored once"
    assert await connector.find("junction/a.txt") is None
    await connector.close()


async def test_folder_that_contains_itself_is_a_link(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c.txt").write_text("c")
    (tmp_path / "a/b/around").symlink_to(tmp_path / "a")
    connector = connector_of(server)
    items = await items_of(connector)
    assert {name: bool(item.skip_reason) for name, item in items.items()} == {"a/b/around": True, "a/b/c.txt": False}
    assert await connector.find("a/b/around/b/c.txt") is None
    assert await connector.find("a/b/c.txt") == items["a/b/c.txt"]
    await connector.close()


async def test_names_that_lead_elsewhere_are_left_out(server: SmbServer, tmp_path: Path) -> None:
    server.extra[tmp_path] = [
        *(Entry(name) for name in ("..\\secret.txt", "../secret.txt", "", "a\0b", "bell\a.txt")),
        Entry("half \ud800.txt"),
        Entry("half \ud800", FOLDER),
    ]
    connector = connector_of(server)
    found = [item async for batch in connector.list_changes(None) for item in batch.items]
    assert all(item.skip_reason for item in found)
    assert sorted(item.name for item in found) == ["bell?.txt", "half ?.txt"]
    assert any("not valid Unicode" in problem for problem in await problems_of(connector))
    for unknown in ("..\\secret.txt", "*", "?.txt", "a.txt:stream"):
        assert await connector.find(unknown) is None
    await connector.close()


async def test_hidden_files_are_read_when_asked(server: SmbServer, tmp_path: Path) -> None:
    server.extra[tmp_path] = [Entry("~$draft.docx", FILE | HIDDEN)]
    (tmp_path / ".profile").write_text("x")
    for is_asked in (False, True):
        connector = connector_of(server, {"include_hidden": is_asked})
        assert sorted(await items_of(connector)) == ([".profile", "~$draft.docx"] if is_asked else [])
        await connector.close()


async def test_case_of_a_name_counts(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "Report.txt").write_text("x")
    connector = connector_of(server)
    assert await connector.find("report.txt") is None
    assert await connector.find("Report.txt") is not None
    await connector.close()


async def test_folder_without_end_is_refused(
    server: SmbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_ENTRIES", 300)
    (tmp_path / "a.txt").write_text("x")
    server.endless = True
    connector = connector_of(server)
    with pytest.raises(PermanentError, match="more than 300 entries"):
        await items_of(connector)
    await connector.close()


@pytest.mark.parametrize(
    ("status", "told"),
    [(0xC0000022, "denies the permission"), (0xC0000257, "another server"), (0x8000002D, "symbolic link")],
)
async def test_folder_that_is_refused_is_a_problem(server: SmbServer, tmp_path: Path, status: int, told: str) -> None:
    (tmp_path / "a").mkdir()
    connector = connector_of(server)
    await connector.check()
    root = await connector.entries(())
    server.statuses[smb_server.CREATE] = status
    with pytest.raises(PermanentError, match=told):
        await connector.entries((root[0].name,))
    await connector.close()


async def test_session_that_the_server_ended_is_opened_again(server: SmbServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    connector = connector_of(server)
    server.statuses[smb_server.QUERY] = 0xC0000203
    with pytest.raises(TransientError):
        await connector.check()
    server.statuses.clear()
    assert list(await items_of(connector)) == ["a.txt"]
    await connector.close()
    assert len(server.workstations) == 2


async def test_file_that_is_gone_or_too_large_or_locked_is_told(server: SmbServer, tmp_path: Path) -> None:
    for name in ("gone.txt", "large.bin", "locked.txt"):
        (tmp_path / name).write_bytes(bytes(1_000_001 if name == "large.bin" else 1))
    connector = connector_of(server)
    items = await items_of(connector)
    (tmp_path / "gone.txt").unlink()
    with pytest.raises(ItemGoneError):
        await content_of(connector, items["gone.txt"])
    with pytest.raises(ItemRefusedError, match="Larger than"):
        await content_of(connector, items["large.bin"])
    server.statuses[smb_server.CREATE] = 0xC0000043
    with pytest.raises(TransientError, match="locked"):
        await content_of(connector, items["locked.txt"])
    await connector.close()


async def test_file_that_changes_while_it_is_read_is_read_again(server: SmbServer, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("first")
    connector = connector_of(server)
    items = await items_of(connector)

    def change(command: int, answer: bytes) -> bytes:
        if command == smb_server.READ:
            file.write_text("second, longer")
        return answer

    server.alter = change
    with pytest.raises(TransientError, match="changed while"):
        await content_of(connector, items["a.txt"])
    await connector.close()


@contextlib.contextmanager
def answering(answer: bytes) -> Generator[int]:
    """A server that answers every connection with these bytes, and keeps it open."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connections.append(listening.accept()[0])
                    connections[-1].sendall(answer)

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for connection in connections:
                connection.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"\xff\xff\xff\xff",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0\0\0\x40\xfeSMB" + bytes(60),
        b"\0\0\0\x04\xfdSMB",
        b"\0\0\0\0",
    ],
)
async def test_server_that_speaks_no_smb_is_told(answer: bytes) -> None:
    with answering(answer) as port:
        connector = connector_of(port)
        with pytest.raises(TransientError, match="cannot be understood"):
            await connector.check()
        await connector.close()


async def test_silent_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "CONNECT_SECONDS", 0.2)
    with answering(b"") as port:
        connector = connector_of(port)
        with pytest.raises(TransientError, match="did not answer within"):
            await connector.check()
        await connector.close()


async def test_answer_that_does_not_come_is_given_up(
    server: SmbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x")
    connector = connector_of(server)
    items = await items_of(connector)
    is_over = threading.Event()
    monkeypatch.setattr(protocol, "CALL_SECONDS", 1)

    def hold(_: int, answer: bytes) -> bytes:
        is_over.wait(30)
        return answer

    server.alter = hold
    with pytest.raises(TransientError):
        await content_of(connector, items["a.txt"])
    is_over.set()
    await connector.close()


def entry(name: bytes = b"a\0", *, following: int = 0, length: int | None = None) -> bytes:
    size = len(name) if length is None else length
    return struct.pack("<LL4QQQLLLLQ", following, 0, 0, 0, 0, 2**64 - 1, 0, 0, FILE, size, 0, 0, 7) + name


@pytest.mark.parametrize(
    "page",
    [b"", bytes(40), entry(length=4), entry(b"abc"), entry(following=1) + entry(), entry(following=88) + b"cut off"],
)
def test_damaged_page_of_a_folder_is_refused(page: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        list(entries_of(page))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("server", "files.example.com/share"),
        ("server", "\\\\files"),
        ("share", "a\\b"),
        ("share", "  "),
        ("path", "a/../b"),
        ("path", "a*"),
        ("path", "a:stream"),
    ],
)
def test_wrong_setting_is_refused(field: str, value: str) -> None:
    values: dict[str, JsonValue] = {"server": "files.example.com", "share": "papers", field: value}
    with pytest.raises(InvalidInputError):
        validated(SmbSettings, values, field="settings")


@needs_samba
@pytest.mark.parametrize(("newest", "encrypts"), [("SMB3_11", True), ("SMB3_00", True), ("SMB2_10", False)])
async def test_samba_is_read_encrypted_or_signed(newest: str, *, encrypts: bool) -> None:
    with samba.Samba(protocol=newest) as server:
        content = os.urandom(900_000)
        (server.folder / "a/b").mkdir(parents=True)
        (server.folder / "a/large.bin").write_bytes(content)
        (server.folder / "a/b/around").symlink_to("..")
        for number in range(700):
            (server.folder / f"a/b/{number}.txt").write_text(f"{number}")
        login: dict[str, JsonValue] = {"user": samba.USER, "password": samba.PASSWORD}
        connector = connector_of(server.port, {"require_encryption": encrypts}, login)
        items = await items_of(connector)
        assert len(items) == 702
        assert [name for name, item in items.items() if item.skip_reason] == ["a/b/around"]
        assert await content_of(connector, items["a/large.bin"]) == content
        assert await connector.find("a/b/7.txt") is not None
        await connector.close()
        for wrong in ({"password": "wrong"}, {"user": "unknown"}):
            connector = connector_of(server.port, credentials={**login, **wrong})
            with pytest.raises(CredentialsRefusedError):
                await connector.check()
            await connector.close()
