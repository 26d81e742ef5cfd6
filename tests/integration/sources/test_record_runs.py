"""Question-answer pairs as a source: each is one chunk, and the hit has its label."""

import json

from analytiq.models.source import RunCounts
from tests.integration.sources.conftest import Sourcing

PAIRS = [
    {
        "id": str(number),
        "question": f"Where is the {thing} kept?",
        "answer": f"The {thing} is in {place}.",
        "label": label,
    }
    for number, (thing, place, label) in enumerate(
        [("ladder", "shed seven", "tools"), ("passport", "the safe", "papers"), ("kettle", "the kitchen", "house")]
    )
]


async def test_pair_is_one_chunk_and_its_label_is_returned_with_the_hit(sourcing: Sourcing) -> None:
    kb = await sourcing.tenant.knowledge_base(chunk_size=64)
    source = await sourcing.source(kind="qna", settings={"text": json.dumps(PAIRS)})
    assert (await sourcing.run(source)).counts == RunCounts(added=3)
    answer = await sourcing.tenant.search(kb.id, "Where is the passport kept?")
    texts = {result.content: result.metadata for result in answer.results}
    assert texts == {f"{pair['question']}\n\n{pair['answer']}": {"label": pair["label"]} for pair in PAIRS}
    assert answer.results[0].metadata == {"label": "papers"}
    edited = json.dumps([{**PAIRS[0], "answer": "Gone."}, PAIRS[1]])
    await sourcing.tenant.services.ingestion.sources.change(sourcing.id, source.id, {"settings": {"text": edited}})
    assert (await sourcing.run(source)).counts == RunCounts(changed=1, unchanged=1, removed=1)


async def test_pair_that_is_longer_than_a_chunk_is_one_chunk_with_its_label(sourcing: Sourcing) -> None:
    kb = await sourcing.tenant.knowledge_base(chunk_size=16, chunk_overlap=0)
    answer = "\n\n".join(f"Step {number}. Turn valve {number} until it stops." for number in range(40))
    pair = {"question": "How is the .csv pump emptied.csv", "answer": answer, "label": "pumps"}
    await sourcing.run(await sourcing.source(kind="qna", settings={"text": json.dumps([pair])}))
    (result,) = (await sourcing.tenant.search(kb.id, "valve 39")).results
    assert result.content == f"{pair['question']}\n\n{answer}"
    assert result.metadata == {"label": "pumps"}
