"""Landlock: restriction of readable files. Numbers and structures of linux/landlock.h."""

import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from analytiq.ingestion.parsing.rights.kernel import IS_LINUX, checked, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The same on every architecture."""
_ASK_FOR_VERSION = 1
_RULE_PATH_BENEATH = 1
_WRITE_FILE, _READ_FILE, _READ_DIRECTORY, _TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FILE_RIGHTS_SINCE = ((5, (1 << 16) - 1), (3, (1 << 15) - 1), (2, (1 << 14) - 1), (1, (1 << 13) - 1))
_NETWORK_SINCE, _TCP = 4, 0b11
"""Rights to bind and connect."""
_SCOPES_SINCE, _SCOPES = 6, 0b11
"""Scopes of abstract Unix sockets and signals."""
NEWEST_VERSION = 6
"""The newest version of the interface (ABI) that this module supports."""


def version() -> int:
    """Return the kernel's version of the interface; 0 if the kernel or a container's filter offers none."""
    return max(system_call(_CREATE_RULESET, None, 0, _ASK_FOR_VERSION), 0) if IS_LINUX else 0


def restrict(readable: Iterable[Path], *, version: int) -> None:
    """Restrict the calling thread and its descendants to reading these paths with their content, and no writing.

    Args:
        readable: Files and directories; missing ones are skipped.
        version: At most the kernel's.

    Raises:
        OSError: The kernel refused; no_new_privs must be set before.
    """
    version = min(version, NEWEST_VERSION)
    files = next(rights for since, rights in _FILE_RIGHTS_SINCE if since <= version)
    network = _TCP if version >= _NETWORK_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    size = 24 if version >= _SCOPES_SINCE else 16 if version >= _NETWORK_SINCE else 8
    attributes = struct.pack("=QQQ", files, network, scopes)
    ruleset = checked("landlock_create_ruleset", system_call(_CREATE_RULESET, attributes, size, 0))
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE, _READ_DIRECTORY)
        # Tesseract opens it for writing and crashes where it may not.
        _allow(ruleset, Path(os.devnull), (_READ_FILE | _WRITE_FILE | _TRUNCATE) & files, 0)
        checked("landlock_restrict_self", system_call(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int, rights_of_directories: int) -> None:
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # fonts, say, need not be installed; what cannot be opened needs no rule
        return
    try:
        # A rule of a plain file may not name rights of directories (EINVAL).
        if stat.S_ISDIR(os.fstat(beneath).st_mode):
            rights |= rights_of_directories
        rule = struct.pack("=Qi", rights, beneath)  # packed: 12 bytes
        checked("landlock_add_rule", system_call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(beneath)
