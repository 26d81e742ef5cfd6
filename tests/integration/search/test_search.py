"""Search from question to passage on a real mongod."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from analytiq.errors import InvalidInputError, NotFoundError
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.backends.local.backend import LocalReader
from analytiq.retrieval.filters.tree import And, BuiltInField, Comparator, Comparison, Filter, In, MetadataField
from analytiq.retrieval.pipeline.request import Mode, SearchResult
from analytiq.storage.client import MongoConnection
from analytiq.storage.ids import new_id
from analytiq.storage.repositories.texts import TextRepository
from tests.fakes.embedding_server import EmbeddingServer
from tests.integration.tenant import Tenant, new_tenant, prose

DOCUMENTS = Path(__file__).parents[2] / "data" / "documents"


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    return await tenant.knowledge_base()


def only(document_id: str) -> Filter:
    return In(BuiltInField.DOCUMENT_ID, (document_id,))


async def test_best_match_comes_first_and_says_where_it_is_from(tenant: Tenant, kb: KnowledgeBase) -> None:
    await tenant.document("birds.txt", prose("birds", 20))
    document = await tenant.document("whales.txt", prose("whales", 20))
    question = "Sentence number 7 tells of whales in the year 1007"
    answer = await tenant.search(kb.id, question, top_k=3, mode=Mode.VECTOR)
    best = answer.results[0]
    assert (best.document_id, best.source, best.chunk_index) == (document.id, "whales.txt", 7)
    assert best.is_matched
    assert "whales in the year 1007" in best.content
    relevances = [result.relevance for result in answer.results]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)
    assert answer.total_count == 40


async def test_a_small_chunk_is_found_and_its_section_answered(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(chunker_type="section", chunk_size=128, chunk_overlap=0)
    oil = " ".join(f"In week {week} pour fresh oil into the valve of the pump." for week in range(8))
    steps = "\n\n".join(
        f"Step {step}: turn the screw number {step} of the pump's lid by hand." for step in range(1, 25)
    )
    text = f"# Pump\n\nAbout the pump.\n\n## Oil\n\n{oil}\n\n## Seals\n\n{steps}\n\n## Storage\n\nKeep it dry."
    await tenant.document("pump.md", text)
    answer = await tenant.search(kb.id, "Step 7: turn the screw number 7", top_k=1, include_section=True)
    (best,) = answer.results
    assert "number 7 " in best.content
    assert "number 1 " not in best.content
    assert best.section is not None
    assert best.section.heading_path[-1] == "Seals"
    assert all(f"number {step} " in best.section.content for step in range(1, 25))
    assert best.section.start <= best.start < best.end <= best.section.end
    without = await tenant.search(kb.id, "Step 7: turn the screw number 7", top_k=1)
    assert without.results[0].section is None


@pytest.mark.parametrize("chunker_type", ["token", "recursive", "sentence", "word"])
async def test_offsets_and_pages_are_exact(tenant: Tenant, chunker_type: str) -> None:
    """In a PDF of two pages, and in text whose bytes, code units and characters are of different numbers."""
    kb = await tenant.knowledge_base(chunker_type=chunker_type)
    paper = await tenant.upload("paper.pdf", (DOCUMENTS / "pdf" / "multi-column-2p.pdf").read_bytes())
    whales = await tenant.upload("wale.txt", "Der Wal 🐋 schläft. 鯨は眠る。 " * 40)
    await tenant.drain()
    results = await all_results(tenant, kb)
    pages_seen: set[int] = set()
    for uploaded in (paper, whales):
        document = await tenant.services.ingestion.documents.get(tenant.id, uploaded.document.id)
        text = await TextRepository(tenant.services.connection).read(tenant.id, document.text_id or "")
        own = [result for result in results if result.document_id == document.id]
        assert sorted(result.chunk_index for result in own) == list(range(len(own)))
        for result in own:
            assert text.text[result.start : result.end] == result.content
            touched = [page.page_number for page in text.pages if page.start < result.end and result.start < page.end]
            assert [result.first_page, result.last_page] == [touched[0], touched[-1]]
            pages_seen.update(touched)
    assert pages_seen == {1, 2}


async def all_results(tenant: Tenant, kb: KnowledgeBase) -> list[SearchResult]:
    results: list[SearchResult] = []
    while True:
        answer = await tenant.search(kb.id, "retrieval", top_k=100, skip=len(results))
        results += answer.results
        if len(results) == answer.total_count:
            return results


async def test_neighbours_stand_beside_their_match_and_are_marked(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("whales.txt", prose("whales", 20))
    question = "Sentence number 7 tells of whales in the year 1007"
    answer = await tenant.search(kb.id, question, top_k=1, coalesce_neighbors=2)
    assert [result.chunk_index for result in answer.results] == [5, 6, 7, 8, 9]
    assert [result.is_matched for result in answer.results] == [False, False, True, False, False]
    assert {result.document_id for result in answer.results} == {document.id}
    everything = await tenant.search(kb.id, question, top_k=100)
    own = {result.chunk_index: result.relevance for result in everything.results}
    for result in answer.results:
        assert result.relevance == pytest.approx(own[result.chunk_index], abs=1e-6)


async def test_knowledge_bases_own_number_of_neighbours_holds_unless_the_search_names_one(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(coalesce_neighbors=1)
    await tenant.document("whales.txt", prose("whales", 20))
    question = "Sentence number 7 tells of whales in the year 1007"
    assert len((await tenant.search(kb.id, question, top_k=1)).results) == 3
    assert len((await tenant.search(kb.id, question, top_k=1, coalesce_neighbors=0)).results) == 1


async def test_neighbours_never_cross_into_another_document(tenant: Tenant, kb: KnowledgeBase) -> None:
    first = await tenant.document("a.txt", prose("whales", 2))
    await tenant.document("b.txt", prose("birds", 2))
    answer = await tenant.search(kb.id, "whales", top_k=1, coalesce_neighbors=5)
    assert {result.document_id for result in answer.results} == {first.id}
    assert len(answer.results) == 2


async def test_pages_of_results_do_not_overlap_and_leave_nothing_out(tenant: Tenant, kb: KnowledgeBase) -> None:
    """Twelve documents hold the same sentences, so that every relevance occurs twelve times."""
    for number in range(12):
        await tenant.document(f"{number}.txt", prose("whales", 5), metadata={"number": number})
    shown: list[tuple[str, int]] = []
    relevances: list[float] = []
    for skip in range(0, 63, 7):
        answer = await tenant.search(kb.id, "whales in the year 1003", top_k=7, skip=skip)
        assert answer.total_count == 60
        shown += [(result.document_id, result.chunk_index) for result in answer.results]
        relevances += [result.relevance for result in answer.results]
    assert len(shown) == len(set(shown)) == 60
    assert all(earlier >= later for earlier, later in pairwise(relevances))


async def test_page_beyond_the_limit_is_refused(tenant: Tenant, kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidInputError, match="skip"):
        await tenant.search(kb.id, "whales", skip=9_999)


async def test_filter_that_one_document_of_many_passes_finds_it(tenant: Tenant, kb: KnowledgeBase) -> None:
    """It is the last that the question would come upon, so that a filter on the best hits would lose it."""
    for number in range(15):
        await tenant.upload(f"{number}.txt", prose("whales", 30, first=30 * number))
    odd = (await tenant.upload("odd.txt", prose("birds", 4), metadata={"kind": "odd"})).document
    await tenant.drain()
    kind = Comparison(MetadataField(("kind",)), Comparator.EQUAL, "odd")
    answer = await tenant.search(kb.id, "whales", top_k=5, filter=kind)
    assert {result.document_id for result in answer.results} == {odd.id}
    assert (len(answer.results), answer.total_count) == (4, 4)
    assert (await tenant.search(kb.id, "whales", filter=And((kind, only(new_id()))))).total_count == 0


async def test_no_document_allowed_is_nothing_found_and_nothing_embedded(
    tenant: Tenant, kb: KnowledgeBase, embedding_server: EmbeddingServer
) -> None:
    await tenant.document("a.txt", prose("whales", 3))
    calls = embedding_server.calls
    answer = await tenant.search(kb.id, "a question never asked", filter=In(BuiltInField.DOCUMENT_ID, ()))
    assert (answer.results, answer.total_count) == ((), 0)
    assert embedding_server.calls == calls


async def test_hits_of_documents_that_left_are_made_up_for(tenant: Tenant, kb: KnowledgeBase) -> None:
    """Far more of them, and all nearer to the question, than the search has asked for."""
    left = [(await tenant.upload(f"{number}.txt", prose("whales", 40))).document for number in range(5)]
    stays = (await tenant.upload("stays.txt", prose("birds", 3))).document
    await tenant.drain()
    for document in left:
        await tenant.services.ingestion.documents.delete(tenant.id, document.id)
    answer = await tenant.search(kb.id, "Sentence tells of whales", top_k=3)
    assert [result.document_id for result in answer.results] == [stays.id] * 3


async def test_knowledge_base_without_documents_answers_with_nothing(tenant: Tenant, kb: KnowledgeBase) -> None:
    answer = await tenant.search(kb.id, "whales")
    assert (answer.results, answer.total_count) == ((), 0)


async def test_knowledge_base_of_another_organization_is_unknown(tenant: Tenant, kb: KnowledgeBase) -> None:
    stranger = await new_tenant(tenant.services)
    with pytest.raises(NotFoundError):
        await stranger.search(kb.id, "whales")
    for identifier in (new_id(), "no id", ""):
        with pytest.raises(NotFoundError):
            await tenant.search(identifier, "whales")


async def test_renamed_document_is_cited_by_its_new_name_at_once(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("a.txt", prose("whales", 3))
    await tenant.services.ingestion.documents.change(tenant.id, document.id, document_name="b.txt")
    assert (await tenant.search(kb.id, "whales")).results[0].source == "b.txt"


async def test_every_search_asks_anew_whether_a_hit_may_be_shown(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    """The mirror is not told: a hit whose index entry is gone, or names another generation, is not shown."""
    first = await tenant.document("a.txt", prose("whales", 3))
    second = await tenant.document("b.txt", prose("whales", 3, first=10))
    assert len(await tenant.found(kb.id, "whales")) == 2
    await migrated.database["document_index"].delete_one({"document_id": first.id})
    assert await tenant.found(kb.id, "whales") == [second.id]
    await migrated.database["document_index"].update_one(
        {"document_id": second.id}, {"$set": {"generation_id": new_id()}}
    )
    assert await tenant.found(kb.id, "whales") == []


async def test_passage_found_again_is_not_read_again_and_is_shown_only_while_it_is_current(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    await tenant.document("a.txt", prose("whales", 3))
    first = await tenant.search(kb.id, "whales")
    await migrated.database.command("profile", 2)
    try:
        again = await tenant.search(kb.id, "whales")
    finally:
        await migrated.database.command("profile", 0)
    commands = [row async for row in migrated.database["system.profile"].find({"op": {"$in": ["query", "command"]}})]
    await migrated.database["system.profile"].drop()
    read = {row["ns"].split(".", 1)[1] for row in commands}
    assert "document_index" in read
    assert f"kb_vectors_{kb.id}" not in read
    assert again.results == first.results
    await tenant.replace("a.txt", prose("birds", 3))
    await tenant.drain()
    replaced = await tenant.search(kb.id, "whales")
    assert replaced.results
    assert {result.content for result in replaced.results}.isdisjoint(result.content for result in first.results)


async def test_local_model_that_needs_no_key_finds_by_meaning(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base(embedding_model="local/all-minilm-l6-v2", chunk_size=64)
    await tenant.document("pets.txt", "The cat sleeps on the warm sofa all afternoon.")
    await tenant.document("tax.txt", "Value added tax is due at the end of each quarter.")
    answer = await tenant.search(kb.id, "a kitten taking a nap on the couch", top_k=2)
    assert [result.source for result in answer.results] == ["pets.txt", "tax.txt"]
    assert answer.results[0].relevance > answer.results[1].relevance + 0.1


async def test_whatever_a_search_decides_by_is_read_at_majority(
    tenant: Tenant, kb: KnowledgeBase, migrated: MongoConnection
) -> None:
    """A commit is visible to plain reads some milliseconds before a majority holds it, and the epoch with it.

    An entry read in between names vectors that the epoch does not bring yet: the document was found by neither.
    """
    document = await tenant.document("whales.txt", prose("whales", 20))
    await migrated.database.command("profile", 2)
    try:
        answer = await tenant.search(kb.id, "whales", filter=only(document.id), top_k=1)
    finally:
        await migrated.database.command("profile", 0)
    assert answer.results
    read_concerns: dict[str, set[str]] = {}
    reads = {"$or": [{"op": "query"}, {"command.aggregate": {"$exists": True}}]}
    async for row in migrated.database["system.profile"].find(reads):
        command = row["command"]
        level = command.get("readConcern", {}).get("level", "local")
        stages = command.get("pipeline", [])
        joined = [stage["$lookup"]["from"] for stage in stages if "$lookup" in stage]
        joined += [stage["$unionWith"]["coll"] for stage in stages if "$unionWith" in stage]
        for collection in (row["ns"].split(".", 1)[1], *joined):
            read_concerns.setdefault(collection, set()).add(level)
    await migrated.database["system.profile"].drop()
    deciding = {name: read_concerns[name] for name in ("knowledge_bases", "kb_epochs", "docs", "document_index")}
    assert all(levels <= {"majority", "snapshot"} for levels in deciding.values()), deciding


async def test_threshold_loses_nothing_that_reaches_it_behind_what_words_put_first(
    tenant: Tenant, kb: KnowledgeBase
) -> None:
    for subject in ("whales", "birds", "boats"):
        await tenant.document(f"{subject}.txt", prose(subject, 20))
    question = "birds in the year 1007 quite plainly"
    ranked = (await tenant.search(kb.id, question, top_k=60)).results
    assert [item.relevance for item in ranked] != sorted((item.relevance for item in ranked), reverse=True)
    threshold = sorted(item.relevance for item in ranked)[30]
    expected = [(item.document_id, item.chunk_index) for item in ranked if item.relevance >= threshold]
    for wanted in (3, 20, 60):
        answer = await tenant.search(kb.id, question, top_k=wanted, score_threshold=threshold)
        assert [(item.document_id, item.chunk_index) for item in answer.results] == expected[:wanted]


async def test_retriever_that_fails_in_a_way_that_nobody_foresaw_leaves_the_other(
    tenant: Tenant, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tenant.document("whales.txt", prose("whales", 3))

    async def broken(*_: object, **__: object) -> None:
        raise ValueError("secret words of a library")

    monkeypatch.setattr(LocalReader, "keyword_search", broken)
    answer = await tenant.search(kb.id, "whales")
    assert answer.results
    assert [(lacking.step, lacking.code) for lacking in answer.degraded] == [("lexical", "internal_error")]
    assert "secret" not in answer.degraded[0].detail


@pytest.mark.parametrize("is_first", [True, False])
async def test_document_that_comes_between_the_retrievers_is_found_whole_or_not_yet(
    tenant: Tenant, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> None:
    if not is_first:
        await tenant.document("birds.txt", prose("birds", 3))
    text = prose("whales", 3) + "\nNothing else."
    keyword_search, has_committed = LocalReader.keyword_search, False

    async def commit_first(reader: LocalReader, *arguments: Any, **options: Any) -> Any:
        nonlocal has_committed
        if not has_committed:
            has_committed = True
            await tenant.document("whales.txt", text)
        return await keyword_search(reader, *arguments, **options)

    async def passages() -> str:
        answer = await tenant.search(kb.id, "in which year", top_k=100)
        assert not answer.degraded
        found = [result for result in answer.results if result.source == "whales.txt"]
        return "".join(result.content for result in sorted(found, key=lambda item: item.chunk_index))

    monkeypatch.setattr(LocalReader, "keyword_search", commit_first)
    whole = "".join(text.split())
    # Chunks come without the space between them.
    assert "".join((await passages()).split()) in ("", whole)
    assert "".join((await passages()).split()) == whole
