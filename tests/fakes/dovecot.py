"""A real Dovecot with a mailbox of its own, on two ports of the loopback. Only a test tool."""

import contextlib
import grp
import imaplib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PROGRAM = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
USER, PASSWORD = "ada@example.com", 'pass wört "\\ 1'
START_SECONDS = 15.0
HOST = "localhost"

_CONFIGURATION = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
instance_name = {folder}
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 0
first_valid_gid = 0
ssl = yes
ssl_cert = <{folder}/certificate.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2
auth_failure_delay = 0 secs
mail_fsync = never
mail_location = sdbox:{folder}/mail
passdb {{
  driver = passwd-file
  mechanisms = plain login
  args = scheme=PLAIN username_format=%u {folder}/passwords
}}
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {folder}/oauth2.conf
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home
}}
namespace inbox {{
  inbox = yes
  separator = .
  mailbox Trash {{
    auto = create
    special_use = \\Trash
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


_OAUTH2 = """
introspection_url = {url}
introspection_mode = post
force_introspection = yes
username_attribute = username
active_attribute = active
active_value = true
"""


class Dovecot:
    """A running server; `certificate` is its own authority. It asks the given address about access tokens."""

    def __init__(self, introspection_url: str = "http://127.0.0.1:9/") -> None:
        self._introspection_url = introspection_url
        # Below /tmp itself: Dovecot runs as another user, and directories of pytest belong to one.
        self._folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
        self.port, self.tls_port = free_port(), free_port()
        self.certificate = self._folder / "certificate.pem"

    def __enter__(self) -> Self:
        write_certificate(self._folder)
        # The file's format: fields by colons, and the password as it is.
        (self._folder / "passwords").write_text(f"{USER}:{{PLAIN}}{PASSWORD}::::::\n")
        self._write_configuration()
        assert PROGRAM is not None
        command = [PROGRAM, "-F", "-c", self._folder / "dovecot.conf"]
        nowhere = subprocess.DEVNULL
        # As root it wants users of its own.
        account = owner()
        for path in (self._folder, *self._folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        self._process = (
            subprocess.Popen(
                command,
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                user=account.pw_uid,
                group=account.pw_gid,
                extra_groups=[],
            )
            if os.getuid() == 0
            else subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        )
        try:
            self._await_greeting()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._folder)

    def session(self) -> "contextlib.AbstractContextManager[imaplib.IMAP4]":
        """Log in as the user, to change the mailboxes."""
        return _logged_in(self.port)

    def deliver(
        self, message: bytes, *, mailbox: str = "INBOX", flags: str = "", arrived: datetime | None = None
    ) -> None:
        """Store a message in a mailbox, which is made if it does not exist."""
        with self.session() as session:
            session.create(f'"{mailbox}"')
            when = arrived or datetime.now(UTC)
            answer, _ = session.append(f'"{mailbox}"', flags, imaplib.Time2Internaldate(when), message)
            assert answer == "OK"

    def _write_configuration(self) -> None:
        account = owner()
        text = _CONFIGURATION.format(
            folder=self._folder,
            user=account.pw_name,
            group=grp.getgrgid(account.pw_gid).gr_name,
            uid=account.pw_uid,
            gid=account.pw_gid,
            port=self.port,
            tls_port=self.tls_port,
        )
        (self._folder / "dovecot.conf").write_text(text)
        (self._folder / "oauth2.conf").write_text(_OAUTH2.format(url=self._introspection_url))

    def _await_greeting(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5) as connection:
                if connection.recv(4) == b"* OK":
                    return
            assert time.monotonic() < deadline, (self._folder / "log").read_text()
            assert self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.02)


@contextlib.contextmanager
def _logged_in(port: int) -> Generator[imaplib.IMAP4]:
    session = imaplib.IMAP4("127.0.0.1", port)
    session.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
    try:
        yield session
    finally:
        session.logout()


def owner() -> pwd.struct_passwd:
    return pwd.getpwnam("nobody") if os.getuid() == 0 else pwd.getpwuid(os.getuid())


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
