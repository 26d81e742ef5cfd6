"""The FastAPI application."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute

import analytiq
from analytiq.composition import Services
from api import problems
from api.api_route import ApiRoute
from api.mcp_endpoint import McpEndpoint
from api.permissions import check_complete
from api.requests import RequestContext
from api.routes import (
    auth,
    backups,
    chat,
    chunk_preview,
    compatible,
    document_blocks,
    document_changes,
    document_lookups,
    document_uploads,
    documents,
    erasure,
    events,
    forecast,
    inbound,
    jobs,
    knowledge_bases,
    llm_providers,
    locating,
    members,
    metadata_fields,
    models,
    operations,
    organization_settings,
    organizations,
    prompt_runs,
    prompts,
    reconcile,
    search,
    source_addresses,
    source_sign_ins,
    sources,
    tables,
    tags,
    usage,
    webhooks,
    workers,
)
from api.schemas.documents import DocumentUploads
from api.schemas.inbound import PushBatch
from api.schemas.wire import Problem
from api.static_ui import StaticUi
from api.waiting_work import WaitingWork

PREFIX = "/v0/orgs/{organization_id}"

Open = Callable[[], AbstractAsyncContextManager[Services]]
"""Opens the process's services and closes them at the end."""

_PROBLEM: dict[str, Any] = {"model": Problem, "content": {problems.MEDIA_TYPE: {}}}


def create_app(open_services: Open, *, metrics_directory: str | None = None) -> FastAPI:
    """Create the REST API over the services that `open_services` opens at startup."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_services() as services:
            app.state.services = services
            async with mcp.running(services), services.retrieval.feeding_keyword_index():
                yield

    app = FastAPI(
        title="Analytiq",
        version=analytiq.__version__,
        summary="Document processing with tag-driven knowledge bases on MongoDB",
        lifespan=lifespan,
        # Documentation pages load scripts from elsewhere; the schema suffices for a tool of your own.
        docs_url=None,
        redoc_url=None,
        # A redirect would go to any host named by the request.
        redirect_slashes=False,
    )
    app.state.metrics_directory = metrics_directory
    app.state.waiting_work = WaitingWork()
    problems.install(app)
    responses: dict[int | str, dict[str, Any]] = {
        status: {**_PROBLEM, "description": problems.TITLE_OF[status]} for status in (400, 401, 403, 404)
    }
    modules = (
        organizations, members, tags, document_changes, document_lookups, document_uploads, documents, document_blocks,
        locating, metadata_fields, knowledge_bases, chunk_preview, forecast, jobs, search, llm_providers, models,
        prompts, prompt_runs, chat, usage, erasure, reconcile, events, organization_settings, workers, backups,
        sources, source_addresses, source_sign_ins, tables, webhooks,
    )  # fmt: skip
    for module in modules:
        check_routes(module.router)
        app.include_router(module.router, prefix=PREFIX, responses=responses)
    app.include_router(auth.router, responses=responses)
    app.include_router(source_sign_ins.callback_router, responses=responses)
    app.include_router(inbound.router, responses=responses)
    check_routes(compatible.router)
    app.include_router(compatible.router, responses=responses)
    app.include_router(operations.router)
    mcp = McpEndpoint(app)
    mcp.install()
    app.add_middleware(StaticUi)
    app.add_middleware(RequestContext)
    _correct_schema(app)
    _try_first(app, knowledge_bases.router)
    return app


def check_routes(router: APIRouter) -> None:
    """Refuse to start with a route without a permission, or without an audit."""
    routes = [route for route in router.routes if isinstance(route, APIRoute)]
    if len(routes) != len(router.routes) or not routes:
        raise RuntimeError("a router of an organization's operations has something that is no operation, or nothing")
    check_complete(str(route.operation_id) for route in routes)
    plain = [route.path for route in routes if not isinstance(route, ApiRoute)]
    if plain:
        raise RuntimeError(f"these routes lack `route_class=ApiRoute`: {', '.join(plain)}")


def _correct_schema(app: FastAPI) -> None:
    """Add the bodies of uploads and pushes to the schema, since their routes read the body themselves."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        schema = generate()
        body = DocumentUploads.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = schema["components"]["schemas"]
        schemas |= {**body.pop("$defs"), "DocumentUploads": body}
        push = PushBatch.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= {**push.pop("$defs"), "PushBatch": push}
        # A wrong body answers 400 with problem details (api.problems), never FastAPI's own 422.
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        for path, methods in schema["paths"].items():
            for operation in methods.values():
                operation["responses"].pop("422", None)
                if path.startswith((PREFIX, auth.router.prefix, inbound.router.prefix, compatible.router.prefix)):
                    _describe_problems(operation["responses"])
        return schema

    app.openapi = openapi


def _try_first(app: FastAPI, router: APIRouter) -> None:
    """Try the routes of a router before all others; the schema keeps the order of inclusion.

    Routes are tried one after the other, and those before a search in a knowledge base take 0.4 ms. No path of another
    router matches its paths.
    """
    routes, generate = app.router.routes, app.openapi
    place_of = {id(route): place for place, route in enumerate(routes)}
    routes.sort(key=lambda route: getattr(route, "original_router", None) is not router)

    def openapi() -> dict[str, Any]:
        tried = list(routes)
        routes.sort(key=lambda route: place_of.get(id(route), len(place_of)))
        try:
            return generate()
        finally:
            routes[:] = tried

    app.openapi = openapi


def _describe_problems(responses: dict[str, Any]) -> None:
    """Describe all errors, listed or not, as problem details."""
    responses["default"] = {"description": "Any other error"}
    for status, response in responses.items():
        if status == "default" or status >= "400":
            response["content"] = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
