"""A real Samba that shares a folder on a port of the loopback, with nothing outside its own directory."""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from spnego._ntlm_raw.md4 import md4

PROGRAM = shutil.which("smbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CAN_RUN = PROGRAM is not None and os.getuid() == 0
"""Samba changes to the user who logs in, so it runs as root only."""
USER, PASSWORD, SHARE = "nobody", "a password", "papers"
START_SECONDS = 15.0

_CONFIGURATION = """
[global]
  server role = standalone server
  smb ports = {port}
  interfaces = 127.0.0.1
  bind interfaces only = yes
  passdb backend = smbpasswd:{own}/passwords
  private dir = {own}
  state directory = {own}
  cache directory = {own}
  lock directory = {own}
  pid directory = {own}
  ncalrpc dir = {own}/ncalrpc
  log file = {own}/log
  load printers = no
  disable spoolss = yes
  map to guest = never
  server max protocol = {protocol}
[{share}]
  path = {folder}
  read only = yes
"""


class Samba:
    """Shares `folder` as SHARE on `port`, to USER."""

    def __init__(self, *, protocol: str = "SMB3_11") -> None:
        # Below the directory of temporary files itself: other users cannot enter those of pytest.
        self._root = Path(tempfile.mkdtemp(prefix="samba-"))
        self._root.chmod(0o755)
        self._own = self._root / "own"
        self._protocol = protocol
        self.folder = self._root / "papers"
        self.port = _free_port()

    def __enter__(self) -> Self:
        self._own.mkdir()
        self.folder.mkdir()
        identity, nothing = 65534, "X" * 32
        hashed = md4(PASSWORD.encode("utf-16-le")).hex().upper()
        (self._own / "passwords").write_text(f"{USER}:{identity}:{nothing}:{hashed}:[U          ]:LCT-00000001:\n")
        settings = {"port": self.port, "own": self._own, "folder": self.folder, "share": SHARE}
        (self._own / "smb.conf").write_text(_CONFIGURATION.format(protocol=self._protocol, **settings))
        assert PROGRAM is not None
        command = [PROGRAM, "-F", "--no-process-group", "-s", self._own / "smb.conf", "-l", self._own]
        nowhere = subprocess.DEVNULL
        # In a session of its own: at its end it ends its group of processes.
        self._process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
        try:
            self._await_port()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._root, ignore_errors=True)

    def _await_port(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5):
                return
            assert time.monotonic() < deadline
            assert self._process.poll() is None
            time.sleep(0.02)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
