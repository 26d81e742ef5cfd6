"""A parser in an attacker's hands reaches nothing; each attempt is also made without the isolation, as a control."""

import asyncio
import json
import os
import platform
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pydantic import SecretStr

from analytiq.cli.doctor import check_isolation
from analytiq.composition import bootstrap
from analytiq.errors import InvalidInputError
from analytiq.ingestion.extraction.readiness import Readiness, examine_readiness
from analytiq.ingestion.parsing import servers
from analytiq.ingestion.parsing.base import ParseOptions
from analytiq.ingestion.parsing.isolation import BEST_EFFORT, Isolation, code_paths, refuse_readable_data
from analytiq.ingestion.parsing.limits import ParseLimits
from analytiq.ingestion.parsing.registry import default_registry
from analytiq.ingestion.parsing.rights import giving_up
from analytiq.ingestion.parsing.sandbox import examine, parse_in_child
from analytiq.settings import ExtractionSettings, MongoSettings, Settings
from tests.integration.parsing import hostile

REFUSALS = {"EPERM", "EACCES", "ENOSYS", "ENOTTY"}
VICTIM = dedent(
    """
    import ctypes, json, os, socket, sys, threading
    secret = ctypes.create_string_buffer(b"SECRET")
    def serve(listener):
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"SECRET")
    listeners = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
    abstract = f"analytiq-victim-{os.getpid()}"
    for listener, address in zip(listeners, [("127.0.0.1", 0), sys.argv[1], "\\0" + abstract]):
        listener.bind(address)
        listener.listen()
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
    print(json.dumps({"victim": os.getpid(), "address": ctypes.addressof(secret), "abstract": abstract,
                      "port": listeners[0].getsockname()[1], "socket": sys.argv[1]}), flush=True)
    sys.stdin.read()
    """
)


@pytest.fixture(scope="module")
def hostile_parser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The hostile parser as an installed package."""
    site = tmp_path_factory.mktemp("hostile")
    (site / "hostile_parser.py").write_text(Path(hostile.__file__).read_text())
    information = site / "hostile_parser-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-parser\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[analytiq.parsers]\nhostile = hostile_parser:Hostile\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        default_registry.cache_clear()
        yield
    default_registry.cache_clear()
    sys.modules.pop("hostile_parser", None)


@pytest.fixture(scope="module")
async def targets(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[hostile.Targets]:
    """A data directory with a secret, and a process of the same user that has another."""
    directory = tmp_path_factory.mktemp("data")
    secret, document, copy = directory / "secret.key", directory / "original", directory / "copy"
    secret.write_text("SECRET")
    document.write_text("document")
    copy.write_text("document")
    # The path of a socket has 107 characters at most.
    socket_path = os.path.relpath(directory / "s")
    socket_path = min(socket_path, str(directory / "s"), key=len)
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-c", VICTIM, socket_path, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert victim.stdout is not None
    assert victim.stdin is not None
    told = json.loads(await victim.stdout.readline())
    yield told | {
        "secret": str(secret),
        "beside": str(directory / "beside"),
        "document": str(document),
        "copy": str(copy),
        "home": str(Path.home()),
        "socket": str(directory / "s"),
    }
    victim.stdin.close()
    await victim.wait()


async def tried(name: str, targets: hostile.Targets, path: Path, isolation: Isolation) -> tuple[str, object]:
    path.write_text(json.dumps({"attempt": name, "targets": targets}))
    parsed = await parse_in_child(
        path,
        content_type="application/x-hostile",
        options=ParseOptions(),
        limits=ParseLimits(),
        isolation=isolation,
    )
    outcome, value = json.loads(parsed.pages[0].text)
    return outcome, value


@pytest.mark.usefixtures("hostile_parser")
@pytest.mark.parametrize("name", hostile.REACHING)
async def test_hostile_parser_is_refused_what_it_could_do_without_the_isolation(
    name: str, targets: hostile.Targets, tmp_path: Path
) -> None:
    path = tmp_path / "original"
    assert (await tried(name, targets, path, Isolation(mode="off")))[0] == "done"
    outcome, value = await tried(name, targets | {"copy": str(path)}, path, Isolation(mode="required"))
    assert (outcome, value in REFUSALS) == ("refused", True), value


@pytest.mark.usefixtures("hostile_parser")
@pytest.mark.parametrize("name", hostile.DEPENDING)
async def test_hostile_parser_is_refused_what_it_might_be_able_to_do(
    name: str, targets: hostile.Targets, tmp_path: Path
) -> None:
    outcome, value = await tried(name, targets, tmp_path / "original", Isolation(mode="required"))
    assert (outcome, value in REFUSALS) == ("refused", True), value


@pytest.mark.usefixtures("hostile_parser")
@pytest.mark.parametrize("name", hostile.NEEDED)
async def test_isolated_parser_can_do_what_it_needs(name: str, targets: hostile.Targets, tmp_path: Path) -> None:
    path = tmp_path / "original"
    outcome, value = await tried(name, targets | {"document": str(path)}, path, Isolation(mode="required"))
    assert outcome == "done", value


async def bound(targets: hostile.Targets, landlock_version: int, calls: str) -> dict[str, Any]:
    """Return the abilities of a process without rights on a kernel that offers so much."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        hostile.__file__,
        json.dumps(targets),
        str(landlock_version),
        calls,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    told, _ = await child.communicate()
    assert child.returncode == 0
    found: dict[str, Any] = json.loads(told)
    return found


@pytest.mark.parametrize("version", [1, 2, 4, 6])
async def test_older_kernels_with_landlock_refuse_as_much(version: int, targets: hostile.Targets) -> None:
    found = await bound(targets | {"copy": targets["document"]}, version, "seccomp")
    assert found["remaining"] == []
    assert found["leaked"] == "EBADF"
    hostile_attempts = hostile.REACHING | hostile.DEPENDING
    done = [name for name, (outcome, _) in found["results"].items() if outcome == "done"]
    assert set(done) & set(hostile_attempts) == set()
    assert set(done) == set(hostile.NEEDED)


async def test_examination_tells_what_each_half_leaves_possible(targets: hostile.Targets) -> None:
    files_alone = (await bound(targets, 6, "nothing"))["remaining"]
    assert "reach the network" in files_alone
    assert "read any file" not in files_alone
    calls_alone = (await bound(targets, 0, "seccomp"))["remaining"]
    assert calls_alone == ["read any file", "list any directory", "write files"]
    assert len((await bound(targets, 0, "nothing"))["remaining"]) == len(hostile_remaining())


def hostile_remaining() -> list[str]:
    from analytiq.ingestion.parsing.rights.attempts import ATTEMPTS

    return list(ATTEMPTS)


async def test_this_machine_isolates_parsers_and_all_can_be_imported() -> None:
    found = await examine(BEST_EFFORT)
    assert found.gap is None
    assert found.unavailable == ()


OLD_KERNEL = dedent(
    """
    # As on a kernel, or in a container, that knows no Landlock: landlock_create_ruleset (444) is not implemented.
    import asyncio, ctypes, errno, os, struct, sys
    from pathlib import Path
    from analytiq.cli.doctor import check_isolation
    from analytiq.errors import TransientError
    from analytiq.ingestion.extraction.readiness import examine_readiness
    from analytiq.ingestion.parsing.base import ParseOptions
    from analytiq.ingestion.parsing.isolation import Isolation
    from analytiq.ingestion.parsing.limits import ParseLimits
    from analytiq.ingestion.parsing.rights import kernel
    from analytiq.ingestion.parsing.rights.system_calls import BY_MACHINE
    from analytiq.ingestion.parsing.sandbox import parse_in_child
    from analytiq.settings import ExtractionSettings

    def instruction(code, value, if_true=0, if_false=0):
        return struct.pack("=HBBI", code, if_true, if_false, value)

    program = b"".join([instruction(0x20, 0), instruction(0x15, 444, 0, 1),
                        instruction(0x06, 0x00050000 | errno.ENOSYS), instruction(0x06, 0x7FFF0000)])
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("=HxxxxxxQ", 4, ctypes.addressof(buffer))
    kernel.forbid_new_privileges()
    kernel.checked("seccomp", kernel.system_call(BY_MACHINE[kernel.machine()].seccomp, 1, 0, header))

    async def parse(mode):
        return await parse_in_child(Path(sys.argv[1]), content_type="text/plain", options=ParseOptions(),
                                    limits=ParseLimits(), isolation=Isolation(mode=mode))

    print(asyncio.run(parse("best_effort")).pages[0].text)
    required = ExtractionSettings(isolation="required")
    for settings in (ExtractionSettings(), required):
        ready = asyncio.run(examine_readiness(settings))
        print(ready.reads_documents, len(ready.problems), check_isolation(settings, Path("/nonexistent")).verdict.name)
    try:
        asyncio.run(parse("required"))
    except TransientError as error:
        print(error.code, error.detail)
    """
)


async def test_where_isolation_is_required_and_landlock_is_missing_documents_are_refused(tmp_path: Path) -> None:
    document = tmp_path / "notes.txt"
    document.write_text("still read")
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OLD_KERNEL,
        str(document),
        stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    logged = (await child.communicate())[0].decode().splitlines()
    told = [line for line in logged if "extraction.parsers_not_isolated" not in line]
    assert len(logged) == len(told) + 2
    assert child.returncode == 0
    assert told[0] == "still read"
    assert told[1:3] == ["True 1 NOTE", "False 1 BAD"]
    assert told[3].startswith("parsers_not_isolated Parsers are not isolated")
    assert "could read any file" in told[3]
    assert "ANALYTIQ_EXTRACTION__ISOLATION=best_effort" in told[3]


async def test_worker_of_a_whole_kernel_is_ready_and_doctor_says_so(tmp_path: Path) -> None:
    settings = ExtractionSettings(isolation="required")
    assert await examine_readiness(settings) == Readiness()
    assert "no network" in str(await asyncio.to_thread(check_isolation, settings, tmp_path))
    off = await examine_readiness(ExtractionSettings(isolation="off"))
    assert off.reads_documents
    assert "ISOLATION is off" in off.problems[0]


async def test_process_whose_data_parsers_could_read_does_not_start() -> None:
    settings = Settings(data_dir=code_paths()[0] / "data", mongo=MongoSettings(uri=SecretStr("mongodb://127.0.0.1:1/")))
    with pytest.raises(InvalidInputError, match="which document parsers may read"):
        await bootstrap(settings)


async def test_server_is_replaced_after_its_share_of_documents_and_lets_its_children_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "DOCUMENTS_PER_SERVER", 3)
    servers.stop_server()
    path = tmp_path / "text.txt"
    path.write_text("words")

    async def parse() -> str:
        document = await parse_in_child(path, content_type="text/plain", options=ParseOptions(), limits=ParseLimits())
        return document.pages[0].text

    first = servers.running_server()
    assert await asyncio.gather(*(parse() for _ in range(7))) == ["words"] * 7
    assert servers.running_server().pid != first.pid
    async with asyncio.timeout(60):
        while first.is_alive:
            await asyncio.sleep(0.01)


def test_data_directory_that_parsers_could_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_readable_data(tmp_path)
    with pytest.raises(InvalidInputError, match=r"which document parsers may read.*ANALYTIQ_DATA_DIR"):
        refuse_readable_data(code_paths()[0] / "data")
    link = tmp_path / "link"
    link.symlink_to(code_paths()[0])
    with pytest.raises(InvalidInputError, match="ANALYTIQ_DATA_DIR"):
        refuse_readable_data(link / "data")
    with pytest.raises(InvalidInputError, match="ANALYTIQ_DATA_DIR"):
        refuse_readable_data(tmp_path / "data", extra=[tmp_path])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InvalidInputError, match="TMPDIR"):
        refuse_readable_data(Path("/nonexistent"), extra=[tmp_path])


def test_packages_below_the_home_directory_are_read_and_nothing_else_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / ".local" / "lib" / "python3.11" / "site-packages"
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [path for path in code_paths() if path.is_relative_to(tmp_path)] == [site]


def test_checkout_is_not_among_what_parsers_read() -> None:
    checkout = Path(__file__).parents[3]
    assert checkout not in code_paths()
    assert not any(checkout.is_relative_to(path) for path in code_paths())


def test_this_machine_has_both_halves() -> None:
    assert platform.machine() in {"x86_64", "aarch64"}
    assert giving_up.supported().landlock_version >= 1
    assert giving_up.supported().has_seccomp
