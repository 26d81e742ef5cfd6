"""`python -m api`: parse settings, bootstrap, serve, drain."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn

from analytiq.bootstrap import Application, bootstrap
from analytiq.errors import AnalytiqError
from analytiq.settings import metrics_directory_from_environment, read_settings
from analytiq.telemetry import logs, traces
from api.application import create_app


def main() -> int:
    """Serve until told to stop; requests under way are finished."""
    settings = read_settings()
    logs.configure(as_json=settings.log_json, level=settings.log_level, process="api")
    traces.configure(settings.telemetry, "api")

    @asynccontextmanager
    async def open_application() -> AsyncGenerator[Application]:
        application = await bootstrap(settings)
        try:
            yield application
        finally:
            await application.close()

    app = create_app(open_application, metrics_directory=metrics_directory_from_environment())
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.api.host,
            port=settings.api.port,
            access_log=False,
            log_level="warning",
            timeout_graceful_shutdown=int(settings.worker.drain_seconds),
            server_header=False,
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
