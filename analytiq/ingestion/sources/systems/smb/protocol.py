# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportIncompatibleMethodOverride=false, reportPrivateUsage=false, reportPrivateLocalImportUsage=false
# pyright: reportIncompatibleVariableOverride=false, reportAttributeAccessIssue=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportUnannotatedClassAttribute=false
"""SMB by smbprotocol, on a connection of our own and more strictly than the library.

smbprotocol has few types, so this module is the only one that names its classes. All of it blocks: it runs in a thread.
"""

import logging
import uuid
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import smbprotocol.session
import spnego._ntlm
import spnego.exceptions
from smbprotocol.connection import Capabilities, Commands, Connection
from smbprotocol.exceptions import NoMoreFiles, NoSuchFile, SMBException, SMBResponseException
from smbprotocol.file_info import FileInformationClass
from smbprotocol.header import NtStatus, Smb2Flags
from smbprotocol.open import (
    CreateDisposition,
    CreateOptions,
    DirectoryAccessMask,
    FilePipePrinterAccessMask,
    ImpersonationLevel,
    Open,
    QueryDirectoryFlags,
    ShareAccess,
    SMB2QueryDirectoryResponse,
)
from smbprotocol.session import Session
from smbprotocol.tree import TreeConnect
from spnego._context import ContextReq
from spnego._credential import Password
from spnego._ntlm import NTLMProxy
from spnego._ntlm_raw.messages import NegotiateFlags

from analytiq.ingestion.sources.systems.smb.transport import CheckedTransport, require_single

CALL_SECONDS = 30
"""Longest time until the server answers a request, in whole seconds."""
IDLE_SECONDS = 300
"""Time without messages after which the server is asked if it is still there."""
PAGE_BYTES = 65536
"""Most bytes of a page of a folder: one credit, of a few hundred entries."""
MOST_BLOCK_BYTES = 256 * 1024
MOST_OTHER_BYTES = 8192
"""Most bytes of an answer with neither content nor entries."""
_CREDIT_BYTES = 65536
_OPENED_BYTES = 80
"""Bytes of the answer to CREATE in front of its list of contexts."""

# They name users and files, and at level debug the messages themselves.
for _name in ("smbprotocol", "spnego"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


class SmbStatusError(Exception):
    """The server refuses a request with this NTSTATUS."""

    def __init__(self, status: int) -> None:
        super().__init__(f"{status:#010x}")
        self.status = status


class EncryptionMissingError(Exception):
    """The server does not encrypt, although it must."""


@dataclass(frozen=True, slots=True)
class SmbLogin:
    """A user with a password."""

    user: str
    password: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class SharePlace:
    """A share of a server."""

    server: str
    port: int
    share: str
    needs_encryption: bool = False


class _OwnNtlm(NTLMProxy):
    """NTLM version 2, whatever the environment says."""

    def __init__(self, login: SmbLogin, server: str) -> None:
        user = f"{login.domain}\\{login.user}" if login.domain else login.user
        super().__init__(
            Password(username=user, password=login.password),
            hostname=server,
            service="cifs",
            context_req=ContextReq.default,
            options=spnego.exceptions.NegotiateOptions.session_key,
        )
        self._lm, self._nt_v1, self._nt_v2 = False, False, True
        self._context_req &= ~NegotiateFlags.lm_key
        self._context_req |= NegotiateFlags.extended_session_security


def _own_client(login: SmbLogin, _password: object, *, hostname: str, **_: object) -> _OwnNtlm:
    """Stand in for `spnego.client`, which also finds Kerberos, tickets and credentials of the machine."""
    return _OwnNtlm(login, hostname)


# The libraries have no parameter for either. The name of this machine, or one of the environment, is not the server's
# business.
smbprotocol.session.spnego = SimpleNamespace(
    client=_own_client, exceptions=spnego.exceptions, NegotiateOptions=spnego.exceptions.NegotiateOptions
)
spnego._ntlm._get_workstation = lambda: None  # noqa: SLF001


class _StrictConnection(Connection):
    """A connection that accepts only answers that are signed or encrypted, and follows nothing."""

    def __init__(self, checked: CheckedTransport, place: SharePlace) -> None:
        self._checked = checked
        super().__init__(uuid.uuid4(), place.server, place.port, require_signing=True)
        # Without the capability of DFS: referrals lead to other servers.
        self.client_capabilities = Capabilities.SMB2_GLOBAL_CAP_LARGE_MTU | Capabilities.SMB2_GLOBAL_CAP_ENCRYPTION
        self._receive_timeout = IDLE_SECONDS

    @property
    def transport(self) -> CheckedTransport:
        """The checked connection, also after the library assigned its own, which it never opens then."""
        return self._checked

    @transport.setter
    def transport(self, _: object) -> None: ...

    def receive(self, request: Any, wait: bool = True, timeout: int | None = None, **_: object) -> Any:  # noqa: FBT001, FBT002
        """Wait for an answer for a limited time, without following links of the server.

        The library reads lists in some answers in quadratic time, so these answers are kept short.
        """
        response = super().receive(request, wait=wait, timeout=timeout or CALL_SECONDS, resolve_symlinks=False)
        command = request.message["command"].get_value()
        data = cast("bytes", response["data"].get_value())
        if command == Commands.SMB2_CREATE:
            response["data"] = data[:_OPENED_BYTES] + bytes(8)  # without its list, of what was never asked for
        elif command not in (Commands.SMB2_READ, Commands.SMB2_QUERY_DIRECTORY) and len(data) > MOST_OTHER_BYTES:
            raise ValueError("An answer is too large.")
        return response

    def verify_signature(self, header: Any, session_id: int, force: bool = False) -> None:  # noqa: FBT001, FBT002
        """Refuse answers that are neither signed nor encrypted; the library accepts them."""
        if not force:
            command = header["command"].get_value()
            asked = self.outstanding_requests[header["message_id"].get_value()].message["command"].get_value()
            if command != asked:
                raise SMBException("The answer is to another command.")
            if command not in (Commands.SMB2_NEGOTIATE, Commands.SMB2_SESSION_SETUP):
                session = self.session_table.get(session_id)
                is_interim = header["status"].get_value() == NtStatus.STATUS_PENDING
                is_signed = header["flags"].has_flag(Smb2Flags.SMB2_FLAGS_SIGNED)
                if session is None or session.encrypt_data or not (is_signed or is_interim):
                    raise SMBException("The answer is neither signed nor encrypted.")
        super().verify_signature(header, session_id, force=force)

    def _decrypt(self, message: Any) -> bytes:
        decrypted = super()._decrypt(message)
        require_single(decrypted)
        return decrypted


class _LocalTree(TreeConnect):
    """A share whose paths are those of the server itself, also if it is a root of DFS."""

    @property
    def is_dfs_share(self) -> bool:
        """False: the server then refuses what is on other servers."""
        return False

    @is_dfs_share.setter
    def is_dfs_share(self, _: object) -> None: ...


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of an open file."""

    byte_size: int
    written: object
    changed: object


class OpenFile:
    """A file that is open for reading."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened
        self.state = _state(opened)

    def read(self, at: int, length: int) -> bytes:
        """Return up to these many bytes, as many as the server grants at once."""
        connection = cast("Any", self._opened.connection)
        granted = 1
        if connection.supports_multi_credit:
            window = connection.sequence_window
            granted = max(window["high"] - window["low"], 1)
        most = min(length, MOST_BLOCK_BYTES, granted * _CREDIT_BYTES, connection.max_read_size)
        block = cast("bytes", self._opened.read(at, most))
        if not 0 < len(block) <= most:
            raise ValueError("The server gives more or less of a file than it was asked for.")
        return block

    def close(self) -> FileState:
        """Close the file, and return its state at the end."""
        self._opened.close(get_attributes=True)
        return _state(self._opened)


class Share:
    """A connection to a share, for reading."""

    def __init__(self, transport: CheckedTransport, place: SharePlace, login: SmbLogin) -> None:
        self._connection = _StrictConnection(transport, place)
        self._place = place
        self._login = login
        self._tree: Any = None

    def connect(self, *, seconds: float) -> None:
        """Log in and connect to the share.

        Raises:
            SmbStatusError: the server refuses.
            EncryptionMissingError: the server does not encrypt, although it must.
            Exception: it cannot be understood, or is gone.
        """
        self._connection.connect(timeout=int(seconds))
        encrypts = bool(self._connection.supports_encryption)
        if self._place.needs_encryption and not encrypts:
            raise EncryptionMissingError
        session = Session(
            self._connection, cast("str", self._login), None, require_encryption=encrypts, auth_protocol="ntlm"
        )
        session.connect()
        tree = _LocalTree(session, f"\\\\{self._place.server}\\{self._place.share}")
        tree.connect()
        self._tree = tree

    def list_page(self, folder: "OpenFolder") -> bytes:
        """Return the next page of a folder (FileIdFullDirectoryInformation); empty after the last."""
        opened = folder.opened
        flags = 0 if folder.has_begun else QueryDirectoryFlags.SMB2_RESTART_SCANS
        folder.has_begun = True
        message, _ = opened.query_directory(
            folder.pattern,
            FileInformationClass.FILE_ID_FULL_DIRECTORY_INFORMATION,
            flags=flags,
            max_output=PAGE_BYTES,
            send=False,
        )
        request = self._connection.send(message, self._tree.session.session_id, self._tree.tree_connect_id)
        try:
            response = self._connection.receive(request)
        except (NoMoreFiles, NoSuchFile):
            return b""
        answer = SMB2QueryDirectoryResponse()
        answer.unpack(response["data"].get_value())
        page = cast("bytes", answer["buffer"].get_value())
        if not 0 < len(page) <= PAGE_BYTES:
            raise ValueError("The server lists nothing, or more than it was asked for.")
        return page

    def open_folder(self, path: str, pattern: str, *, follows: bool) -> "OpenFolder":
        """Open a folder, to list the entries that match.

        `follows`: it may itself be a junction.
        """
        options = CreateOptions.FILE_DIRECTORY_FILE
        options |= 0 if follows else CreateOptions.FILE_OPEN_REPARSE_POINT
        access = DirectoryAccessMask.FILE_LIST_DIRECTORY | DirectoryAccessMask.FILE_READ_ATTRIBUTES
        return OpenFolder(self._opened(path, access, options), pattern)

    def open_file(self, path: str) -> OpenFile:
        """Open a file for reading. Symbolic links are not followed: the server leaves that to the client."""
        access = FilePipePrinterAccessMask.FILE_READ_DATA | FilePipePrinterAccessMask.FILE_READ_ATTRIBUTES
        return OpenFile(self._opened(path, access, CreateOptions.FILE_NON_DIRECTORY_FILE))

    def _opened(self, path: str, access: int, options: int) -> Open:
        opened = Open(self._tree, path)
        opened.create(
            ImpersonationLevel.Impersonation,
            access,
            0,
            # Others may go on writing, renaming and deleting.
            ShareAccess.FILE_SHARE_READ | ShareAccess.FILE_SHARE_WRITE | ShareAccess.FILE_SHARE_DELETE,
            CreateDisposition.FILE_OPEN,
            options,
        )
        return opened


@dataclass(slots=True)
class OpenFolder:
    """A folder that is open for listing."""

    opened: Any
    pattern: str
    has_begun: bool = False

    def close(self) -> None:
        """Close the folder."""
        self.opened.close()


def status_of(error: Exception) -> int | None:
    """Return the NTSTATUS by which a server refused; None if it did not answer in order."""
    return cast("int", error.status) if isinstance(error, SMBResponseException) else None


def _state(opened: Any) -> FileState:
    return FileState(opened.end_of_file, opened.last_write_time, opened.change_time)
