"""`python -m workers`: parse settings, bootstrap, run jobs, drain."""

import asyncio
import signal
import sys

import structlog

from analytiq.composition import bootstrap
from analytiq.errors import AnalytiqError
from analytiq.ingestion.extraction.readiness import examine_readiness
from analytiq.ingestion.parsing.rights.kernel import forbid_memory_reads
from analytiq.ingestion.parsing.servers import stop_server
from analytiq.settings import Settings, read_settings_or_exit
from analytiq.standalone.data_directory import keep_files_private
from analytiq.standalone.machine import read_machine
from analytiq.telemetry import logs, metrics, traces

log = structlog.get_logger("workers")


async def run(settings: Settings) -> None:
    """Run jobs until SIGTERM or SIGINT; unfinished jobs go back to the queue."""
    # Meanwhile: the examination starts the parsing server, whose imports take as long as the services.
    examination = asyncio.create_task(examine_readiness(settings.extraction))
    try:
        services = await bootstrap(with_model_threads(settings))
    except BaseException:
        examination.cancel()
        await asyncio.wait([examination])
        raise
    readiness = await examination
    runner = services.jobs.new_runner(reads_documents=readiness.reads_documents)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    running = asyncio.create_task(runner.run())
    settling = asyncio.create_task(services.ingestion.life_cycle.settle_continuously())
    delivering = asyncio.create_task(services.operations.webhook_delivering.run())
    registry = services.jobs.new_registry(runner, problems=readiness.problems)
    registered = asyncio.create_task(registry.keep())
    log.info("workers.started", worker=runner.worker, concurrency=settings.worker.concurrency)
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait([running, stop], return_when=asyncio.FIRST_COMPLETED)
    await runner.stop(drain_seconds=settings.worker.drain_seconds)
    await running
    settling.cancel()
    delivering.cancel()
    await asyncio.wait([delivering])
    registered.cancel()
    await asyncio.wait([registered])
    await registry.withdraw()
    await services.ingestion.life_cycle.settle_noted()
    await asyncio.to_thread(stop_server)
    await services.close()
    log.info("workers.stopped")


def with_model_threads(settings: Settings) -> Settings:
    """Give the local model every core of this process, unless the settings name a number of threads."""
    embedding = settings.embedding
    if "local_threads" in embedding.model_fields_set:
        return settings
    threads = read_machine().cores
    return settings.model_copy(update={"embedding": embedding.model_copy(update={"local_threads": threads})})


def main() -> int:
    """Run the process."""
    keep_files_private()
    settings = read_settings_or_exit("analytiq worker")
    if not settings.debuggable:
        forbid_memory_reads()
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="worker")
    traces.configure(settings.telemetry, "worker")
    try:
        metrics.serve(settings.telemetry.metrics_host, settings.telemetry.metrics_port)
        asyncio.run(run(settings))
    except AnalytiqError as error:
        sys.stderr.write(f"analytiq worker: {error.detail}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
