"""One mongod for a whole test run, shared by its processes (pytest-xdist's workers).

Whoever needs it first starts this file as a process of its own; it serves the embedded server's address on
a Unix socket. A process holds a share by keeping its connection open, so that the kernel counts the shares:
when the last is closed, by a clean end, Ctrl-C or a kill, mongod is stopped and its directory removed.
"""

import asyncio
import contextlib
import fcntl
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer

SOCKET = "address.sock"
START_SECONDS = 120.0


@contextlib.contextmanager
def share_of_mongod(directory: Path) -> Generator[str]:
    """The connection URI of the run's mongod, started if need be; valid within the block.

    Args:
        directory: the same for all processes of one run, of a short path: it holds a Unix socket.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    with (directory / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        connection = _connect(directory) or _start(directory)
    with connection:
        uri = connection.recv(4096).decode()
        if not uri.startswith("mongodb://"):
            raise RuntimeError(f"the test run's mongod did not start: {uri or 'see ' + str(directory / 'out')}")
        yield uri


def _connect(directory: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(directory / SOCKET))
    except OSError:
        connection.close()
        return None
    connection.settimeout(START_SECONDS)
    return connection


def _start(directory: Path) -> socket.socket:
    """Start the serving process and wait until it listens."""
    with (directory / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.shared_mongod", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
            cwd=Path(__file__).parents[1],
        )
    while (connection := _connect(directory)) is None:
        if process.poll() is not None:
            raise RuntimeError(f"the test run's mongod did not start: {(directory / 'out').read_text()}")
        time.sleep(0.02)
    process.returncode = 0  # it outlives this process, and Popen would warn about that
    return connection


async def serve(directory: Path) -> None:
    """Run mongod for as long as anybody holds a share."""
    shares = 0
    unused = asyncio.Event()
    answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def hold_share(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal shares
        shares += 1
        with contextlib.suppress(ConnectionError):
            writer.write(await asyncio.shield(answer))
            await writer.drain()
            await reader.read()
        shares -= 1
        writer.close()
        if shares == 0:
            unused.set()

    listener = await asyncio.start_unix_server(hold_share, directory / SOCKET)
    with DataDirectory.claim(directory / "data") as claimed:
        server = EmbeddedServer(claimed)
        try:
            answer.set_result((await server.start()).get_secret_value().encode())
            await unused.wait()
        except Exception as error:
            answer.set_result(str(error).encode())
            raise
        finally:
            listener.close()
            await server.stop()
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
