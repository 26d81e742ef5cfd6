"""A fake of Cohere: `/v2/embed` and `/v2/rerank` below one root, strictly, over real HTTP. Only a test tool."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import orjson

_FIELDS = {
    "/v2/embed": {"model", "texts", "input_type", "embedding_types", "truncate", "output_dimension"},
    "/v2/rerank": {"model", "query", "documents", "top_n", "return_documents", "max_tokens_per_doc"},
}


class CohereServer:
    """Listens on the loopback; `paths` holds the path of every accepted call. `refusal` is a body that is answered."""

    def __init__(self) -> None:
        self.api_key = "key-of-cohere-1234567890"
        self.paths: list[str] = []
        self.refusal: object = None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body: dict[str, Any] = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = server.answer(self.path, self.headers.get("Authorization", ""), body)
                content = orjson.dumps(answer)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, authorization: str, body: dict[str, Any]) -> tuple[int, object]:
        if authorization.lower() != f"bearer {self.api_key}":
            return 401, {"message": "invalid api token"}
        if path not in _FIELDS:
            return 404, {"message": f"no endpoint {path}"}
        unknown = set(body) - _FIELDS[path]
        if unknown or self.refusal is not None:
            return 400, self.refusal or {"message": f"unknown fields {sorted(unknown)}"}
        self.paths.append(path)
        if path == "/v2/rerank":
            results = [{"index": i, "relevance_score": 0.5} for i in range(len(body["documents"]))]
            return 200, {"id": "x", "results": results, "meta": {"billed_units": {"search_units": 1}}}
        vectors = [[1.0, float(number)] for number in range(len(body["texts"]))]
        usage = {"billed_units": {"input_tokens": 1}}
        return 200, {"id": "x", "embeddings": {"float": vectors}, "texts": body["texts"], "meta": usage}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
