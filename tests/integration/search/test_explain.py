"""Explanations of a document's place in a search: each stage at which it may fail, on real rows."""

import pytest

from analytiq.errors import NotFoundError
from analytiq.models.document import Document
from analytiq.models.job import JobKind
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.filters.rendering import render_filter
from analytiq.retrieval.filters.tree import BuiltInField, Comparator, Comparison, Filter, MetadataField
from analytiq.retrieval.pipeline.explain import Explanation, Stage
from analytiq.retrieval.pipeline.request import Mode, SearchRequest
from analytiq.storage.ids import new_id
from tests.integration.tenant import Tenant, new_tenant, prose

QUESTION = "Sentence number 7 tells of whales in the year 1007"


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    return await tenant.knowledge_base()


async def explained(tenant: Tenant, kb: KnowledgeBase, document: Document, **options: object) -> Explanation:
    request = SearchRequest(QUESTION, **{"mode": Mode.VECTOR, **options})  # type: ignore[arg-type]
    return await tenant.services.retrieval.explain.explain(tenant.organization, kb.id, document.id, request)


def last(explanation: Explanation) -> tuple[Stage, bool]:
    judgement = explanation.judgements[-1]
    return judgement.stage, judgement.is_passed


async def test_document_that_is_found_passes_every_stage_and_shows_its_place(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("whales.txt", prose("whales", 20))
    explanation = await explained(tenant, kb, document, score_threshold=0.1)
    assert explanation.is_found
    assert explanation.place == 1
    assert all(judgement.is_passed for judgement in explanation.judgements)
    assert [judgement.stage for judgement in explanation.judgements] == list(Stage)
    assert explanation.passages[0].chunk_index == 7
    found = await tenant.search(kb.id, QUESTION, mode=Mode.VECTOR)
    assert found.results[0].document_id == document.id


async def test_document_without_a_shared_tag_fails_there(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("whales.txt", prose("whales", 3))
    await tenant.set_tags(document, [])
    explanation = await explained(tenant, kb, document)
    assert last(explanation) == (Stage.TAGGED, False)
    assert not explanation.is_found


async def test_document_that_waits_for_its_extraction_fails_there(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = (await tenant.upload("whales.txt", prose("whales", 3))).document
    explanation = await explained(tenant, kb, document)
    assert last(explanation) == (Stage.EXTRACTED, False)
    assert "not extracted yet" in explanation.judgements[-1].detail


async def test_document_that_waits_to_be_indexed_says_why(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = (await tenant.upload("whales.txt", prose("whales", 3))).document
    runner = tenant.services.jobs.new_runner()
    extract = await tenant.services.repositories.jobs.claim(
        [JobKind.EXTRACT], worker="w", lease_token=new_id(), lease_seconds=30.0
    )
    assert extract is not None
    await runner._run_job(extract)
    explanation = await explained(tenant, kb, document)
    assert last(explanation) == (Stage.INDEXED, False)
    assert "enqueued" in explanation.judgements[-1].detail


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (Comparison(BuiltInField.DOCUMENT_NAME, Comparator.EQUAL, "other.txt"), "document_name $eq 'other.txt'"),
        (Comparison(MetadataField(("year",)), Comparator.GREATER, 2020), "metadata.year $gt 2020"),
    ],
)
async def test_document_that_the_filter_leaves_out_names_the_condition(
    tenant: Tenant, kb: KnowledgeBase, tree: Filter, told: str
) -> None:
    document = await tenant.document("whales.txt", prose("whales", 3))
    explanation = await explained(tenant, kb, document, filter=tree)
    assert last(explanation) == (Stage.FILTER, False)
    assert told in explanation.judgements[-1].detail
    assert render_filter(tree) == told


async def test_document_below_the_threshold_says_by_how_much(tenant: Tenant, kb: KnowledgeBase) -> None:
    document = await tenant.document("birds.txt", prose("birds", 1, first=900))
    explanation = await explained(tenant, kb, document, score_threshold=0.999)
    assert last(explanation) == (Stage.THRESHOLD, False)
    assert "0.99" in explanation.judgements[-1].detail or "1.00" in explanation.judgements[-1].detail


async def test_document_that_only_repeats_another_says_so(tenant: Tenant, kb: KnowledgeBase) -> None:
    first = await tenant.document("a.txt", prose("whales", 5))
    second = await tenant.document("b.txt", prose("whales", 5))
    found = {document.id: await explained(tenant, kb, document) for document in (first, second)}
    assert sorted(explanation.is_found for explanation in found.values()) == [False, True]
    repeated = next(explanation for explanation in found.values() if not explanation.is_found)
    assert last(repeated) == (Stage.NOT_REPEATED, False)
    both = [await explained(tenant, kb, document, deduplicate=False) for document in (first, second)]
    assert all(explanation.is_found for explanation in both)


async def test_document_that_others_outrank_names_its_place(tenant: Tenant, kb: KnowledgeBase) -> None:
    await tenant.document("whales.txt", prose("whales", 20))
    document = await tenant.document("birds.txt", "Something else entirely: teapots, harbours, and a ladder.")
    explanation = await explained(tenant, kb, document, top_k=3)
    assert last(explanation) == (Stage.RANKED, False)
    assert explanation.place is not None
    assert explanation.place > 3
    assert f"number {explanation.place}" in explanation.judgements[-1].detail
    deeper = await explained(tenant, kb, document, skip=explanation.place - 1, top_k=1)
    assert deeper.is_found


async def test_another_organizations_document_is_not_there(tenant: Tenant, kb: KnowledgeBase) -> None:
    other = await new_tenant(tenant.services)
    theirs = await other.document("whales.txt", prose("whales", 3))
    with pytest.raises(NotFoundError):
        await explained(tenant, kb, theirs)
    with pytest.raises(NotFoundError):
        await tenant.services.retrieval.explain.explain(tenant.organization, kb.id, new_id(), SearchRequest(QUESTION))
