"""The machine's cores and memory, and the work that fits them."""

import os
from dataclasses import dataclass
from pathlib import Path

from analytiq.settings import Settings

GIBIBYTE = 1024**3

CORES_PER_WORKER = 4
"""Cores that one worker process can use, since it has one interpreter lock: beyond, a second process is better."""
BYTES_PER_WORKER = 2 * GIBIBYTE
"""A worker with the local model takes 0.35 GB; the rest is for its parsers."""
BYTES_PER_SLOT = GIBIBYTE // 2
SLOTS_PER_CORE = 2
"""Job slots a core: a job waits for the database or a provider about half of its time."""
MAX_WORKERS = 8
MIN_SLOTS = 2
MAX_SLOTS = 16

_CGROUP_CPU = Path("/sys/fs/cgroup/cpu.max")
_CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class Machine:
    """Resources of this process: whole cores, at least 1, and bytes of memory."""

    cores: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """Worker processes, the job slots of each, and each one's threads for the local embedding model."""

    workers: int
    slots: int
    threads: int

    def describe(self, machine: Machine) -> str:
        """Describe the capacity with its reason in a sentence."""
        workers = _counted(self.workers, "worker")
        each = " each" if self.workers > 1 else ""
        work = f"{workers} with {_counted(self.slots, 'job slot')} and {_counted(self.threads, 'model thread')}{each}"
        memory = f"{machine.memory_bytes / GIBIBYTE:.0f} GiB of memory"
        return f"Running {work}, for {_counted(machine.cores, 'core')} and {memory}."


def plan_capacity(machine: Machine, settings: Settings, *, workers: int | None) -> Capacity:
    """Choose the numbers of workers, slots and threads for the machine; keep the user's settings.

    With more than two cores, one is left to the API and the database.

    Args:
        machine: the resources of this process.
        settings: `worker.concurrency` and `embedding.local_threads` are kept if the environment names them.
        workers: the user's number; None to choose it.
    """
    cores = machine.cores if machine.cores <= 2 else machine.cores - 1
    fitting = min(cores // CORES_PER_WORKER, machine.memory_bytes // BYTES_PER_WORKER, MAX_WORKERS)
    chosen = workers or max(1, fitting)
    threads = max(1, cores // chosen)
    fitting_slots = min(threads * SLOTS_PER_CORE, machine.memory_bytes // (BYTES_PER_SLOT * chosen), MAX_SLOTS)
    return Capacity(
        workers=chosen,
        slots=settings.worker.concurrency
        if "concurrency" in settings.worker.model_fields_set
        else max(MIN_SLOTS, fitting_slots),
        threads=settings.embedding.local_threads if "local_threads" in settings.embedding.model_fields_set else threads,
    )


def read_machine() -> Machine:
    """Read the cores and the memory that this process may use, container limits included."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    quota = parse_cpu_quota(_read(_CGROUP_CPU))
    limit = _read(_CGROUP_MEMORY)
    return Machine(
        cores=max(1, cores if quota is None else min(cores, quota)),
        memory_bytes=min(memory_bytes, int(limit)) if limit.isdigit() else memory_bytes,
    )


def parse_cpu_quota(text: str) -> int | None:
    """Return the whole cores granted by a `cpu.max` of cgroup version 2; None for no limit.

    Source: Linux, Documentation/admin-guide/cgroup-v2.rst: "$MAX $PERIOD", in microseconds.
    """
    parts = text.split()
    if len(parts) != 2 or not all(part.isdigit() for part in parts) or int(parts[1]) == 0:
        return None
    return max(1, int(parts[0]) // int(parts[1]))


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
