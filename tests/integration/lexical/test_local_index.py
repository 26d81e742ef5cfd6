"""The index of words on a real mongod: as fresh as every commit, over restarts, damage, rivals and any question."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytiq.errors import NotFoundError
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.backends.base import KeywordHit
from analytiq.retrieval.backends.local.keywords.store import LocalLexicalIndex
from analytiq.retrieval.filters.selection import (
    AllOf,
    AnyOf,
    ChunkFilter,
    DocumentSet,
    Outside,
    PageComparison,
    PageIn,
    Selection,
    contains,
)
from analytiq.retrieval.filters.tree import EVERYTHING, Comparator
from analytiq.storage.client import MongoConnection
from analytiq.storage.repositories.epochs import EpochRepository
from analytiq.storage.repositories.index_contents import IndexContentRepository, IndexReading
from tests.integration.tenant import Tenant, prose


class CountsBuilds(IndexContentRepository):
    """The real repository, which counts how often everything was read."""

    builds = 0

    def reading(self, organization_id: str, kb_id: str):  # type: ignore[no-untyped-def]
        counting = self
        reading = super().reading(organization_id, kb_id)

        class Counted:
            async def __aenter__(self) -> IndexReading | None:
                at = await reading.__aenter__()
                if at is not None:
                    texts = at.texts

                    def counted(generation_ids):  # type: ignore[no-untyped-def]
                        counting.builds += generation_ids is None
                        return texts(generation_ids)

                    at.texts = counted  # type: ignore[method-assign]
                return at

            async def __aexit__(self, *error: object) -> bool | None:
                return await reading.__aexit__(*error)  # type: ignore[arg-type]

        return Counted()


class Library:
    """A knowledge base, and indexes of its words that stand for processes."""

    def __init__(self, tenant: Tenant, kb: KnowledgeBase, connection: MongoConnection, root: Path) -> None:
        self.tenant, self.kb, self.connection, self.root = tenant, kb, connection, root
        self.opened: list[LocalLexicalIndex] = []
        self.texts = CountsBuilds(connection)

    def open(self, root: Path | None = None) -> LocalLexicalIndex:
        index = LocalLexicalIndex(self.texts, root or self.root, disk_bytes=2**30, build_wait_seconds=30.0)
        self.opened.append(index)
        return index

    async def ask(
        self, index: LocalLexicalIndex, question: str, *, limit: int = 50, selection: Selection | None = None
    ) -> list[KeywordHit]:
        epoch = await EpochRepository(self.connection).read(self.kb.id)
        assert epoch is not None
        chunk_filter = None if selection is None else ChunkFilter(EVERYTHING, selection)
        return await index.search(self.kb, epoch, question, limit=limit, chunk_filter=chunk_filter)

    async def documents(self, index: LocalLexicalIndex, question: str) -> set[str]:
        return {hit.document_id for hit in await self.ask(index, question)}


@pytest.fixture
async def library(tenant: Tenant, migrated: MongoConnection, tmp_path: Path) -> AsyncIterator[Library]:
    library = Library(tenant, await tenant.knowledge_base(), migrated, tmp_path / "words")
    yield library
    for index in library.opened:
        await index.close()


async def test_every_commit_and_removal_is_seen_by_the_next_question(library: Library) -> None:
    index = library.open()
    assert await library.ask(index, "whales") == []
    whales = await library.tenant.document("a.txt", prose("whales", 3))
    birds = await library.tenant.document("b.txt", prose("birds", 3))
    assert await library.documents(index, "whale") == {whales.id}
    await library.tenant.replace("a.txt", prose("boats", 2))
    await library.tenant.drain()
    assert await library.documents(index, "whale") == set()
    assert await library.documents(index, "boats") == {whales.id}
    await library.tenant.services.ingestion.documents.delete(library.tenant.id, birds.id)
    await library.tenant.drain()
    assert await library.documents(index, "birds") == set()
    assert library.texts.builds == 1


async def test_restart_goes_on_from_the_files_and_reads_what_changed_only(library: Library) -> None:
    first = library.open()
    whales = await library.tenant.document("a.txt", prose("whales", 3))
    assert await library.documents(first, "whales") == {whales.id}
    await first.close()
    birds = await library.tenant.document("b.txt", prose("birds", 3))
    second = library.open()
    assert await library.documents(second, "birds") == {birds.id}
    assert await library.documents(second, "whales") == {whales.id}
    assert library.texts.builds == 1


async def test_restored_database_of_another_history_is_read_anew(library: Library) -> None:
    index = library.open()
    whales = await library.tenant.document("a.txt", prose("whales", 3))
    assert await library.documents(index, "whales") == {whales.id}
    epochs = library.connection.database["kb_epochs"]
    await epochs.update_many({}, {"$set": {"commit_id": "of another history"}})
    assert await library.documents(index, "whales") == {whales.id}
    assert library.texts.builds == 2


async def test_deleted_knowledge_base_leaves_no_word_on_the_disk_whoever_has_it_open(library: Library) -> None:
    await library.tenant.document("a.txt", "an unheard-of word: zxqv")
    index = library.open()
    before = await EpochRepository(library.connection).read(library.kb.id)
    assert before is not None
    assert await library.ask(index, "zxqv")
    other = library.open()
    await library.tenant.services.ingestion.knowledge_bases.delete(library.tenant.id, library.kb.id)
    other.forget(library.kb.id)
    await other.close()
    assert [path for path in library.root.rglob("*") if library.kb.id in str(path)] == []
    later = before.model_copy(update={"epoch": before.epoch + 1, "commit_id": "later"})
    with pytest.raises(NotFoundError):
        await index.search(library.kb, later, "zxqv", limit=5, chunk_filter=None)


async def test_searches_that_come_at_once_share_one_build(library: Library) -> None:
    await library.tenant.document("a.txt", prose("whales", 30))
    index = library.open()
    answers = await asyncio.gather(*(library.ask(index, "whales") for _ in range(10)))
    assert all(answer == answers[0] for answer in answers)
    assert library.texts.builds == 1


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The invoice INV-2024/00123 is open.", "INV-2024/00123"),
        ("The invoice INV-2024/00123 is open.", "00123"),
        ("Ask jo@example.org about it.", "jo@example.org"),
        ("東京都の規則", "京都"),
        ("東京都の規則", "都"),
        ("Die Kündigungsfrist beträgt dreißig Tage.", "kundigungsfristen"),
        ("القِطَّةُ السوداء", "القطة"),
        ("สวัสดีครับ", "สวัสดี"),
    ],
)
async def test_words_are_found_in_every_script(library: Library, text: str, question: str) -> None:
    await library.tenant.document("other.txt", prose("whales", 5))
    document = await library.tenant.document("a.txt", text)
    hits = await library.ask(library.open(), question)
    assert hits[0].document_id == document.id


async def test_code_that_is_whole_comes_before_those_that_share_its_parts(library: Library) -> None:
    for number in range(5):
        await library.tenant.document(f"{number}.txt", f"INV-2024/0012{number} and 00123 of 2024, inv")
    wanted = await library.tenant.document("w.txt", "See INV-2024/00123 for the whole of it.")
    # 3 is the fourth of the others, which has the very same code.
    hits = await library.ask(library.open(), "INV-2024/00123")
    assert {hits[0].document_id, hits[1].document_id} >= {wanted.id}


leaves: st.SearchStrategy[Selection] = st.one_of(
    st.builds(DocumentSet, st.frozensets(st.sampled_from(["0", "1", "2", "9"]))),
    st.builds(
        PageComparison,
        st.sampled_from([item for item in Comparator if item is not Comparator.NOT_EQUAL]),
        st.sampled_from([-1, 0, 1, 2, 3, 10**19]),
    ),
    st.builds(PageIn, st.lists(st.integers(0, 3), max_size=2).map(tuple)),
)
selections: st.SearchStrategy[Selection] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Outside, inner),
    ),
    max_leaves=6,
)


def named(selection: Selection, ids: list[str]) -> Selection:
    """The selection with real documents for the numbers."""
    match selection:
        case DocumentSet(numbers):
            return DocumentSet(
                frozenset(ids[int(number)] if int(number) < len(ids) else "f" * 24 for number in numbers)
            )
        case AllOf(operands):
            return AllOf(tuple(named(operand, ids) for operand in operands))
        case AnyOf(operands):
            return AnyOf(tuple(named(operand, ids) for operand in operands))
        case Outside(operand):
            return Outside(named(operand, ids))
        case _:
            return selection


async def test_every_selection_finds_exactly_what_a_plain_reading_of_it_gives(library: Library) -> None:
    ids = [(await library.tenant.document(f"{number}.txt", prose("whales", 4))).id for number in range(3)]
    index = library.open()
    everything = {(hit.document_id, hit.chunk_index) for hit in await library.ask(index, "whales")}
    assert len(everything) == 12
    drawn: list[Selection] = []

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
    @given(selections)
    def draw(selection: Selection) -> None:
        drawn.append(named(selection, ids))

    draw()
    for selection in drawn:
        expected = {key for key in everything if contains(selection, key[0], 1, 1, chunk_index=key[1])}
        hits = await library.ask(index, "whales", selection=selection)
        assert {(hit.document_id, hit.chunk_index) for hit in hits} == expected, selection


async def test_any_question_is_answered_and_none_is_a_query_language(library: Library) -> None:
    await library.tenant.document("a.txt", prose("whales", 3))
    index = library.open()
    questions: list[str] = ["whales AND NOT whales", 'words:"whales"', "whales^1000000", "(", "*", "\x00", "a" * 50_000]

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
    @given(st.text(max_size=60))
    def draw(question: str) -> None:
        questions.append(question)

    draw()
    for question in questions:
        hits = await library.ask(index, question)
        assert all(hit.score > 0 for hit in hits)
    assert len(await library.ask(index, "whales AND NOT whales")) == 3


async def test_ties_are_in_order_of_document_and_chunk_and_limits_are_kept(library: Library) -> None:
    for number in range(4):
        await library.tenant.document(f"{number}.txt", "the very same words")
    index = library.open()
    hits = await library.ask(index, "same words")
    keys = [(hit.document_id, hit.chunk_index) for hit in hits]
    assert keys == sorted(keys)
    assert len(keys) == 4
    assert [(hit.document_id, hit.chunk_index) for hit in await library.ask(index, "same words", limit=2)] == keys[:2]
