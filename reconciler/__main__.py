"""`python -m reconciler`: parse settings, bootstrap, lead or wait to lead, stop."""

import asyncio
import signal
import sys

import structlog

from analytiq.composition import bootstrap
from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.rights.kernel import forbid_memory_reads
from analytiq.settings import Settings, read_settings_or_exit
from analytiq.standalone.data_directory import keep_files_private
from analytiq.telemetry import logs, metrics, traces

log = structlog.get_logger("reconciler")


async def run(settings: Settings) -> None:
    """Run periodic tasks while this process leads, until SIGTERM or SIGINT."""
    services = await bootstrap(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    log.info("reconciler.started", interval_seconds=settings.reconciler.interval_seconds)
    await services.operations.leader().run(stopping)
    await services.close()
    log.info("reconciler.stopped")


def main() -> int:
    """Run the process."""
    keep_files_private()
    settings = read_settings_or_exit("analytiq reconciler")
    if not settings.debuggable:
        forbid_memory_reads()
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="reconciler")
    traces.configure(settings.telemetry, "reconciler")
    try:
        metrics.serve(settings.telemetry.metrics_host, settings.telemetry.metrics_port)
        asyncio.run(run(settings))
    except AnalytiqError as error:
        sys.stderr.write(f"analytiq reconciler: {error.detail}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
