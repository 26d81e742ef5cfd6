"""A small run of `tests.fault.killed_runs`; by itself, `python -m tests.fault.killed_runs` kills it at 20 places."""

from contextlib import ExitStack
from pathlib import Path

from pydantic import SecretStr

from analytiq.settings import SourceSettings
from analytiq.storage.client import MongoConnection
from tests.fakes.embedding_server import EmbeddingServer
from tests.fault.changing_sources import ChangingFolder
from tests.fault.killed_runs import killed_runs, prove
from tests.fault.processes import Nursery
from tests.fault.site import open_site


async def test_source_that_changes_under_a_run_whose_workers_die_loses_and_doubles_nothing(
    migrated: MongoConnection,
    mongo_uri: SecretStr,
    embedding_server: EmbeddingServer,
    nursery: Nursery,
    tmp_path: Path,
) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    allowed = SourceSettings(folders=(papers,))
    with ExitStack() as stack:
        changing = ChangingFolder(stack, papers)
        async with (
            open_site(migrated, mongo_uri, embedding_server, nursery, tmp_path / "site", sources=allowed) as site,
            killed_runs(site, changing, items=30, seed=1) as runs,
        ):
            runs.lease_seconds = 2.0
            killed, _, _ = await prove(runs, 4, embedding_server)
    assert len(runs.places) > 1  # how many items vanish under the run, and with them its removals, is up to chance
    assert killed.counts.added
    assert killed.counts.changed
