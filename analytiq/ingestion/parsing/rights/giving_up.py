"""The order in which a process gives up its rights."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from analytiq.ingestion.parsing.rights import kernel, landlock, seccomp


@dataclass(frozen=True, slots=True)
class Support:
    """The isolation features of the kernel; a container's filter can hide them."""

    landlock_version: int
    """0 means none."""
    has_seccomp: bool


def supported() -> Support:
    """Return the features reported by the kernel."""
    return Support(landlock.version(), seccomp.is_supported())


def thread_count() -> int:
    """Return the number of threads of the calling process."""
    return sum(1 for _ in Path("/proc/self/task").iterdir()) if kernel.IS_LINUX else 1


def give_up(
    *, readable: Iterable[Path], keep_descriptors: Iterable[int], allow_threads: bool = False, support: Support
) -> None:
    """Restrict the calling process for good; it must have one thread, since the kernel restricts the calling thread.

    Args:
        readable: Files and directories with their content that stay readable. Nothing stays writable.
        keep_descriptors: Besides 0 to 2; all others are closed.
        allow_threads: Let the process start threads, which are restricted too.
        support: The kernel's features to use.

    Raises:
        OSError: The kernel refused a feature that it reports.
        RuntimeError: The process has several threads.
    """
    if (support.landlock_version or support.has_seccomp) and thread_count() != 1:
        raise RuntimeError("Cannot give up rights: the process has several threads, and only one would be bound.")
    _close_all_but(keep_descriptors)
    kernel.forbid_new_privileges()
    kernel.forbid_memory_reads()
    if support.landlock_version:
        landlock.restrict(readable, version=support.landlock_version)
    # Last, as it refuses what the others need.
    if support.has_seccomp:
        seccomp.restrict(allow_threads=allow_threads)


def _close_all_but(kept: Iterable[int]) -> None:
    lowest = 3
    for descriptor in sorted(set(kept)):
        os.closerange(lowest, descriptor)
        lowest = max(lowest, descriptor + 1)
    os.closerange(lowest, 1 << 20)
