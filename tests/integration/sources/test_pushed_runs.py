"""Runs of items that a service named, and the export of a source."""

import csv
import io
import json

from analytiq.ingestion.sources.export import ExportFormat
from analytiq.models.source import ItemOutcome, RunState, RunTrigger
from tests.integration.sources.conftest import LONG_AGO, Sourcing
from tests.integration.sources.test_killed_runs import NoFence


async def test_named_items_are_looked_at_and_those_that_are_gone_removed(sourcing: Sourcing) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        sourcing.write(name, f"The file {name}.")
    source = await sourcing.source()
    await sourcing.run(source)
    sourcing.write("a.txt", "Edited.", at=LONG_AGO + 1)
    sourcing.write("d.txt", "Edited too, and not named.", at=LONG_AGO + 1)
    (sourcing.folder / "b.txt").unlink()
    runs = sourcing.tenant.services.ingestion.source_runs
    await runs.look_again(source, ["a.txt", "b.txt", "never.txt"])
    await sourcing.tenant.drain()
    (run, _), total = await runs.page(sourcing.id, source.id, skip=0, limit=10)
    assert (total, run.trigger, run.state) == (2, RunTrigger.PUSH, RunState.SUCCEEDED)
    outcomes = {entry.name: entry.outcome for entry in await sourcing.entries(run)}
    assert outcomes == {"a.txt": ItemOutcome.CHANGED, "b.txt": ItemOutcome.REMOVED}
    assert sorted(await sourcing.documents()) == ["a.txt", "c.txt", "d.txt"]


async def test_items_that_are_named_during_a_run_have_the_next_one(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", "A file.")
    source = await sourcing.source()
    runs = sourcing.tenant.services.ingestion.source_runs
    await runs.start(sourcing.id, source.id)
    await runs.look_again(source, ["a.txt"])
    await runs.look_again(source, ["b.txt", "a.txt"])
    assert (await runs.page(sourcing.id, source.id, skip=0, limit=10))[1] == 1
    await sourcing.tenant.drain()
    assert await runs.keep_up(NoFence()) == 1
    assert await runs.keep_up(NoFence()) == 0
    await sourcing.tenant.drain()
    (run, _), total = await runs.page(sourcing.id, source.id, skip=0, limit=10)
    assert (total, run.external_ids, run.state) == (2, ("a.txt", "b.txt"), RunState.SUCCEEDED)
    await runs.look_again(source, [f"{number}" for number in range(1001)])
    await sourcing.tenant.drain()
    (run, *_), _ = await runs.page(sourcing.id, source.id, skip=0, limit=10)
    assert (run.external_ids, run.trigger, run.counts.unchanged) == ((), RunTrigger.PUSH, 1)


async def test_export_has_text_address_and_metadata_and_no_formula(sourcing: Sourcing) -> None:
    sourcing.write("a.txt", '=HYPERLINK("http://x","y")\nSecond line, with a comma.')
    sourcing.write("b.txt", "A plain text.")
    source = await sourcing.source(metadata={"team": "ünits"})
    await sourcing.run(source)
    export = sourcing.tenant.services.ingestion.source_export
    written = {each: "".join([piece async for piece in export.pieces(source, each)]) for each in ExportFormat}
    rows = list(csv.DictReader(io.StringIO(written[ExportFormat.CSV], newline="")))
    assert [row["content"][:2] for row in rows] == ["'=", "A "]
    assert [row["source"] for row in rows] == ["a.txt", "b.txt"]
    listed = json.loads(written[ExportFormat.JSON])
    assert listed == [json.loads(line) for line in written[ExportFormat.NDJSON].splitlines()]
    assert listed[1] == {
        "content": "A plain text.",
        "source": "b.txt",
        "metadata": {"title": "b.txt", "team": "ünits"},
    }
    assert listed[0]["content"].startswith('=HYPERLINK("http://x","y")\n')
    assert json.loads(rows[1]["metadata"]) == listed[1]["metadata"]
    other = await sourcing.source(name="Empty", settings={"path": str(sourcing.folder / "none")})
    empty = ["".join([piece async for piece in export.pieces(other, each)]) for each in ExportFormat]
    assert (empty[0], json.loads(empty[1]), empty[2]) == ("content,source,metadata\r\n", [], "")
