"""Worker processes, as they announce themselves."""

from datetime import datetime

from analytiq.models.job import JobKind
from analytiq.models.stored import Stored


class Worker(Stored):
    """A row of `workers`; its id is the process's name, by which its jobs name it too; `host` and `pid` find it.

    `concurrency` is how many jobs it runs at once at most, `running` how many it did when it was last seen;
    `ocr_languages` are those whose data its machine has; `problems` are sentences on what it cannot do well.
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
    """Jobs of one organization that a worker runs: some of them, and how many there are."""

    jobs: tuple[JobInShort, ...] = ()
    count: int = 0
