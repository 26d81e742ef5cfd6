"""State of an embedded server for the next start: port and process."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from analytiq.standalone.data_directory import write_private_file


class RunningServer(BaseModel):
    """A process id, with the data that distinguishes it from a later process with the same id."""

    model_config = ConfigDict(frozen=True)

    pid: int
    started_ticks: int
    """Start of the process since boot, in clock ticks: field 22 of /proc/<pid>/stat."""

    @classmethod
    def of(cls, pid: int) -> "RunningServer | None":
        """Identify the running process; return None if there is none."""
        ticks = _started_ticks(pid)
        return None if ticks is None else cls(pid=pid, started_ticks=ticks)

    def serves(self, data: Path) -> bool:
        """Return whether this process still runs, as a mongod on this dbPath."""
        if _started_ticks(self.pid) != self.started_ticks:
            return False
        try:
            arguments = Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return b"--dbpath" in arguments and str(data).encode() in arguments


class ServerState(BaseModel):
    """The content of mongod.json."""

    model_config = ConfigDict(frozen=True)

    port: int | None = None
    process: RunningServer | None = None

    @classmethod
    def read(cls, file: Path) -> "ServerState":
        """Read the last state; return an empty one if the file is missing or damaged."""
        try:
            return cls.model_validate_json(file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, file: Path) -> None:
        """Replace the file durably."""
        write_private_file(file, self.model_dump_json())


def _started_ticks(pid: int) -> int | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself hold spaces and parentheses.
    state, *rest = line.rpartition(")")[2].split()
    return None if state == "Z" else int(rest[18])
