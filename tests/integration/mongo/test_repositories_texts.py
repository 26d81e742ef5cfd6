"""Extracted texts: staged, served, read in parts, removed."""

import pytest

from analytiq.errors import TransientError
from analytiq.models.text import DocumentText, PageSpan, ParsedPage, join_pages
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories import texts
from analytiq.storage.repositories.texts import TextRepository, text_hash
from analytiq.storage.transactions import run_in_transaction

SHORT = join_pages([ParsedPage(1, "Der Wal 🐋"), ParsedPage(2, ""), ParsedPage(3, "鯨は眠る")])


@pytest.fixture
def repository(migrated: MongoConnection) -> TextRepository:
    return TextRepository(migrated)


@pytest.fixture(params=["in the head", "in segments"])
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of storing, with texts of a few characters."""
    if request.param == "in segments":
        monkeypatch.setattr(texts, "HEAD_CHARACTERS", 0)
        monkeypatch.setattr(texts, "SEGMENT_CHARACTERS", 5)


@pytest.mark.usefixtures("small_parts")
async def test_every_part_of_a_text_can_be_read(repository: TextRepository) -> None:
    text_id, digest = await repository.stage("o", "d", SHORT)
    assert digest == text_hash(SHORT)
    assert await repository.read("o", text_id) == SHORT
    assert await repository.pages("o", text_id) == SHORT.pages
    for start in range(len(SHORT.text) + 1):
        for end in range(len(SHORT.text) + 1):
            assert await repository.read_range("o", text_id, start, end) == SHORT.text[start:end]
        assert await repository.read_beginning("o", text_id, start) == SHORT.beginning(start)


@pytest.mark.usefixtures("small_parts")
async def test_empty_text_is_a_text(repository: TextRepository) -> None:
    empty = DocumentText("", (PageSpan(1, 0, 0),))
    text_id, _ = await repository.stage("o", "d", empty)
    assert await repository.read("o", text_id) == empty


@pytest.mark.usefixtures("small_parts")
async def test_text_that_was_removed_meanwhile_asks_to_read_again(repository: TextRepository) -> None:
    text_id, _ = await repository.stage("o", "d", SHORT)
    await repository.delete("o", "d", text_id)
    for reading in (
        repository.read("o", text_id),
        repository.pages("o", text_id),
        repository.read_range("o", text_id, 0, 3),
    ):
        with pytest.raises(TransientError):
            await reading


async def test_text_of_another_organization_cannot_be_read(repository: TextRepository) -> None:
    text_id, _ = await repository.stage("o", "d", SHORT)
    with pytest.raises(TransientError):
        await repository.read("another", text_id)


async def states(migrated: MongoConnection) -> dict[str, str]:
    return {str(row["_id"]): row["state"] async for row in migrated.database["document_texts"].find({})}


async def test_served_text_replaces_the_one_before(repository: TextRepository, migrated: MongoConnection) -> None:
    (first, _), (second, _), (unserved, _) = [await repository.stage("o", "d", SHORT) for _ in range(3)]
    await run_in_transaction(migrated, lambda session: repository.serve(session, first, instead_of=None))
    await run_in_transaction(migrated, lambda session: repository.serve(session, second, instead_of=first))
    assert await states(migrated) == {first: "superseded", second: "current", unserved: "staging"}
    assert await repository.delete_superseded("o", "d") == 1
    await repository.delete_unless_served("o", "d", second)
    await repository.delete_unless_served("o", "d", unserved)
    assert await states(migrated) == {second: "current"}


async def test_what_dead_attempts_have_staged_is_removed_and_nothing_else(
    repository: TextRepository, migrated: MongoConnection
) -> None:
    (served, _), (_, _), (_, _) = [await repository.stage("o", "d", SHORT) for _ in range(3)]
    other, _ = await repository.stage("o", "another document", SHORT)
    await run_in_transaction(migrated, lambda session: repository.serve(session, served, instead_of=None))
    assert await repository.delete_staged("o", "d") == 2
    assert await states(migrated) == {served: "current", other: "staging"}


async def test_every_text_of_a_deleted_document_is_removed(
    repository: TextRepository, migrated: MongoConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "HEAD_CHARACTERS", 0)
    for document_id in ("d", "d", new_id()):
        await repository.stage("o", document_id, SHORT)
    await repository.delete_all("another", "d")
    assert await migrated.database["document_texts"].count_documents({}) == 3
    await repository.delete_all("o", "d")
    assert await migrated.database["document_texts"].count_documents({}) == 1
    assert await migrated.database["document_text_segments"].count_documents({"document_id": "d"}) == 0


def test_hash_tells_texts_and_places_of_pages_apart() -> None:
    same_text = DocumentText("abcd", (PageSpan(1, 0, 2), PageSpan(2, 2, 4)))
    other_pages = DocumentText("abcd", (PageSpan(1, 0, 3), PageSpan(2, 3, 4)))
    assert len({text_hash(text) for text in (SHORT, same_text, other_pages)}) == 3
    assert text_hash(same_text) == text_hash(DocumentText("abcd", same_text.pages))
