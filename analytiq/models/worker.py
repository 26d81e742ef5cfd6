"""Worker processes, as they announce themselves."""

from datetime import datetime

from analytiq.models.job import JobKind
from analytiq.models.stored import Stored


class Worker(Stored):
    """A row of `workers`; its id is the process's name, which its jobs store; `host` and `pid` locate it.

    `concurrency`: its most concurrent jobs; `running`: their number at the last heartbeat. `ocr_languages`: those
    installed on its machine. `problems` are sentences on its limitations.
    """

    id: str
    host: str = ""
    pid: int = 0
    started_at: datetime
    seen_at: datetime
    concurrency: int
    running: int
    ocr_languages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class JobInShort(Stored):
    """A job that a worker runs."""

    id: str
    kind: JobKind


class RunningJobs(Stored):
    """Jobs of one organization that a worker runs: some of them, and their number."""

    jobs: tuple[JobInShort, ...] = ()
    count: int = 0
