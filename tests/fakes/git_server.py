"""A real git server: `git http-backend` behind HTTP, with a real repository."""

import asyncio
import base64
import os
import subprocess
from pathlib import Path
from typing import Self

from aiohttp import web

from tests.fakes.server_loop import AppServer

PASSWORD = "a token"
AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")


class GitServer:
    """Serves the repository in `folder`; files that a test writes there are committed before the next listing."""

    def __init__(self, folder: Path, *, has_filter: bool = True) -> None:
        self.folder = folder
        self.user: str | None = None
        """If it is set, basic authentication with PASSWORD is needed."""
        self.is_old = False
        """Speak version 0 of the protocol."""
        self.requests: list[tuple[str, bytes]] = []
        """Path and body of each request."""
        self.answers: dict[str, bytes] = {}
        """End of a path → what is answered instead."""
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        if has_filter:
            self.git("config", "uploadpack.allowFilter", "true")
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._server = AppServer(app)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def url(self) -> str:
        """The address of the repository."""
        return f"{self._server.url}/{self.folder.name}"

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the next commit."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self) -> None:
        """Commit all changes of the files, if there are any."""
        self.git("add", "--all")
        if self.git("status", "--porcelain"):
            self.git(*AUTHOR, "commit", "--quiet", "--message", "A change")

    def git(self, *arguments: str) -> str:
        """Run git in the repository."""
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self._environment(), check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def _environment(self) -> dict[str, str]:
        # No settings of the machine or of its user.
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((request.path, body))
        if self.user is not None:
            pair = base64.b64encode(f"{self.user}:{PASSWORD}".encode()).decode()
            if request.headers.get("authorization") != f"Basic {pair}":
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        for ending, answer in self.answers.items():
            if request.path.endswith(ending):
                kind = "advertisement" if ending == "/info/refs" else "result"
                return web.Response(body=answer, content_type=f"application/x-git-upload-pack-{kind}")
        if request.path.endswith("/info/refs"):
            await asyncio.to_thread(self.commit)
        return await self._run_backend(request, body)

    async def _run_backend(self, request: web.Request, body: bytes) -> web.Response:
        protocol = {} if self.is_old else {"GIT_PROTOCOL": request.headers.get("git-protocol", "")}
        process = await asyncio.create_subprocess_exec(
            *("git", "http-backend"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={
                **self._environment(),
                "GIT_PROJECT_ROOT": str(self.folder.parent),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": request.path.replace(self.folder.name, f"{self.folder.name}/.git", 1),
                "QUERY_STRING": request.query_string,
                "REQUEST_METHOD": request.method,
                "CONTENT_TYPE": request.headers.get("content-type", ""),
                **protocol,
            },
        )
        out, _ = await process.communicate(body)
        head, _, content = out.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        return web.Response(status=status, headers=headers, body=content)
