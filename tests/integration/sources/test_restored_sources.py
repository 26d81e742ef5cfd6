"""Sources of an organization that comes back from a backup."""

import pytest

from analytiq.models.source import RunCounts, Source
from tests.integration.backup.archiving import archive_of, lose, restore_from
from tests.integration.sources.conftest import Sourcing


async def furnished(sourcing: Sourcing) -> Source:
    """A scheduled source with credentials, of which two files are taken in."""
    await sourcing.tenant.knowledge_base()
    sourcing.write("moth.txt", "Moths fly at night.")
    sourcing.write("newt.txt", "Newts swim in spring.")
    source = await sourcing.source(interval_seconds=86_400)
    assert (await sourcing.run(source)).counts == RunCounts(added=2)
    await seal(sourcing, "sealed")
    return source


async def seal(sourcing: Sourcing, credentials: str | None) -> None:
    """Set the encrypted credentials, which the folder needs none of."""
    rows = sourcing.tenant.services.connection.database["sources"]
    await rows.update_one({"organization_id": sourcing.id}, {"$set": {"credentials": credentials}})


async def rows_of(sourcing: Sourcing, organization_id: str) -> list[Source]:
    page, _ = await sourcing.tenant.services.ingestion.sources.page(organization_id, name_search=None, skip=0, limit=10)
    return page


@pytest.mark.parametrize("is_whole", [True, False], ids=["everything", "one organization"])
async def test_restored_source_knows_what_it_has_taken_in(sourcing: Sourcing, is_whole: bool) -> None:
    await furnished(sourcing)
    (before,) = await rows_of(sourcing, sourcing.id)
    connection = sourcing.tenant.services.connection
    archive, _ = await archive_of(connection, None if is_whole else [sourcing.id])
    await lose(connection, sourcing.id)
    await restore_from(connection, archive, organization_ids=(sourcing.id,))
    (restored,) = await rows_of(sourcing, sourcing.id)
    assert restored.credentials == ("sealed" if is_whole else None)
    assert restored.next_run_at is not None
    anew = {"credentials", "next_run_at"}
    assert restored.model_dump(exclude=anew) == before.model_dump(exclude=anew)
    await seal(sourcing, None)
    sourcing.write("moth.txt", "Moths sleep by day.", at=1_800_000_000)
    assert (await sourcing.run(restored)).counts == RunCounts(changed=1, unchanged=1)
    assert sorted(await sourcing.documents()) == ["moth.txt", "newt.txt"]


async def test_source_of_a_copy_has_neither_schedule_nor_credentials(sourcing: Sourcing) -> None:
    source = await furnished(sourcing)
    connection = sourcing.tenant.services.connection
    archive, _ = await archive_of(connection, None)
    (restored,) = await restore_from(connection, archive, organization_ids=(sourcing.id,), is_fresh=True, name="Copy")
    (copied,) = await rows_of(sourcing, restored.organization_id)
    assert copied.id != source.id
    assert (copied.credentials, copied.interval_seconds, copied.next_run_at) == (None, None, None)
    assert copied.tag_ids != source.tag_ids
    items = connection.database["source_items"]
    theirs = await items.find({"organization_id": restored.organization_id}).to_list()
    assert {row["source_id"] for row in theirs} == {copied.id}
    documents = await connection.database["docs"].distinct("_id", {"organization_id": restored.organization_id})
    assert {row["document_id"] for row in theirs} == set(map(str, documents))
