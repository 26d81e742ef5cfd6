"""A real WebDAV server (WsgiDAV) on a folder of the test."""

import threading
from pathlib import Path
from typing import Any, Self

from cheroot import wsgi
from wsgidav.wsgidav_app import WsgiDAVApp

USER, PASSWORD = "ada", "a password: of Ada"


class WebDavServer:
    """Serves a folder at `url`; with a password, by basic or digest authentication only."""

    def __init__(self, folder: Path, *, authentication: str | None = None) -> None:
        users: Any = True if authentication is None else {USER: {"password": PASSWORD}}
        self._app = WsgiDAVApp(
            {
                "provider_mapping": {"/dav": {"root": str(folder), "readonly": True}},
                "simple_dc": {"user_mapping": {"*": users}},
                "http_authenticator": {
                    "accept_basic": authentication == "basic",
                    "accept_digest": authentication == "digest",
                    "default_to_digest": authentication == "digest",
                },
                "property_manager": True,
                "lock_storage": False,
                "logging": {"enable": False},
                "verbose": 0,
            }
        )
        self.requests: list[tuple[str, str, str | None]] = []
        """Method, path and Authorization of each request."""
        self._server = wsgi.Server(("127.0.0.1", 0), self._answer, numthreads=5)
        self._thread = threading.Thread(target=self._server.serve, daemon=True)

    def __enter__(self) -> Self:
        self._server.prepare()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the folder."""
        return f"http://127.0.0.1:{self._server.bind_addr[1]}/dav/"

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_AUTHORIZATION")))
        return self._app(environ, start_response)
