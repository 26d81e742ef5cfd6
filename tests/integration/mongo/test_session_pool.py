"""Connections that were opened while the server was neither primary nor secondary."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from pydantic import SecretStr
from pymongo.asynchronous.client_session import AsyncClientSession

from analytiq.standalone.data_directory import DataDirectory
from analytiq.standalone.embedded_server import EmbeddedServer
from analytiq.storage.causality import LatestAnswer
from analytiq.storage.client import connect, make_client
from analytiq.storage.transactions import run_in_transaction

EventuallyTrue = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
LONGER_THAN_THE_TEST_SECONDS = 600


async def test_connection_opened_during_a_change_of_state_takes_transactions_afterwards(
    tmp_path: Path, eventually: EventuallyTrue
) -> None:
    with DataDirectory.claim(tmp_path / "data") as directory:
        server = EmbeddedServer(directory)
        address = (await server.start()).get_secret_value()
        try:
            direct = SecretStr(address.replace("replicaSet=analytiq", "directConnection=true"))
            administrator = await connect(direct, "test")
            step_down = {"replSetStepDown": LONGER_THAN_THE_TEST_SECONDS, "secondaryCatchUpPeriodSecs": 0}
            await administrator.client.admin.command({**step_down, "force": True})
            await administrator.client.admin.command("replSetMaintenance", True)

            latest_answer = LatestAnswer()
            client = make_client(direct, 10.0, latest_answer)
            connection = replace(administrator, client=client, database=client["test"], latest_answer=latest_answer)
            hello = await connection.client.admin.command("hello")
            assert not hello["isWritablePrimary"]
            assert not hello["secondary"]

            await administrator.client.admin.command("replSetMaintenance", False)
            await administrator.client.admin.command("replSetFreeze", 0)

            async def is_primary() -> bool:
                return bool((await connection.client.admin.command("hello"))["isWritablePrimary"])

            await eventually(is_primary)

            async def write(session: AsyncClientSession) -> None:
                await connection.database["rows"].insert_one({}, session=session)

            await run_in_transaction(connection, write)
            assert await connection.database["rows"].count_documents({}) == 1
            await connection.close()
            await administrator.close()
        finally:
            await server.stop()
