"""A server that speaks `docs/reference/openapi.json`: it notes what that forbids, and answers with all fields."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import BodyPartReader, web
from jsonschema import Draft202012Validator

from fakes.server_loop import AppServer

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"
METHODS = ("get", "post", "put", "delete")

Json = dict[str, Any]


@dataclass
class Operation:
    """An operation, and what the calls to it have sent."""

    operation_id: str
    method: str
    path: re.Pattern[str]
    description: Json
    query: set[str] = field(default_factory=set)
    headers: set[str] = field(default_factory=set)
    body: set[str] = field(default_factory=set)
    calls: int = 0

    def parameters(self, place: str) -> set[str]:
        """Return the names of the parameters in the query or the headers."""
        return {item["name"] for item in self.description.get("parameters", ()) if item["in"] == place}


class OpenApiServer:
    """The server; `operations` are by their ids, `complaints` are what was sent against the description."""

    def __init__(self) -> None:
        self.document: Json = json.loads(SCHEMA.read_text())
        self.operations = {operation.operation_id: operation for operation in self._operations()}
        self.complaints: list[str] = []
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = AppServer(app)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """The address."""
        return self._server.url

    def body_fields(self, operation: Operation) -> set[str]:
        """Return the names of the fields of an operation's body, of all its kinds."""
        found: set[str] = set()
        for content in operation.description.get("requestBody", {}).get("content", {}).values():
            found |= self._resolved(content["schema"]).get("properties", {}).keys()
        return found

    def _operations(self) -> list[Operation]:
        return [
            Operation(
                description["operationId"],
                method,
                re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)),
                description,
            )
            for path, methods in self.document["paths"].items()
            for method, description in methods.items()
            if method in METHODS
        ]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        found = self._find(request)
        if found is None:
            self.complaints.append(f"{request.method} {request.path} is no operation")
            return web.json_response({"code": "not_found", "detail": "?"}, status=404)
        found.calls += 1
        found.query |= set(request.query)
        found.headers |= {name.lower() for name in request.headers}
        unknown = set(request.query) - found.parameters("query")
        if unknown:
            self.complaints.append(f"{found.operation_id}: unknown parameters {unknown}")
        await self._check_body(request, found)
        return self._answer_of(found, request)

    def _find(self, request: web.Request) -> Operation | None:
        fitting = [
            operation
            for operation in self.operations.values()
            if operation.method == request.method.lower() and operation.path.fullmatch(request.path)
        ]
        # The one with the most fixed parts: /documents/counts before /documents/{document_id}.
        return min(fitting, key=lambda operation: operation.path.pattern.count("[^/]+"), default=None)

    async def _check_body(self, request: web.Request, operation: Operation) -> None:
        content = operation.description.get("requestBody", {}).get("content", {})
        if request.content_type == "multipart/form-data":
            async for part in await request.multipart():
                assert isinstance(part, BodyPartReader)
                operation.body.add(part.name or "")
                await part.read()
            unknown = operation.body - self.body_fields(operation) - {"source_urls"}
            if unknown:
                self.complaints.append(f"{operation.operation_id}: unknown form fields {unknown}")
            return
        text = await request.text()
        if not text:
            if operation.description.get("requestBody", {}).get("required"):
                self.complaints.append(f"{operation.operation_id}: no body")
            return
        body = json.loads(text)
        operation.body |= set(body)
        schema = {**content["application/json"]["schema"], "components": self.document["components"]}
        for error in Draft202012Validator(schema).iter_errors(body):
            self.complaints.append(f"{operation.operation_id}: {error.json_path}: {error.message[:200]}")

    def _answer_of(self, operation: Operation, request: web.Request) -> web.StreamResponse:
        responses: Json = operation.description["responses"]
        status, response = next(item for item in responses.items() if item[0][0] in "23")
        content: Json = response.get("content", {})
        if "text/event-stream" in content:
            return self._events(operation)
        if request.query.get("format") == "plain" or (not content and operation.method == "get" and status == "200"):
            return web.Response(text="text")
        if "application/json" in content and content["application/json"].get("schema"):
            return web.json_response(self.example(content["application/json"]["schema"]), status=int(status))
        if content:
            return web.Response(body=b"bytes", content_type="application/octet-stream")
        return web.Response(status=int(status), headers={"Location": "/next"} if status == "303" else {})

    def _events(self, operation: Operation) -> web.Response:
        is_answer = operation.operation_id == "follow_chat_message"
        data = self.example({"$ref": "#/components/schemas/ChatMessageResponse"}) if is_answer else {"code": "over"}
        name = "done" if is_answer else "closed"
        return web.Response(
            text=f": hello\n\nid: 1.3\nevent: {name}\ndata: {json.dumps(data)}\n\n", content_type="text/event-stream"
        )

    def example(self, schema: Json, name: str = "", depth: int = 0) -> Any:
        """Return a value with all fields of a schema."""
        schema = self._resolved(schema)
        if name == "next":
            return None  # of a list that is read to its end
        if "anyOf" in schema:
            choices = [choice for choice in schema["anyOf"] if choice.get("type") != "null"]
            return self.example(choices[0], name, depth)
        if "enum" in schema or "const" in schema:
            return schema.get("const") or schema["enum"][0]
        match schema.get("type"):
            case "object":
                properties = schema.get("properties", {})
                if not properties:
                    values = schema.get("additionalProperties")
                    return {"key": self.example(values, depth=depth + 1) if isinstance(values, dict) else "value"}
                return {key: self.example(value, key, depth + 1) for key, value in properties.items()}
            case "array":
                if "prefixItems" in schema:
                    return [self.example(item, depth=depth + 1) for item in schema["prefixItems"]]
                return [self.example(schema["items"], depth=depth + 1)]
            case "integer":
                return 1
            case "number":
                return 0.5
            case "boolean":
                return True
            case "string":
                is_named = name.endswith(("_at", "_until", "waiting_since")) or name == "at"
                is_time = is_named or schema.get("format") == "date-time"
                return "2026-11-30T00:00:00Z" if is_time else "text"
            case _:
                return "value"

    def _resolved(self, schema: Json) -> Json:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema
