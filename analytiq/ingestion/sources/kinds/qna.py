"""Question-answer pairs: each is one document, and with it one chunk."""

from collections.abc import Iterator
from typing import ClassVar

from analytiq.ingestion.sources.systems.labelled.connector import LabelledText, RecordConnector, key_of
from analytiq.ingestion.sources.systems.labelled.records import Record, value_of


class QnaConnector(RecordConnector):
    """Question-answer pairs of a text."""

    title: ClassVar[str] = "Questions and answers"
    description: ClassVar[str] = (
        "Pairs from CSV, JSON or JSON Lines with the fields question, answer, and label or category, and id."
    )

    def texts_of(self, record: Record) -> Iterator[LabelledText]:
        """Yield the pair of a record. Without an id, the question identifies it."""
        question, answer = value_of(record, "question", "q"), value_of(record, "answer", "a")
        if not question or not answer:
            return
        label = value_of(record, "label", "category")
        yield LabelledText(
            key=value_of(record, "id")[:200] or key_of(question),
            title=question,
            text=f"{question}\n\n{answer}",
            metadata={"question": question[:500], **({"label": label[:500]} if label else {})},
        )
