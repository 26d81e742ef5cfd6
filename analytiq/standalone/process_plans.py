"""The processes of the platform and their environments."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from analytiq.settings import child_environment
from analytiq.standalone.machine import Capacity
from analytiq.standalone.supervision import ProcessPlan

SMALL_PROCESSES = {
    # Each process does its own parallel work; threads of numerical libraries on top compete for the cores.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # glibc gives each thread an arena of its own, which stays half empty.
    "MALLOC_ARENA_MAX": "2",
    # LiteLLM's default is to fetch its list of prices from the network when it is imported.
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
}


MODULES = API, WORKERS, RECONCILER = "api", "workers", "reconciler"
"""Modules of the processes, each with a `main` in its `__main__`."""
LOGS = "logs"
"""The directory of log files, below the data directory."""
METRICS = "metrics"
"""The directory of the processes' shared metrics, below the data directory."""


@dataclass(frozen=True, slots=True)
class Plans:
    """The processes, by purpose."""

    api: ProcessPlan
    workers: list[ProcessPlan]
    reconciler: ProcessPlan


def plan_processes(
    directory: Path,
    *,
    uri: SecretStr,
    secret_key: SecretStr,
    host: str,
    port: int,
    capacity: Capacity,
    keeps_logs: bool,
) -> Plans:
    """Plan the processes of a claimed data directory, and empty their shared files.

    Args:
        directory: the data directory.
        uri: the database's.
        secret_key: the installation's.
        host: address of the API.
        port: the API's, not 0.
        capacity: the number of worker processes, with the slots and model threads of each.
        keeps_logs: whether they log to files in the directory instead of the terminal.
    """
    _emptied(directory / METRICS, "*.db")
    environment = shared_environment(directory)
    environment.update(
        {
            "MONGODB_URI": uri.get_secret_value(),
            "ANALYTIQ_SECRET_KEY": secret_key.get_secret_value(),
            "ANALYTIQ_DATA_DIR": str(directory),
            "ANALYTIQ_API__HOST": host,
            "ANALYTIQ_API__PORT": str(port),
        }
    )
    logs = _emptied(directory / LOGS, "*.log") if keeps_logs else None
    count = capacity.workers
    names = ["worker"] if count == 1 else [f"worker-{number}" for number in range(1, count + 1)]
    working = {
        **environment,
        "ANALYTIQ_WORKER__CONCURRENCY": str(capacity.slots),
        "ANALYTIQ_EMBEDDING__LOCAL_THREADS": str(capacity.threads),
    }
    return Plans(
        api=_plan("api", API, environment, logs),
        workers=[_plan(name, WORKERS, working, logs) for name in names],
        reconciler=_plan("reconciler", RECONCILER, environment, logs),
    )


def shared_environment(directory: Path) -> dict[str, str]:
    """Return the part of the environment that all processes share, without any secret of the installation."""
    metrics = directory / METRICS
    metrics.mkdir(mode=0o700, exist_ok=True)
    environment = child_environment({**SMALL_PROCESSES, "PROMETHEUS_MULTIPROC_DIR": str(metrics)})
    # The API's answer sums the counts of all; with one port they would compete for it.
    environment.pop("ANALYTIQ_TELEMETRY__METRICS_PORT", None)
    return environment


def _plan(name: str, module: str, environment: Mapping[str, str], logs: Path | None) -> ProcessPlan:
    return ProcessPlan(name, module, environment, log_file=logs / f"{name}.log" if logs else None)


def _emptied(directory: Path, pattern: str) -> Path:
    """Empty an earlier run's directory: its counts would be added to this run's."""
    directory.mkdir(mode=0o700, exist_ok=True)
    for file in directory.glob(pattern):
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
    return directory
