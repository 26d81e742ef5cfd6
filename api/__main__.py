"""`python -m api`: parse settings, bootstrap, serve, drain."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from socket import socket
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from analytiq.composition import Services, bootstrap
from analytiq.errors import AnalytiqError
from analytiq.ingestion.parsing.rights.kernel import forbid_memory_reads
from analytiq.settings import Settings, metrics_directory_from_environment, read_settings_or_exit
from analytiq.standalone.data_directory import keep_files_private
from analytiq.telemetry import logs, traces
from api.application import create_app
from api.slow_clients import TimedProtocol

log = structlog.get_logger("api")


class _Server(uvicorn.Server):
    """A server that announces its shutdown before it waits for running requests, since answers stream for minutes."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.on_exit: Callable[[], object] = lambda: None

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen and log the address."""
        await super().startup(sockets)
        if self.started:
            log.info("api.listening", host=self.config.host, port=self.config.port)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal as uvicorn does, in the main thread between any two of its steps."""
        super().handle_exit(sig, frame)
        self.on_exit()


async def serve(settings: Settings) -> bool:
    """Open the services and serve until stopped; return whether the address was available.

    Raises:
        AnalytiqError: the services cannot be opened; the server does not listen.
    """
    services = await bootstrap(settings, follows_environment=True)

    @asynccontextmanager
    async def open_services() -> AsyncGenerator[Services]:
        loop = asyncio.get_running_loop()
        server.on_exit = lambda: loop.call_soon_threadsafe(services.begin_closing)
        try:
            yield services
        finally:
            # Here, since uvicorn raises the signal that ended it as soon as `serve` returns.
            await services.close()

    app = create_app(open_services, metrics_directory=metrics_directory_from_environment())
    server = _Server(_configuration(app, settings))
    await server.serve()
    return server.started


def _configuration(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.api.host,
        port=settings.api.port,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=int(settings.worker.drain_seconds),
        server_header=False,
        http=TimedProtocol,
    )


def main() -> int:
    """Serve until stopped; running requests finish, and streams end."""
    keep_files_private()
    settings = read_settings_or_exit("analytiq api")
    if not settings.debuggable:
        forbid_memory_reads()
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="api")
    traces.configure(settings.telemetry, "api")
    TimedProtocol.head_seconds = settings.api.head_wait_seconds
    try:
        with asyncio.Runner(loop_factory=uvicorn.Config("api").get_loop_factory()) as runner:
            is_well = runner.run(serve(settings))
    except AnalytiqError as error:
        sys.stderr.write(f"analytiq api: {error.detail}\n")
        return 1
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
