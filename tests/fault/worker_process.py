"""Processes of the platform that kill, stop, delay or fail themselves where a test says.

Run as a program this is a nursery: it imports the library once (0.5 s, and 2 s more for LiteLLM) and forks a process
for each line of JSON (`Orders`) that it reads, so that a test gets a real process in 0.1 s. `tests.fault.processes`
is its other end. It ends when that end is closed, and its children are killed whenever it ends.
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from threading import Timer
from typing import Any

from analytiq import clock
from analytiq.composition import Services, bootstrap
from analytiq.inference.providers.litellm_module import provider_of
from analytiq.ingestion.knowledge_bases.service import NewKnowledgeBase
from analytiq.models.upload import DuplicatePolicy
from analytiq.settings import read_settings
from analytiq.telemetry import checkpoints, logs
from api.__main__ import serve
from reconciler.__main__ import run as run_reconciler
from tests.integration.tenant import REMOTE_MODEL
from workers.__main__ import run

KILL = "kill"
STOP = "stop"
WAIT = "wait"
FAIL = "fail"
LOOK_SECONDS = 0.01
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """The event at the `nth` passing of a checkpoint: KILL, STOP (until SIGCONT), WAIT (until let go) or FAIL.

    KILL comes `delay_seconds` later, wherever the process is then.
    """

    checkpoint: str
    act: str = KILL
    nth: int = 1
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Orders:
    """The kind of a process (a worker, unless it is an API or a reconciler) and its work.

    `directory` holds its log, and a file for each fault that has come about. `call` is empty for a worker, else what
    it calls: `("upload", organization_id, {...})` or `("create_knowledge_base", organization_id, {...})`. `constants`
    are set before it begins, by their dotted names. Its wall clock is `clock_seconds` ahead.
    """

    directory: str
    environment: dict[str, str]
    faults: list[Fault] = field(default_factory=list)
    call: tuple[str, str, dict[str, Any]] | None = None
    constants: dict[str, Any] = field(default_factory=dict)
    clock_seconds: float = 0.0
    is_api: bool = False
    is_reconciler: bool = False

    def as_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def of_line(cls, line: str) -> "Orders":
        fields: dict[str, Any] = json.loads(line)
        fields["faults"] = [Fault(**fault) for fault in fields["faults"]]
        return cls(**fields)


def reached_file(directory: Path, checkpoint: str) -> Path:
    """Is there once a fault has come about at the checkpoint."""
    return directory / f"reached-{checkpoint}"


def go_file(directory: Path, checkpoint: str) -> Path:
    """Lets a process go on that waits at the checkpoint."""
    return directory / f"go-{checkpoint}"


class Saboteur:
    """The hook of the checkpoints."""

    def __init__(self, orders: Orders) -> None:
        self._directory = Path(orders.directory)
        self._faults = {(fault.checkpoint, fault.nth): fault for fault in orders.faults}
        self._passed: Counter[str] = Counter()

    async def __call__(self, name: str) -> None:
        self._passed[name] += 1
        fault = self._faults.get((name, self._passed[name]))
        if fault is None:
            return
        reached_file(self._directory, name).touch()
        match fault.act:
            case "kill":
                if fault.delay_seconds:
                    # A thread, since the loop may be busy just then.
                    Timer(fault.delay_seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
                else:
                    os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "wait":
                while not go_file(self._directory, name).exists():
                    await asyncio.sleep(LOOK_SECONDS)
            case _:
                raise RuntimeError(f"the test lets {name} fail")


async def _call(name: str, organization_id: str, arguments: dict[str, Any]) -> None:
    services = await bootstrap(read_settings())
    try:
        await {"upload": _upload, "create_knowledge_base": _create}[name](services, organization_id, arguments)
    finally:
        await services.close()


async def _upload(services: Services, organization_id: str, arguments: dict[str, Any]) -> None:
    async def source() -> AsyncIterator[bytes]:
        yield arguments["content"].encode()

    staged = await services.ingestion.uploads.stage(
        organization_id, document_name=arguments["document_name"], content_type="text/plain", source=source()
    )
    await services.ingestion.uploads.commit(
        staged, tag_ids=arguments["tag_ids"], metadata=None, policy=DuplicatePolicy.RETURN
    )


async def _create(services: Services, organization_id: str, arguments: dict[str, Any]) -> None:
    organization = await services.tenancy.organizations.get(organization_id)
    arguments = {**arguments, "tag_ids": tuple(arguments["tag_ids"])}
    wanted = NewKnowledgeBase(**arguments)
    await services.ingestion.knowledge_bases.create(organization, wanted)


def _be(orders: Orders) -> int:
    """Be the process that is ordered; returns the exit status."""
    os.environ.update(orders.environment)
    for name, value in orders.constants.items():
        module, _, constant = name.rpartition(".")
        setattr(import_module(module), constant, value)
    if orders.clock_seconds:
        right_now = clock.now
        clock.now = lambda: right_now() + timedelta(seconds=orders.clock_seconds)
    checkpoints.install(Saboteur(orders))
    logs.configure(as_json=True, level="INFO", process="worker" if orders.call is None else "caller")
    if orders.is_api:
        asyncio.run(serve(read_settings()))
    elif orders.is_reconciler:
        asyncio.run(run_reconciler(read_settings()))
    else:
        asyncio.run(run(read_settings()) if orders.call is None else _call(*orders.call))
    return 0


def _fork(orders: Orders) -> int:
    nursery = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != nursery:
            os._exit(status)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(Path(orders.directory) / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for descriptor in (1, 2):
            os.dup2(log, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        status = _be(orders)
    except BaseException:  # noqa: BLE001  # nothing may return into the nursery's loop
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    """Fork for each line until there is no more."""
    provider_of(REMOTE_MODEL)  # imports LiteLLM here, once, and not in every child
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for exit statuses, and none may stay a zombie
    print("ready", flush=True)
    # Not by iterating: that reads ahead, and a child would share what was read.
    while line := sys.stdin.readline():
        print(_fork(Orders.of_line(line)), flush=True)


if __name__ == "__main__":
    main()
