"""Makers of sources on file servers, for the contract's tests."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.git_server import GitServer
from tests.fakes.sftp_server import PASSWORD, USER, SftpServer
from tests.fakes.webdav_server import WebDavServer

LOOPBACK = SourceSettings(private_hosts=("127.0.0.1",))


def writing(folder: Path, name: str, content: str) -> None:
    """Write a file below a folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def made_webdav(stack: ExitStack, folder: Path) -> Made:
    """Return a WebDAV source."""
    server = stack.enter_context(WebDavServer(folder))
    opened = opening("webdav", {"url": server.url}, LOOPBACK)
    return Made("webdav", opened, lambda name, content: writing(folder, name, content))


def made_git(stack: ExitStack, folder: Path) -> Made:
    """Return a source on a git repository."""
    server = stack.enter_context(GitServer(folder / "papers"))
    return Made("git", opening("git", {"url": server.url}, LOOPBACK), server.write)


def made_sftp(stack: ExitStack, folder: Path) -> Made:
    """Return an SFTP source."""
    server = stack.enter_context(SftpServer(folder))
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr("analytiq.ingestion.sources.kinds.sftp.SETTLED_SECONDS", -1e9)
    key = server.host_key.public().toString("OPENSSH").decode()
    opened = opening(
        "sftp",
        {"host": "127.0.0.1", "port": server.port, "host_key": key},
        LOOPBACK,
        credentials={"user": USER, "password": PASSWORD},
    )
    return Made("sftp", opened, lambda name, content: writing(folder, name, content))


MAKERS = {"git": made_git, "sftp": made_sftp, "webdav": made_webdav}
