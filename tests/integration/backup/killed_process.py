"""A process that makes an archive, restores one, or erases, and is killed (SIGKILL) at a checkpoint.

Arguments: what, database, file, organization, checkpoint, at which passing. The database's address is in MONGODB_URI.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from pydantic import SecretStr

from analytiq.composition import Services
from analytiq.models.erasure import ErasureOptions, LedgerFate
from analytiq.operations.backup.files import restore_file, write_file
from analytiq.operations.backup.restoring import RestoreOptions
from analytiq.settings import ErasureSettings, Settings
from analytiq.storage.client import connect
from analytiq.telemetry import checkpoints


async def main(what: str, database: str, file: str, organization_id: str, place: str, passing: str) -> None:
    left = int(passing)

    async def kill(name: str) -> None:
        nonlocal left
        left -= name == place
        if name == place and not left:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.install(kill)
    connection = await connect(SecretStr(os.environ["MONGODB_URI"]), database)
    match what:
        case "backup":
            await write_file(connection, Path(file), [organization_id])
        case "erase":
            settings = Settings(erasure=ErasureSettings(quiet_seconds=0))
            erasures = Services(settings, connection).operations.erasures
            options = ErasureOptions(ledger=LedgerFate.DELETE)
            requested = await erasures.request_organization(organization_id, requested_by="test", options=options)
            await erasures.run(requested.id)
        case _:
            await restore_file(connection, Path(file), RestoreOptions(is_fresh=what == "restore-as-new"))
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
