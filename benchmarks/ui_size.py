"""The management UI and its API over an organization of 100,000 documents and 1,000 knowledge bases.

    python -m benchmarks.ui_size [--short] [--documents 100000] [--knowledge-bases 1000] [--data-dir DIR]

Starts `analytiq up` on a data directory of its own, fills an organization directly in the database, and measures each
page in Chromium, from the navigation until its rows are shown (a fresh profile each time), and each call of the pages
by itself. `plan` is the least selective plan of the queries that a call sends to mongod, with the number of rows
read. With `--data-dir` the directory stays, and a second run finds the organization there. Needs the built UI
(`make ui`), Node, and Chromium (`CHROMIUM`). The reconciler is off, since the documents have no vectors.
"""

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pymongo import MongoClient
from pymongo.database import Database

from analytiq.settings import child_environment
from analytiq.standalone.data_directory import read_connection
from analytiq.standalone.embedded_address import address_of_running_database
from analytiq.storage.client import connect
from analytiq.storage.repositories.organizations import OrganizationRepository
from analytiq.tenancy.organizations.service import Organizations
from benchmarks import report
from benchmarks.ui_rows import Row, Seeded, seed, seeded

NAME = "A large organization"
READY_SECONDS = 180.0
PAGES_SCRIPT = Path(__file__).parents[1] / "ui" / "scripts" / "time-pages.mjs"
SIZES_SCRIPT = PAGES_SCRIPT.with_name("route-sizes.mjs")


@dataclass(frozen=True, slots=True)
class Running:
    """The running platform, and a client of the large organization."""

    url: str
    organization_id: str
    token: str
    database: Database[Row]
    seeded: Seeded


@contextmanager
def started(data_dir: Path, **settings: str) -> Generator[subprocess.Popen[bytes]]:
    """Run the platform on a data directory; yield once it is ready."""
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir.with_name(f"{data_dir.name}.log")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "analytiq.cli", "up", "--data-dir", str(data_dir), "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=child_environment(settings),
        )
    try:
        deadline = time.monotonic() + READY_SECONDS
        while "Analytiq is ready" not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the platform did not start:\n{log.read_text(errors='replace')[-4000:]}")
            time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(READY_SECONDS)
        if process.returncode != 0:
            print(log.read_text(errors="replace")[-2000:])


@contextmanager
def running(data_dir: Path, *, documents: int, knowledge_bases: int) -> Generator[Running]:
    """Start the platform, fill it if necessary, and stop it."""
    with started(data_dir, ANALYTIQ_RECONCILER__IS_ENABLED="false"):
        organization_id, token, is_new = asyncio.run(organization_named(data_dir, NAME))
        uri = address_of_running_database(data_dir).get_secret_value()
        with MongoClient[Row](uri, tz_aware=True) as mongo:
            database = mongo["analytiq"]
            if is_new:
                began = time.monotonic()
                there = seed(database, organization_id, documents=documents, knowledge_bases=knowledge_bases)
                print(f"seeded {documents:,} documents in {time.monotonic() - began:.0f} s", flush=True)
            else:
                there = seeded(database, organization_id)
            yield Running(read_connection(data_dir).url, organization_id, token, database, there)


async def organization_named(data_dir: Path, name: str) -> tuple[str, str, bool]:
    """Return the organization's id, a new token, and True if it is new."""
    connection = await connect(address_of_running_database(data_dir), "analytiq")
    try:
        rows = OrganizationRepository(connection)
        organizations = Organizations.on(connection)
        found = next((item for item in await rows.all() if item.name == name), None)
        organization = found or await organizations.create(name)
        issued = await organizations.issue_token(organization.id, name="benchmark")
        return organization.id, issued.secret.get_secret_value(), found is None
    finally:
        await connection.close()


def pages(there: Seeded, documents: int) -> dict[str, str]:
    """Return the UI's paths by name."""
    last = max(1, documents * 9 // 1000)
    return {
        "documents": "/documents/",
        "by name": "/documents/?q=zürich",
        "by a name that few have": "/documents/?q=004711",
        "by tag": f"/documents/?tags={there.tag_id}",
        "by state": "/documents/?state=failed",
        "by size": "/documents/?sort=-byte_size",
        f"page {last}": f"/documents/?page={last}&size=100",
        "knowledge bases": "/kbs/",
        "one knowledge base": f"/kbs/view/?id={there.kb_id}",
        "tags": "/tags/",
        "operations": "/operations/",
        "usage": "/usage/",
    }


def calls(there: Seeded, documents: int) -> dict[str, str]:
    """Return the API's paths by name, as the pages call them."""
    last = max(1, documents * 9 // 1000)
    return {
        "documents": "/documents?limit=50",
        "documents with their states": "/documents?limit=50&include=knowledge_bases",
        "by name": "/documents?limit=50&name_search=zürich",
        "by a name that few have": "/documents?limit=50&name_search=004711",
        "by tag": f"/documents?limit=50&tag_ids={there.tag_id}",
        "by state": "/documents?limit=50&state=failed",
        "by size": "/documents?limit=50&sort=-byte_size",
        "by last change": "/documents?limit=50&sort=-updated_at",
        "sorted by state": "/documents?limit=50&sort=state",
        f"page {last}": f"/documents?limit=100&skip={(last - 1) * 100}",
        "one document": f"/documents/{there.document_id}",
        "knowledge bases": "/knowledge-bases?limit=50",
        "one knowledge base": f"/knowledge-bases/{there.kb_id}",
        "its documents": f"/knowledge-bases/{there.kb_id}/documents?limit=50",
        "its chunks": f"/knowledge-bases/{there.kb_id}/chunks?limit=50",
        "tags": "/tags?limit=100",
        "jobs": "/jobs?state=dead&limit=50",
        "usage by day": "/usage?by_day=true",
        "usage by day, largest four": "/usage/days?since=2020-01-01T00:00:00Z",
    }


def time_pages(target: Running, documents: int, repeats: int) -> Mapping[str, list[float]]:
    """Measure the milliseconds until rows are shown, by page, at each repeat."""
    order = {
        "url": target.url, "organization_id": target.organization_id, "token": target.token, "repeats": repeats,
        "pages": pages(target.seeded, documents),
    }  # fmt: skip
    node = shutil.which("node") or "node"
    finished = subprocess.run(
        [node, str(PAGES_SCRIPT)], input=json.dumps(order), stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, list[float]] = json.loads(finished.stdout)
    return found


def time_calls(target: Running, documents: int, repeats: int) -> list[tuple[str, float, str]]:
    """Measure each call: its name, milliseconds (median), and its plan."""
    headers = {"Authorization": f"Bearer {target.token}"}
    base = f"{target.url}/v0/orgs/{target.organization_id}"
    rows: list[tuple[str, float, str]] = []
    with httpx.Client(base_url=base, headers=headers, timeout=120.0) as client:
        for name, path in calls(target.seeded, documents).items():
            taken: list[float] = []
            for _ in range(repeats):
                began = time.perf_counter()
                client.get(path).raise_for_status()
                taken.append((time.perf_counter() - began) * 1000)
            rows.append((name, report.median(taken), plan_of(target.database, client, path)))
    return rows


def plan_of(database: Database[Row], client: httpx.Client, path: str) -> str:
    """Return the plan of the query that reads most rows, and their number; a plan without an index comes first."""
    database.command("profile", 0)
    database.drop_collection("system.profile")
    database.command("profile", 2)
    client.get(path).raise_for_status()
    database.command("profile", 0)
    asked: list[dict[str, Any]] = list(database["system.profile"].find({"planSummary": {"$exists": True}}))
    own = [item for item in asked if not re.search(r"\.(system\.profile|leases|workers)$", str(item["ns"]))]
    worst = max(own, key=lambda item: ("COLLSCAN" in item["planSummary"], _read(item)))
    read = _read(worst)
    collection = str(worst["ns"]).rpartition(".")[2]
    return f"{collection}: {worst['planSummary'][:90]}, {read:,} read"


def _read(asked: Mapping[str, Any]) -> int:
    return max(asked.get("docsExamined", 0), asked.get("keysExamined", 0))


def measure(target: Running, options: argparse.Namespace) -> None:
    """Print all tables."""
    print("\nUntil rows are shown, in Chromium\n")
    timed = time_pages(target, options.documents, options.repeats)
    cells = [[name, f"{report.median(found):.0f}", f"{max(found):.0f}"] for name, found in timed.items()]
    report.print_table(("Page", "ms (median)", "ms (worst)"), cells)
    print("\nThe calls by themselves\n")
    called = time_calls(target, options.documents, options.repeats)
    report.print_table(("Call", "ms (median)", "plan"), [[name, f"{ms:.0f}", plan] for name, ms, plan in called])
    print("\nJavaScript of each page, gzipped\n", flush=True)
    subprocess.run([shutil.which("node") or "node", str(SIZES_SCRIPT)], check=False)


def main(given: list[str] | None = None) -> None:
    """Fill the organization, measure, and print."""
    parser = report.arguments(__doc__ or "", repeats=5)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--knowledge-bases", type=int, default=1_000)
    parser.add_argument("--data-dir", type=Path, default=None, help="kept, with what it was filled with")
    options = parser.parse_args(given)
    if options.short:
        options.documents, options.knowledge_bases, options.repeats = 5_000, 50, 2
    report.print_heading("The management UI over a large organization")
    with tempfile.TemporaryDirectory(prefix="analytiq-ui-size-") as temporary:
        data_dir = options.data_dir or Path(temporary) / "data"
        with running(data_dir, documents=options.documents, knowledge_bases=options.knowledge_bases) as target:
            measure(target, options)


if __name__ == "__main__":
    main()
