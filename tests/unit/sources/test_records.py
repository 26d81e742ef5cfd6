"""Question-answer pairs and intents: each record is one item with its label."""

import json
from collections.abc import Mapping

import pytest
from pydantic import JsonValue

from analytiq.errors import InvalidInputError
from analytiq.ingestion.documents.naming import validated_name
from analytiq.ingestion.sources.base import ListedItem
from analytiq.settings import SourceSettings
from tests.contract.made_sources import opening

CSV = 'Question;Answer;Category\n"Is it ""open""?";"Yes;\nfrom nine.";Hours\n=cmd|x;No;\nNo answer?;;x\n'


async def items_of(kind: str, text: str, columns: Mapping[str, str] | None = None) -> list[ListedItem]:
    connector = opening(kind, {"text": text, **(columns or {})}, SourceSettings())()
    return [item async for batch in connector.list_changes(None) for item in batch.items]


async def text_of(kind: str, text: str, item: ListedItem) -> str:
    connector = opening(kind, {"text": text}, SourceSettings())()
    fetched = await connector.fetch(item)
    return b"".join([block async for block in fetched.content]).decode()


async def test_pairs_of_csv_have_question_answer_and_label() -> None:
    items = {str(item.metadata["question"]): item for item in await items_of("qna", CSV)}
    assert items.keys() == {'Is it "open"?', "=cmd|x"}
    item = items['Is it "open"?']
    assert item.metadata == {"question": 'Is it "open"?', "label": "Hours"}
    assert await text_of("qna", CSV, item) == 'Is it "open"?\n\nYes;\nfrom nine.'
    assert "label" not in items["=cmd|x"].metadata


PAIRS: list[JsonValue] = [{"id": number, "question": f"Q{number}?", "answer": "A"} for number in (1, 2)]


@pytest.mark.parametrize(
    "text", [json.dumps(PAIRS), json.dumps({"faq": PAIRS}), "\n".join(json.dumps(pair) for pair in PAIRS)]
)
async def test_pairs_of_json_keep_their_id_when_the_question_changes(text: str) -> None:
    before = await items_of("qna", text)
    after = await items_of("qna", text.replace("Q1?", "Edited?"))
    assert [item.external_id for item in after] == [item.external_id for item in before] == ["1", "2"]
    assert [a.version == b.version for a, b in zip(after, before, strict=True)] == [False, True]


async def test_columns_are_chosen_by_settings_whatever_their_case() -> None:
    csv = "Frage,Antwort,Thema,Nr,label\nWann?,Um neun.,Zeiten,7,x\n"
    columns = {"question_column": " frage", "answer_column": "ANTWORT", "label_column": "Thema", "id_column": "Nr"}
    (item,) = await items_of("qna", csv, columns)
    assert (item.external_id, item.metadata) == ("7", {"question": "Wann?", "label": "Zeiten"})
    assert await items_of("qna", csv, {"question_column": "question", "answer_column": "Antwort"}) == []
    intents = json.dumps([{"name": "greet", "says": ["hi", "hello"], "label": "x"}, {"name": "bye", "says": "ciao"}])
    items = await items_of("intents", intents, {"label_column": "Name", "example_column": "Says"})
    assert sorted((item.name, item.metadata["label"]) for item in items) == [
        ("ciao", "bye"),
        ("hello", "greet"),
        ("hi", "greet"),
    ]


async def test_each_example_of_an_intent_has_its_label() -> None:
    text = json.dumps([{"intent": "greet", "examples": ["hi", "hello", "hi"]}, {"label": "bye", "example": "ciao"}])
    items = await items_of("intents", text)
    assert sorted((item.name, item.metadata["label"]) for item in items) == [
        ("ciao", "bye"),
        ("hello", "greet"),
        ("hi", "greet"),
    ]


async def test_names_are_those_of_documents_whatever_the_question_has() -> None:
    text = json.dumps(
        [{"question": "../a/b\\c\u202e\n?" + "x" * 500, "answer": "A"}, {"question": "..", "answer": "A"}]
    )
    for item in await items_of("qna", text):
        assert validated_name(item.name) == item.name
        assert not set("/\\\u202e") & set(item.name)
        assert len(item.name) <= 80
        assert item.name not in ("..", ".")


@pytest.mark.parametrize("text", ["[1]", '[{"question": NaN}]', "{" * 5000, '"a\n"b', '[{"a": 1}, []]'])
async def test_other_texts_are_refused_or_have_no_items(text: str) -> None:
    connector = opening("qna", {"text": text}, SourceSettings())()
    with pytest.raises(InvalidInputError):
        await connector.check()


async def test_description_of_an_api_is_one_item() -> None:
    for text, name in (("openapi: 3.1.0\n", "openapi.yaml"), ('{"openapi": "3.1.0"}', "openapi.json")):
        (item,) = await items_of("openapi", text)
        assert item.name == name
        assert await text_of("openapi", text, item) == text
