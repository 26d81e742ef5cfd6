"""Sources of labelled records: question-answer pairs and intents, in a file at an address."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from analytiq.ingestion.sources.base import ListedItem
from analytiq.settings import SourceSettings
from tests.contract.made_sources import Made, opening
from tests.fakes.web_site import Served, WebSite


@dataclass(frozen=True, slots=True)
class MadePairs(Made):
    """Pairs whose answers are the contents."""

    def name_of(self, item: ListedItem) -> str:
        return item.external_id

    def text_of(self, content: bytes) -> bytes:
        return content.partition(b"\n\n")[2]


@dataclass(frozen=True, slots=True)
class MadeIntents(Made):
    """Intents whose only examples are the contents."""

    def name_of(self, item: ListedItem) -> str:
        return str(item.metadata["label"])


def _made(
    kind: str, made: type[Made], record: Callable[[str, str], dict[str, JsonValue]]
) -> Callable[[ExitStack, Path], Made]:
    def make(stack: ExitStack, _: Path) -> Made:
        site = stack.enter_context(WebSite())
        records: dict[str, dict[str, JsonValue]] = {}

        def change(name: str, content: str) -> None:
            records[name] = record(name, content)
            site.files["/records.json"] = Served(json.dumps(list(records.values())).encode(), "application/json")

        operator = SourceSettings(private_hosts=("127.0.0.1",))
        return made(kind, opening(kind, {"url": f"{site.url}/records.json"}, operator), change)

    return make


RECORDS = {
    "qna": _made("qna", MadePairs, lambda name, content: {"id": name, "question": f"{name}?", "answer": content}),
    "intents": _made("intents", MadeIntents, lambda name, content: {"label": name, "examples": [content]}),
}
