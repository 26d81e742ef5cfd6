"""Intents: each example utterance is one document, and with it one chunk; its metadata has the intent's label."""

from collections.abc import Iterator
from typing import ClassVar

from analytiq.ingestion.sources.systems.labelled.connector import LabelledText, RecordConnector, key_of
from analytiq.ingestion.sources.systems.labelled.records import Record, value_of

MOST_EXAMPLES = 10_000


class IntentsConnector(RecordConnector):
    """Intents of a text."""

    title: ClassVar[str] = "Intents"
    description: ClassVar[str] = (
        "Intents from CSV, JSON or JSON Lines with the fields label (or intent), and example, or examples as a list."
    )

    def texts_of(self, record: Record) -> Iterator[LabelledText]:
        """Yield the examples of an intent; label and example identify each."""
        label = value_of(record, "label", "intent")
        if not label:
            return
        listed = record.get("examples", record.get("utterances"))
        examples = [str(each).strip() for each in listed[:MOST_EXAMPLES]] if isinstance(listed, list) else []
        single = value_of(record, "example", "utterance", "text", "examples")
        distinct: dict[str, None] = dict.fromkeys([*examples, *([single] if single else [])])
        for example in distinct:
            if example:
                yield LabelledText(
                    key=key_of(label, example), title=example, text=example, metadata={"label": label[:500]}
                )
