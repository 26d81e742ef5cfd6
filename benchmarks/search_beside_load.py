"""One caller's searches over HTTP beside a bulk load of the same knowledge base, by the age of the load.

    python -m benchmarks.search_beside_load [--short] [--chunks 100000] [--seconds 120] [--rate 0] [--mode hybrid]

The API runs in a process of its own, and so does the load: uploads in groups and a worker, with a free embedder.
`--rate` bounds the load to a number of documents a second, so that a core stays free; 0 means no bound. The first row
is the same caller at rest. `fresh` is the time from the end of the load to the first search that finds its last text.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, SecretStr

from benchmarks import report
from benchmarks.hash_embedder import HashEmbedder, every_model_is
from benchmarks.http_search import DIMENSIONS, MODEL, TOP_K, Api, build, serving, until_ready
from benchmarks.made_up_texts import questions, texts
from benchmarks.platform_under_test import Platform, Server, platform, running_server, working
from benchmarks.swapping import Swapping, random_vectors
from benchmarks.uploads import send

FILES_A_CALL = 16
MOST_WAITING = 256
"""Documents that may wait for the worker before the load pauses, as a client does that follows its uploads."""
PAUSE_SECONDS = 0.05
"""Between two searches of the caller, who reads the answer."""
POLL_SECONDS = 0.01


class Orders(BaseModel):
    """Instructions for the loading process."""

    uri: str
    mongod_pid: int
    directory: Path
    database: str
    seconds: float
    rate: float


def ask_repeatedly(api: Api, asked: Sequence[str], mode: str, seconds: float) -> list[float]:
    """Search for a number of seconds; return the milliseconds of each search."""
    connection, spent, number = api.connect(), list[float](), 0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        body = {"query": asked[number % len(asked)], "top_k": TOP_K, "mode": mode, "deduplicate": False}
        begin = time.perf_counter()
        status, answer = api.ask(connection, body)
        spent.append((time.perf_counter() - begin) * 1000)
        if status != 200 or answer["degraded"] or not answer["results"]:
            raise SystemExit(f"{status}: {json.dumps(answer)[:500]}; what was measured is worth nothing")
        number += 1
        time.sleep(PAUSE_SECONDS)
    return spent


@contextmanager
def loading(orders: Orders) -> Generator["subprocess.Popen[str]"]:
    """Run the load in a process of its own within the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.search_beside_load", "--load", orders.model_dump_json()],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _told(process, "loading")
        yield process
    finally:
        process.terminate()
        process.wait(120)


def _told(process: "subprocess.Popen[str]", beginning: str) -> str:
    """Return the load's next line that begins like this; lines of its log come between."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(beginning):
            return line
    raise SystemExit("the load has ended early; nothing can be measured")


async def load(orders: Orders) -> None:
    """Upload and index documents until the time is over; print the last text once it is committed."""
    server = Server(SecretStr(orders.uri), orders.mongod_pid, orders.directory / "load")
    with every_model_is(HashEmbedder(DIMENSIONS)):
        async with platform(server, orders.database, is_kept=True) as target, working(target.services):
            print("loading", flush=True)
            begin, last = time.perf_counter(), ""
            async for number, group in _paced(target, orders, begin):
                await send(target, [(number + place, text.encode()) for place, text in enumerate(group)])
                last = group[-1]
            await target.until_idle()
            print(json.dumps({"last": last, "seconds": time.perf_counter() - begin}), flush=True)


async def _paced(target: Platform, orders: Orders, begin: float) -> AsyncGenerator[tuple[int, list[str]]]:
    """Yield groups of new texts with the number of their first one, no faster than the rate and the worker."""
    source, sent = texts(10**9, seed=11), 0
    while time.perf_counter() - begin < orders.seconds:
        is_early = orders.rate > 0 and sent > (time.perf_counter() - begin) * orders.rate
        if is_early or sum((await target.services.repositories.jobs.counts()).values()) > MOST_WAITING:
            await asyncio.sleep(POLL_SECONDS)
            continue
        yield sent, list(islice(source, FILES_A_CALL))
        sent += FILES_A_CALL


def measure(api: Api, asked: Sequence[str], orders: Orders, options: argparse.Namespace) -> list[list[str]]:
    """Measure a row at rest, and one for each window of the load's age."""
    ask_repeatedly(api, asked, options.mode, 5.0)  # the first round embeds the questions
    rest = ask_repeatedly(api, asked, options.mode, options.window)
    rows = [_row("at rest", rest, rest)]
    with loading(orders) as process:
        for number in range(max(1, int(options.seconds // options.window))):
            spent = ask_repeatedly(api, asked, options.mode, options.window)
            rows.append(_row(f"{(number + 1) * options.window:.0f} s", spent, rest))
            print(" | ".join(rows[-1]), flush=True)
        told = json.loads(_told(process, "{"))
    begin = time.perf_counter()
    results = api.ask(api.connect(), {"query": told["last"][:200], "top_k": 1, "mode": "lexical"})[1]["results"]
    if not results or results[0]["content"][:100] != told["last"][:100]:
        raise SystemExit("the last loaded document is not found; what was measured is worth nothing")
    print(f"the last document was found by the first search after the load, in {time.perf_counter() - begin:.3f} s")
    return rows


def _row(name: str, spent: Sequence[float], rest: Sequence[float]) -> list[str]:
    marks = [f"{report.percentile(spent, share):.1f}" for share in (0.5, 0.95, 0.99)]
    return [name, str(len(spent)), *marks, f"{report.median(spent) / report.median(rest):.1f}x"]


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server, platform(server, "beside_load", is_limited=False) as target:
        bound = f"{options.rate:g} documents/s" if options.rate else "as fast as it can"
        report.print_heading(f"{options.mode} search beside a load, {bound}, milliseconds; {options.chunks:,} chunks")
        base = await target.create_knowledge_base(model=MODEL)
        await target.services.jobs.new_runner().run_until_idle()
        some_texts = await build(target, base, options.chunks)
        # `build` leaves no change log: the replica needs the last change to go on from.
        await Swapping(target, base).index("last", {}, random_vectors(1, DIMENSIONS, seed=2))
        issued = await target.services.tenancy.organizations.issue_token(target.organization.id, name="benchmark")
        orders = Orders(
            uri=server.uri.get_secret_value(),
            mongod_pid=server.pid,
            directory=server.directory,
            database=target.services.settings.mongo.database,
            seconds=options.seconds,
            rate=options.rate,
        )
        with serving(server, target, base, issued.secret.get_secret_value(), options.port) as api:
            await asyncio.to_thread(until_ready, api)
            asked = questions(some_texts, 50)
            rows = await asyncio.to_thread(measure, api, asked, orders, options)
        database = target.services.connection.database
        loaded = await database["document_index"].count_documents({"kb_id": base.id}) - len(some_texts)
        print(f"{loaded} documents were loaded, {loaded / options.seconds:.0f} a second\n")
        report.print_table(("age of the load", "searches", "p50", "p95", "p99", "p50 to rest"), rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Searches beside a bulk load, by its age.", repeats=1)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="duration of the load")
    parser.add_argument("--window", type=float, default=20.0, help="seconds of each row")
    parser.add_argument("--rate", type=float, default=0.0, help="most documents a second; 0: as many as it can")
    parser.add_argument("--mode", choices=("hybrid", "vector", "lexical"), default="hybrid")
    parser.add_argument("--port", type=int, default=8398)
    parser.add_argument("--load", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.load is not None:
        with suppress(KeyboardInterrupt):
            asyncio.run(load(Orders.model_validate_json(options.load)))
        return
    if options.short:
        options.chunks, options.seconds, options.window = 5000, 20.0, 10.0
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
