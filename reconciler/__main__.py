"""`python -m reconciler`: parse settings, bootstrap, pass after pass, stop."""

import asyncio
import contextlib
import signal
import sys

import structlog

from analytiq.bootstrap import bootstrap
from analytiq.errors import AnalytiqError
from analytiq.mongo.session import DatabaseError
from analytiq.settings import Settings, read_settings
from analytiq.telemetry import logs, metrics, traces

log = structlog.get_logger("reconciler")


async def run(settings: Settings) -> None:
    """A pass every interval until SIGTERM or SIGINT; a pass that fails is made up for by the next."""
    application = await bootstrap(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    log.info("reconciler.started", interval_seconds=settings.reconciler.interval_seconds)
    while not stopping.is_set():
        try:
            report = await application.reconciler.run_pass()
            log.info("reconciler.pass", knowledge_bases=report.knowledge_bases, drift=report.counts())
            await application.retention.apply()
            await application.erasures.keep_up()
        except (AnalytiqError, DatabaseError):
            log.exception("reconciler.pass_failed")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(settings.reconciler.interval_seconds):
                await stopping.wait()
    await application.close()
    log.info("reconciler.stopped")


def main() -> int:
    """Run the process."""
    settings = read_settings()
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
