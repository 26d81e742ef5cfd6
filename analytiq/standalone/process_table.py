"""The running processes of a data directory, as /proc shows them."""

import contextlib
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from analytiq.standalone.data_directory import LOCK_FILE, Holder

KIBIBYTE = 1024


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A process of the platform; `memory_bytes` includes its share of shared pages (PSS), if readable."""

    pid: int
    name: str
    memory_bytes: int


def holder_of(data_dir: Path) -> Holder | None:
    """Return the living process that runs the platform on a data directory."""
    try:
        holder = Holder.model_validate_json((data_dir.expanduser() / LOCK_FILE).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    return holder if Path(f"/proc/{holder.pid}").exists() else None


def processes_of(pid: int) -> list[RunningProcess]:
    """List a process of the platform with all its descendants."""
    return list(_with_children(pid))


def _with_children(pid: int) -> Iterator[RunningProcess]:
    # A process may end during the look; then it is no longer listed.
    with contextlib.suppress(OSError):
        yield RunningProcess(pid, _name(pid), _memory_bytes(pid))
        for tasks in sorted(Path(f"/proc/{pid}/task").iterdir()):
            for child in (tasks / "children").read_text(encoding="ascii").split():
                yield from _with_children(int(child))


def _name(pid: int) -> str:
    arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    if any(argument.endswith("bound_process.py") for argument in arguments):
        return arguments[-2]
    if any(argument.endswith("process_forking.py") for argument in arguments):
        return "fork server"
    if "embedded_guardian.py" in " ".join(arguments):
        return "guardian of mongod"
    if any("analytiq.ingestion.parsing.fork_server" in argument for argument in arguments):
        return "parsing server"
    program = Path(arguments[0]).name
    if program.startswith("python"):
        return " ".join(Path(argument).name for argument in arguments[1:4] if argument)[:40]
    return program


def _memory_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except PermissionError:
        # A process that holds keys hides its pages from its own user's processes; shared ones are counted whole.
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    shares = (line.split()[1] for line in lines if line.startswith("Pss:"))
    return int(next(shares, "0")) * KIBIBYTE
