"""An ingestion while the database has no primary: it waits, and nothing is lost."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from pymongo import MongoClient

from analytiq.storage.embedded_replica_set import USER
from tests.e2e.driving import accepted, address_of_running_database, eventually
from tests.e2e.running_platform import run_command, start_platform, stop_platform

STEP_DOWN_SECONDS = 20
"""For so long no member of the set may be its primary; looking for one takes the API 10 s, then it answers 503."""
FILES = 150


def step_down(data_dir: Path) -> None:
    """Let the only member of the embedded replica set be no primary for a while."""
    host = address_of_running_database(data_dir).get_secret_value().rpartition("@")[2].partition("/")[0]
    password = (data_dir / "mongod.password").read_text().strip()
    administrator = MongoClient[dict[str, object]](
        f"mongodb://{host}/?directConnection=true", username=USER, password=password, authSource="admin"
    )
    with administrator:
        administrator.admin.command("replSetStepDown", STEP_DOWN_SECONDS, secondaryCatchUpPeriodSecs=0, force=True)


def test_ingestion_goes_on_after_a_failover_and_every_file_is_there_once(tmp_path: Path) -> None:
    folder = tmp_path / "contracts"
    for number in range(FILES):
        (folder / f"{number}").mkdir(parents=True)
        (folder / f"{number}" / "contract.txt").write_text(f"Customer {number} pays within {number} days.")
    running = start_platform(tmp_path / "data")
    try:
        with running.client() as client, ThreadPoolExecutor(1) as threads:
            arguments = ("ingest", str(folder), "--tag", "t", "--kb", "k", "--data-dir", str(running.data_dir))
            ingesting = threads.submit(run_command, *arguments)
            eventually(lambda: accepted(client.get("/documents"))["total_count"] > 0)
            step_down(running.data_dir)
            unready = eventually(lambda: _refusal(httpx.get(f"{running.url}/ready", timeout=60.0)))
            assert unready.headers["Retry-After"]
            assert not ingesting.done(), "the database was lost after the ingestion"
            ingested = ingesting.result()
            assert ingested.returncode == 0, ingested.stdout[-2000:] + ingested.stderr
            assert f"{FILES} files: {FILES} created. {FILES} can be found" in ingested.stdout
            assert accepted(client.get("/documents"))["total_count"] == FILES
    finally:
        assert stop_platform(running) == 0, running.log[-4000:]


def _refusal(response: httpx.Response) -> httpx.Response | None:
    return response if response.status_code == 503 else None
