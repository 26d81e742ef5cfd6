"""`python -m api`: parse settings, bootstrap, serve, drain."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import FrameType

import uvicorn

from analytiq.bootstrap import Application, bootstrap
from analytiq.errors import AnalytiqError
from analytiq.settings import metrics_directory_from_environment, read_settings
from analytiq.telemetry import logs, traces
from api.application import create_app
from api.slow_clients import TimedProtocol


class _Server(uvicorn.Server):
    """Tells the application that it is to stop, before it waits for requests to end: answers stream for minutes."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.on_exit: Callable[[], object] = lambda: None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As uvicorn's; called in the main thread, between any two of its steps."""
        super().handle_exit(sig, frame)
        self.on_exit()


def main() -> int:
    """Serve until told to stop; requests under way are finished, and streams ended."""
    settings = read_settings()
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="api")
    traces.configure(settings.telemetry, "api")

    @asynccontextmanager
    async def open_application() -> AsyncGenerator[Application]:
        application = await bootstrap(settings)
        loop = asyncio.get_running_loop()
        server.on_exit = lambda: loop.call_soon_threadsafe(application.begin_closing)
        try:
            yield application
        finally:
            await application.close()

    TimedProtocol.head_seconds = settings.api.head_wait_seconds
    app = create_app(open_application, metrics_directory=metrics_directory_from_environment())
    server = _Server(
        uvicorn.Config(
            app,
            host=settings.api.host,
            port=settings.api.port,
            access_log=False,
            log_level="warning",
            timeout_graceful_shutdown=int(settings.worker.drain_seconds),
            server_header=False,
            http=TimedProtocol,
        )
    )
    try:
        server.run()
    except AnalytiqError as error:
        sys.stderr.write(f"analytiq api: {error.detail}\n")
        return 1
    return 0 if server.started else 1


if __name__ == "__main__":
    sys.exit(main())
