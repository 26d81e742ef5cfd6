"""Search end to end over HTTP: a separate API process, both retrievers, by filter and by number of callers.

    python -m benchmarks.http_search [--short] [--chunks 100000] [--queries 200] [--callers 1 4] [--processes 1 2 4]

The knowledge base has the local model's name and dimensions, with generated texts and vectors; questions are
embedded in the first round only, so that everything but the model is measured. Documents have 50 chunks. Callers are
threads of this process with a connection each, and share the machine with the API and mongod. `server` is the API's
own time (`timings_ms.total`), `CPU` the processor time of the API processes a search. With several API processes, each
has its own replica of the knowledge base, and callers are divided among them.
"""

import argparse
import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from bson import ObjectId

from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.settings import child_environment
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.vectors import collection_name, to_bindata
from benchmarks import report
from benchmarks.made_up_texts import questions, texts
from benchmarks.platform_under_test import Platform, Server, platform, running_server
from benchmarks.swapping import Swapping, random_vectors
from benchmarks.vector_collections import CHUNKS_PER_DOCUMENT, made_up

MODEL = "local/all-minilm-l6-v2"
DIMENSIONS = 384
DOCUMENTS_AT_ONCE = 100
TOP_K = 10
READY_SECONDS = 900.0
MODES = ("hybrid", "vector", "lexical")
FILTERS = {"all": 100, "10 %": 10, "1 %": 1}
"""Name → percentage of the documents that pass."""

Row = dict[str, Any]


async def build(target: Platform, base: KnowledgeBase, chunks: int) -> list[str]:
    """Index one document by the library, then copy its rows with other vectors and texts; return some of the texts."""
    await Swapping(target, base).index("document 0", {"percentile": 0}, random_vectors(1, DIMENSIONS, seed=1))
    database = target.services.connection.database
    names = ("docs", "document_index", "generations", collection_name(base.id))
    templates = {name: await database[name].find_one({}) or {} for name in names}
    for name in names:
        await database[name].delete_many({})
    collection = made_up(chunks, DIMENSIONS, questions=1)
    source, kept = texts(chunks), list[str]()
    count = chunks // CHUNKS_PER_DOCUMENT
    for first in range(0, count, DOCUMENTS_AT_ONCE):
        rows: dict[str, list[Row]] = {name: [] for name in names}
        for number in range(first, min(first + DOCUMENTS_AT_ONCE, count)):
            own = list(islice(source, CHUNKS_PER_DOCUMENT))
            kept += own[:1]
            percentile = int(collection.ranks[number] * 100)
            vectors = collection.vectors[number * CHUNKS_PER_DOCUMENT : (number + 1) * CHUNKS_PER_DOCUMENT]
            for name, copies in _document(templates, percentile, own, vectors).items():
                rows[name] += copies
        for name in names:
            await database[name].insert_many(rows[name], ordered=False)
    await database["kb_changes"].delete_many({"kb_id": base.id})
    await database["kb_epochs"].update_one({"_id": ObjectId(base.id)}, {"$set": {"epoch": count}})
    await target.services.ingestion.life_cycle.settle(base.organization_id, base.id)
    return kept


def _document(templates: dict[str, Row], percentile: int, own: Sequence[str], vectors: Any) -> dict[str, list[Row]]:
    document_id, generation_id = new_id(), new_id()
    docs, entries, generations, chunks = templates
    of_all: Row = {"document_id": document_id, "generation_id": generation_id}
    of_document: Row = {"document_name": document_id, "identity": document_id, "sha256": document_id}
    of_document |= {"text_hash": document_id, "text_id": new_id(), "file_id": new_id()}
    return {
        docs: [
            {**templates[docs], **of_document, "_id": ObjectId(document_id), "metadata": {"percentile": percentile}}
        ],
        entries: [
            {**templates[entries], **of_all, "_id": ObjectId(), "text_hash": document_id, "chunk_count": len(own)}
        ],
        generations: [
            {
                **templates[generations],
                "_id": ObjectId(generation_id),
                "document_id": document_id,
                "chunk_count": len(own),
            }
        ],
        chunks: [
            {
                **templates[chunks],
                **of_all,
                "_id": ObjectId(),
                "chunk_index": index,
                "chunk_text": text,
                "start": index * 2000,
                "end": index * 2000 + len(text),
                "embedding": to_bindata(vectors[index]),
            }
            for index, text in enumerate(own)
        ],
    }


@dataclass(frozen=True, slots=True)
class Api:
    """A running API process, and the searched knowledge base."""

    pid: int
    port: int
    path: str
    token: str

    def connect(self) -> http.client.HTTPConnection:
        """Open a persistent connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, connection: http.client.HTTPConnection, body: Row) -> tuple[int, Row]:
        """Search once; return status and answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", self.path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@contextmanager
def serving(server: Server, target: Platform, base: KnowledgeBase, token: str, port: int) -> Generator[Api]:
    """Run `python -m api` on the same database."""
    settings = target.services.settings
    assert settings.mongo.uri is not None
    assert settings.secret_key is not None
    process = subprocess.Popen(
        [sys.executable, "-m", "api"],
        cwd=Path(__file__).parents[1],
        env=child_environment(
            {
                "MONGODB_URI": settings.mongo.uri.get_secret_value(),
                "ANALYTIQ_MONGO__DATABASE": settings.mongo.database,
                "ANALYTIQ_SECRET_KEY": settings.secret_key.get_secret_value(),
                "ANALYTIQ_DATA_DIR": str(server.directory / f"api_{port}"),
                "ANALYTIQ_API__PORT": str(port),
                "ANALYTIQ_SEARCH__LOCAL_STORE_BYTES": str(8 * 1024**3),
                "ANALYTIQ_LOG_LEVEL": "WARNING",
            }
        ),
    )
    try:
        organization_id = target.organization.id
        path = f"/v0/orgs/{organization_id}/knowledge-bases/{base.id}/search"
        yield Api(process.pid, port, path, token)
    finally:
        process.terminate()
        process.wait(60)


def until_ready(api: Api) -> float:
    """Return the seconds until both retrievers answer."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < READY_SECONDS:
        try:
            status, answer = api.ask(api.connect(), {"query": "warm", "top_k": TOP_K})
        except OSError:
            status, answer = 0, {}
        if status == 200 and not answer["degraded"]:
            return time.perf_counter() - begin
        if status not in (0, 200, 503):
            raise SystemExit(f"{status}: {answer}; nothing can be measured")
        time.sleep(0.1)
    raise SystemExit("the knowledge base is still not searched by vectors and words")


@dataclass(slots=True)
class Measured:
    """Milliseconds of each search, measured by the caller and by the API."""

    caller: list[float] = field(default_factory=list[float])
    server: list[float] = field(default_factory=list[float])
    per_second: float = 0.0
    processor: float = 0.0


def measure(apis: Sequence[Api], bodies: Sequence[Row], callers: int) -> Measured:
    """Ask every question once, divided among the callers, which are divided among the API processes."""
    measured = Measured()

    def call(number: int) -> None:
        api = apis[number % len(apis)]
        connection = api.connect()
        for body in bodies[number::callers]:
            begin = time.perf_counter()
            status, answer = api.ask(connection, body)
            measured.caller.append((time.perf_counter() - begin) * 1000)
            if status != 200 or answer["degraded"] or not answer["results"]:
                raise SystemExit(f"{status}: {json.dumps(answer)[:500]}; what was measured is worth nothing")
            measured.server.append(answer["timings_ms"]["total"])

    before, begin = _processor_seconds(apis), time.perf_counter()
    with ThreadPoolExecutor(callers) as threads:
        list(threads.map(call, range(callers)))
    measured.per_second = len(bodies) / (time.perf_counter() - begin)
    measured.processor = (_processor_seconds(apis) - before) * 1000 / len(bodies)
    return measured


def _processor_seconds(apis: Sequence[Api]) -> float:
    times = [psutil.Process(api.pid).cpu_times() for api in apis]
    return sum(one.user + one.system for one in times)


def measure_all(apis: Sequence[Api], asked: Sequence[str], callers: Sequence[int], chunks: int) -> list[list[str]]:
    """Measure a row for each mode, filter and number of callers."""
    rows: list[list[str]] = []
    for mode in MODES:
        for name, percent in FILTERS.items():
            wanted = {} if name == "all" else {"metadata_filter": {"percentile": {"$lt": percent}}}
            options: Row = {"top_k": TOP_K, "mode": mode, "deduplicate": False, **wanted}
            bodies = [{"query": question, **options} for question in asked]
            for api in apis:
                measure([api], bodies, 1)  # the first round embeds the questions, and warms what is warm in use
            for count in callers:
                found = measure(apis, bodies, count)
                marks = [f"{report.percentile(found.caller, share):.1f}" for share in (0.5, 0.95, 0.99)]
                server = f"{report.percentile(found.server, 0.5):.1f}"
                rows.append(
                    [f"{chunks:,}", str(len(apis)), mode, name, str(count), *marks, server, f"{found.processor:.1f}",
                     f"{found.per_second:.0f}"]
                )  # fmt: skip
    return rows


async def measure_size(server: Server, chunks: int, options: argparse.Namespace) -> tuple[list[list[str]], float]:
    """Measure the rows of one size, and the seconds until the last API processes are ready."""
    async with platform(server, f"http_{chunks}") as target:
        base = await target.create_knowledge_base(model=MODEL)
        await target.services.jobs.new_runner().run_until_idle()
        some_texts = await build(target, base, chunks)
        issued = await target.services.tenancy.organizations.issue_token(target.organization.id, name="benchmark")
        asked = questions(some_texts, options.queries)
        rows: list[list[str]] = []
        ready = 0.0
        for count in options.processes:
            with ExitStack() as running:
                ports = range(options.port, options.port + count)
                secret = issued.secret.get_secret_value()
                apis = [running.enter_context(serving(server, target, base, secret, port)) for port in ports]
                ready = max([await asyncio.to_thread(until_ready, api) for api in apis])
                rows += await asyncio.to_thread(measure_all, apis, asked, options.callers, chunks)
        return rows, ready


async def run(options: argparse.Namespace) -> None:
    """Measure and print."""
    async with running_server() as server:
        report.print_heading(f"Search over HTTP, milliseconds, n = {options.queries} questions")
        rows: list[list[str]] = []
        for chunks in options.chunks:
            found, ready = await measure_size(server, chunks, options)
            rows += found
            print(f"{chunks:,} chunks: searched by vectors and words {ready:.1f} s after the API's start")
        print()
        header = (
            "chunks",
            "processes",
            "mode",
            "filter",
            "callers",
            "p50",
            "p95",
            "p99",
            "server p50",
            "API CPU",
            "searches/s",
        )
        report.print_table(header, rows)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = report.arguments("Search end to end over HTTP.", repeats=1)
    parser.add_argument("--chunks", type=int, nargs="+", default=[100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--processes", type=int, nargs="+", default=[1], help="numbers of API processes")
    parser.add_argument("--port", type=int, default=8399)
    options = parser.parse_args(argv)
    if options.short:
        options.chunks, options.queries, options.callers = [5000], 50, [1]
    asyncio.run(run(options))


if __name__ == "__main__":
    main()
