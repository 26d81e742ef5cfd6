"""The server of `python -m http.server`, over a folder."""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


class FileListing:
    """A server of a folder on a port of the loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The address of the folder."""
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def write(self, name: str, content: bytes, *, age_seconds: float = 3600.0) -> None:
        """Write a file whose last change is that old."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        changed = path.stat().st_mtime - age_seconds
        os.utime(path, (changed, changed))
