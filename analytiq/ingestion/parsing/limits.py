"""Resource limits for parsing one document, set in the child before it opens the document."""

import resource
from dataclasses import dataclass
from pathlib import Path

OPEN_FILES = 256
CPU_GRACE_SECONDS = 5
"""Delay of the hard limit, which kills survivors of the soft one; the soft limit reveals its cause by SIGXCPU."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of the child process that parses one document."""

    memory_bytes: int = 1536 * 1024 * 1024
    """Address space beyond what the server has mapped before it forks the child."""
    cpu_seconds: int = 600
    wall_seconds: float = 900.0
    output_bytes: int = 256 * 1024 * 1024
    """Most bytes of the extracted text, as JSON; also the largest file that the child may write."""
    file_bytes: int | None = None
    """The file size from which `cpu_seconds` was derived, for the error."""


def apply_limits(limits: ParseLimits) -> None:
    """Limit the calling process, for good."""
    _lower(resource.RLIMIT_CORE, 0, 0)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + CPU_GRACE_SECONDS)
    _lower(resource.RLIMIT_FSIZE, limits.output_bytes, limits.output_bytes)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
    # Last: from here on an allocation may fail.
    memory = mapped_bytes() + limits.memory_bytes
    _lower(resource.RLIMIT_AS, memory, memory)


def mapped_bytes() -> int:
    """Return the address space of the calling process; 0 if the system does not report it (macOS)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _lower(kind: int, soft: int, hard: int) -> None:
    # A lower limit set by the administrator stays: raising it is neither allowed nor wanted.
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
