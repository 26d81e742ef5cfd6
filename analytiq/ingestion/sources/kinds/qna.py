"""Question-answer pairs: each is one document, and with it one chunk."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from analytiq.ingestion.sources.base import KindSchema, SourceContext
from analytiq.ingestion.sources.systems.labelled.connector import (
    LabelledText,
    RecordConnector,
    TableSettings,
    column_field,
    key_of,
    names_of,
)
from analytiq.ingestion.sources.systems.labelled.records import Record, value_of
from analytiq.ingestion.sources.systems.labelled.workbooks import WantedColumn


class QnaSettings(TableSettings):
    """The settings: a text or its address, and the columns of the pairs."""

    question_column: str = column_field("question or q")
    answer_column: str = column_field("answer or a")
    label_column: str = column_field("label or category")
    id_column: str = column_field("id")


class QnaConnector(RecordConnector):
    """Question-answer pairs of a text."""

    title: ClassVar[str] = "Questions and answers"
    description: ClassVar[str] = (
        "Pairs from CSV, JSON, JSON Lines or a workbook (XLSX, XLS, ODS) with the fields question, answer, and label or"
        " category, and id."
    )
    settings_schema: ClassVar[type[KindSchema]] = QnaSettings

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        super().__init__(settings=settings, credentials=credentials, context=context)
        chosen = QnaSettings.model_validate(settings, from_attributes=True)
        self._question = names_of(chosen.question_column, "question", "q")
        self._answer = names_of(chosen.answer_column, "answer", "a")
        self._label = names_of(chosen.label_column, "label", "category")
        self._id = names_of(chosen.id_column, "id")

    @property
    def wanted_columns(self) -> Sequence[WantedColumn]:
        """See RecordConnector."""
        return (WantedColumn(self._question, "question_column"), WantedColumn(self._answer, "answer_column"))

    def texts_of(self, record: Record) -> Iterator[LabelledText]:
        """Yield the pair of a record. Without an id, the question identifies it."""
        question, answer = value_of(record, *self._question), value_of(record, *self._answer)
        if not question or not answer:
            return
        label = value_of(record, *self._label)
        yield LabelledText(
            key=value_of(record, *self._id)[:200] or key_of(question),
            title=question,
            text=f"{question}\n\n{answer}",
            metadata={"question": question[:500], **({"label": label[:500]} if label else {})},
        )
