"""Weights of the retrievers of a hybrid search, and their report in the answer."""

import pytest

from analytiq.inference.embedding.providers.local import LOCAL_MODEL
from analytiq.models.knowledge_base import KnowledgeBase
from analytiq.retrieval.pipeline.request import Fusion, Mode, SearchRequest
from tests.integration.tenant import Tenant

CONTRACTS = {
    "lease.txt": "يجوز للمستأجر إنهاء عقد الإيجار بعد ثلاثة أشهر من الإشعار الكتابي",
    "sale.txt": "يدفع المشتري ثمن البضاعة خلال ثلاثين يوما من تاريخ الفاتورة",
    "labour.txt": "تحدد ساعات العمل بثماني ساعات يوميا ولا يجوز تشغيل العامل أكثر منها",
    "loan.txt": "يسدد المقترض القرض على أقساط شهرية مع الفائدة المتفق عليها",
}


@pytest.fixture
async def kb(tenant: Tenant) -> KnowledgeBase:
    return await tenant.knowledge_base(embedding_model=LOCAL_MODEL, chunk_size=128)


@pytest.mark.parametrize("fusion", Fusion)
async def test_language_that_the_model_cannot_read_is_searched_by_its_words(
    tenant: Tenant, kb: KnowledgeBase, fusion: Fusion
) -> None:
    """Half and half, the Arabic answer lies behind what the English model takes for near."""
    for name, text in CONTRACTS.items():
        await tenant.document(name, text)
    for name, question in (("lease.txt", "متى يجوز إنهاء الإيجار؟"), ("loan.txt", "كيف يسدد القرض؟")):
        answer = await tenant.search(kb.id, question, fusion=fusion)
        assert answer.results[0].source == name
        assert answer.weights is not None
        assert answer.weights.vector < 0.05
        assert "words count for more" in answer.weights.reason


async def test_legs_count_alike_for_an_english_question(tenant: Tenant, kb: KnowledgeBase) -> None:
    await tenant.document("lease.txt", "The tenant may end the lease three months after a written notice.")
    answer = await tenant.search(kb.id, "When may the lease be ended by the tenant?")
    assert answer.weights is not None
    assert (answer.weights.vector, answer.weights.lexical) == (0.5, 0.5)


async def test_weight_that_is_asked_for_is_used_as_it_is(tenant: Tenant, kb: KnowledgeBase) -> None:
    for name, text in CONTRACTS.items():
        await tenant.document(name, text)
    question = "متى يجوز إنهاء الإيجار؟"
    answer = await tenant.search(kb.id, question, alpha=1.0)
    assert answer.weights is not None
    assert answer.weights.vector == 1.0
    by_vector = await tenant.search(kb.id, question, mode=Mode.VECTOR)
    assert [hit.document_id for hit in answer.results] == [hit.document_id for hit in by_vector.results]


async def test_model_that_does_not_tell_what_it_knows_counts_like_the_words(tenant: Tenant) -> None:
    kb = await tenant.knowledge_base()
    await tenant.document("lease.txt", CONTRACTS["lease.txt"])
    answer = await tenant.search(kb.id, "متى يجوز إنهاء الإيجار؟")
    assert answer.weights is not None
    assert answer.weights.vector == 0.5


async def test_one_leg_has_no_weights(tenant: Tenant, kb: KnowledgeBase) -> None:
    await tenant.document("lease.txt", "The tenant may end the lease.")
    for options in ({"mode": Mode.VECTOR}, {"mode": Mode.LEXICAL}):
        assert (await tenant.search(kb.id, "lease", **options)).weights is None
    assert (await tenant.search(kb.id, "zebra")).weights is None  # no word of it is anywhere


async def test_explanation_tells_the_weights_of_the_same_search(tenant: Tenant, kb: KnowledgeBase) -> None:
    documents = [await tenant.document(name, text) for name, text in CONTRACTS.items()]
    request = SearchRequest("كيف يسدد القرض؟")
    explained = await tenant.services.retrieval.explain.explain(tenant.organization, kb.id, documents[-1].id, request)
    searched = await tenant.services.retrieval.search.search(tenant.organization, kb.id, request)
    assert explained.weights is not None
    assert explained.weights == searched.weights
