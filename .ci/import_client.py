"""Import the client where nothing of the server is installed, and make a call of each client."""

import asyncio
import importlib.util
import sys
from importlib import metadata

from analytiq.client import AsyncClient, Client, UnreachableError

NOWHERE = ("http://127.0.0.1:9", "f" * 24, "token")


async def call() -> None:
    """Fail to reach an API."""
    async with AsyncClient(*NOWHERE) as client:
        try:
            await client.organization()
        except UnreachableError:
            return
    sys.exit("Something answers where nothing should.")


asyncio.run(call())
with Client(*NOWHERE) as client:
    try:
        client.organization()
        sys.exit("Something answers where nothing should.")
    except UnreachableError:
        pass
for absent in ("analytiq.storage", "fastapi", "pymongo"):
    try:
        if importlib.util.find_spec(absent) is not None:
            sys.exit(f"The client's environment has {absent}.")
    except ModuleNotFoundError:
        pass
distributions = {item.metadata["Name"].lower() for item in metadata.distributions()}
print("analytiq-client", metadata.version("analytiq-client"), "with", ", ".join(sorted(distributions)))
