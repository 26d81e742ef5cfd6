"""The maker of a source on a Windows share, for the contract's tests."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from analytiq.settings import SourceSettings
from tests.contract.file_servers import writing
from tests.contract.made_sources import Made, opening
from tests.fakes.smb_server import PASSWORD, SHARE, USER, SmbServer


def made_smb(stack: ExitStack, folder: Path) -> Made:
    """Return an SMB source."""
    server = stack.enter_context(SmbServer(folder))
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setattr("analytiq.ingestion.sources.kinds.smb.SETTLED_SECONDS", -1e9)
    opened = opening(
        "smb",
        {"server": "127.0.0.1", "port": server.port, "share": SHARE},
        SourceSettings(private_hosts=("127.0.0.1",)),
        credentials={"user": USER, "password": PASSWORD},
    )
    return Made("smb", opened, lambda name, content: writing(folder, name, content))


SHARES = {"smb": made_smb}
