"""The emulator by itself, to try things by hand."""

import argparse
import asyncio

from tests.fakes.search_server.server import SearchServer


async def serve(uri: str, port: int, delay_seconds: float) -> None:
    """Print the address, and serve until stopped."""
    async with SearchServer.running(uri, port=port) as server:
        server.behaviour.visibility_delay_seconds = delay_seconds
        print(server.uri, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uri", required=True, help="of a replica set of one node")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay-seconds", type=float, default=0.0, help="from a write until searches go by it")
    given = parser.parse_args()
    asyncio.run(serve(given.uri, given.port, given.delay_seconds))
