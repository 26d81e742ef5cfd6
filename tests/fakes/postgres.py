"""A real PostgreSQL with a database of its own and TLS, on a port of the loopback. Only a test tool."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

from tests.fakes.dovecot import free_port, owner, write_certificate

_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
_PATH = os.pathsep.join([*map(str, _PLACES), os.environ.get("PATH", "")])
PROGRAM = shutil.which("initdb", path=_PATH)
USER, PASSWORD = "reader", "pass wört '%s 1"


class Postgres:
    """A running server whose certificate is its own authority; the user may read and write."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.port = free_port()

    @property
    def certificate(self) -> str:
        """Return the certificate as PEM text."""
        return (self._folder / "certificate.pem").read_text()

    def __enter__(self) -> Self:
        write_certificate(self._folder)
        (self._folder / "key.pem").chmod(0o600)
        self._give_away()
        data = self._folder / "data"
        self._run("initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-U", "owner")
        (data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self._folder),
            "fsync": "off",
            "ssl": "on",
            "ssl_cert_file": str(self._folder / "certificate.pem"),
            "ssl_key_file": str(self._folder / "key.pem"),
        }
        lines = [f"{name} = '{value}'\n" for name, value in settings.items()]
        (data / "postgresql.conf").write_text("".join(lines))
        self._run("pg_ctl", "-D", data, "-l", self._folder / "log", "-w", "start")
        try:
            quoted = PASSWORD.replace("'", "''")
            self.run(f"CREATE ROLE {USER} LOGIN SUPERUSER PASSWORD '{quoted}'")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-D", self._folder / "data", "-m", "immediate", "stop")
        shutil.rmtree(self._folder)

    def run(self, statements: str) -> str:
        """Run statements as the owner; return what they print."""
        found = self._run(
            "psql", "-h", self._folder, "-p", str(self.port), "-U", "owner", "-d", "postgres",
            "-v", "ON_ERROR_STOP=1", "-qAt", text=statements,
        )  # fmt: skip
        return found.strip()

    def _give_away(self) -> None:
        account = owner()
        for path in (self._folder, *self._folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)

    def _run(self, program: str, *arguments: str | Path, text: str | None = None) -> str:
        account = owner()
        # As root it refuses to start.
        as_other: dict[str, Any] = (
            {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if os.getuid() == 0 else {}
        )
        # Its log is a file: a server that inherits a pipe would keep it open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [shutil.which(program, path=_PATH) or program, *arguments],
                input=text,
                stdin=None if text is not None else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self._folder,
                check=False,
                **as_other,
            )
            output.seek(0)
            said = output.read()
        assert done.returncode == 0, said
        return said
