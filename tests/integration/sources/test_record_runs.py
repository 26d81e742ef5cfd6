"""Question-answer pairs as a source: each is one chunk, and the hit has its label."""

import json
from io import BytesIO
from pathlib import Path

from openpyxl import Workbook

from analytiq.models.source import RunCounts
from analytiq.settings import SourceSettings
from tests.fakes.web_site import Served, WebSite
from tests.integration.conftest import Compose
from tests.integration.sources.conftest import Sourcing
from tests.integration.tenant import new_tenant

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


async def test_pairs_of_a_workbook_at_an_address_are_read_and_stay_current(
    compose_services: Compose, tmp_path: Path
) -> None:
    services = await compose_services(sources=SourceSettings(private_hosts=("127.0.0.1",)))
    sourcing = Sourcing(await new_tenant(services), tmp_path)
    with WebSite() as site:
        site.files["/faq"] = Served(_workbook(*PAIRS), "application/octet-stream")
        source = await sourcing.source(kind="qna", settings={"url": f"{site.url}/faq", "sheet": "faq"})
        assert (await sourcing.run(source)).counts == RunCounts(added=3)
        site.files["/faq"] = Served(_workbook({**PAIRS[0], "answer": "Gone."}, PAIRS[1]), "application/octet-stream")
        assert (await sourcing.run(source)).counts == RunCounts(changed=1, unchanged=1, removed=1)
    assert sorted(await sourcing.documents()) == [PAIRS[0]["question"], PAIRS[1]["question"]]


def _workbook(*pairs: dict[str, str]) -> bytes:
    book = Workbook()
    sheet = book.create_sheet("FAQ")
    sheet.append(list(PAIRS[0]))
    for pair in pairs:
        sheet.append(list(pair.values()))
    content = BytesIO()
    book.save(content)
    return content.getvalue()
