"""The FastAPI application."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI

import analytiq
from analytiq.bootstrap import Application
from api import problems
from api.requests import RequestContext
from api.routes import documents, knowledge_bases, operations, organizations, tags
from api.schemas.wire import Problem

PREFIX = "/v0/orgs/{organization_id}"

Open = Callable[[], AbstractAsyncContextManager[Application]]
"""Opens the process's application, and closes it at the end."""

_PROBLEM: dict[str, Any] = {"model": Problem, "content": {problems.MEDIA_TYPE: {}}}


def create_app(open_application: Open, *, metrics_directory: str | None = None) -> FastAPI:
    """The REST API over the application that `open_application` opens when the server starts."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_application() as application:
            app.state.application = application
            yield

    app = FastAPI(
        title="Analytiq",
        version=analytiq.__version__,
        summary="Document processing with tag-driven knowledge bases on MongoDB",
        lifespan=lifespan,
        # Documentation pages load scripts from elsewhere; the schema is enough for a tool of one's own.
        docs_url=None,
        redoc_url=None,
    )
    app.state.metrics_directory = metrics_directory
    problems.install(app)
    scoped = APIRouter(
        prefix=PREFIX,
        responses={status: {**_PROBLEM, "description": problems.TITLE_OF[status]} for status in (400, 401, 404)},
    )
    for module in (organizations, tags, documents, knowledge_bases):
        scoped.include_router(module.router)
    app.include_router(scoped)
    app.include_router(operations.router)
    app.add_middleware(RequestContext)
    return app
