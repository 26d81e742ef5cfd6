"""Intents: each example utterance is one document, and with it one chunk; its metadata has the intent's label."""

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

MOST_EXAMPLES = 10_000


class IntentsSettings(TableSettings):
    """The settings: a text or its address, and the columns of the intents."""

    label_column: str = column_field("label or intent")
    example_column: str = column_field("example, utterance or text; or examples, a list")


class IntentsConnector(RecordConnector):
    """Intents of a text."""

    title: ClassVar[str] = "Intents"
    description: ClassVar[str] = (
        "Intents from CSV, JSON, JSON Lines or a workbook (XLSX, XLS, ODS) with the fields label (or intent), and"
        " example, or examples as a list."
    )

    settings_schema: ClassVar[type[KindSchema]] = IntentsSettings

    def __init__(self, *, settings: KindSchema, credentials: KindSchema, context: SourceContext) -> None:
        super().__init__(settings=settings, credentials=credentials, context=context)
        chosen = IntentsSettings.model_validate(settings, from_attributes=True)
        self._label = names_of(chosen.label_column, "label", "intent")
        self._lists = names_of(chosen.example_column, "examples", "utterances")
        self._example = names_of(chosen.example_column, "example", "utterance", "text", "examples")

    @property
    def wanted_columns(self) -> Sequence[WantedColumn]:
        """See RecordConnector."""
        return (WantedColumn(self._label, "label_column"), WantedColumn(self._example, "example_column"))

    def texts_of(self, record: Record) -> Iterator[LabelledText]:
        """Yield the examples of an intent; label and example identify each."""
        label = value_of(record, *self._label)
        if not label:
            return
        listed = next((record[name] for name in self._lists if name in record), None)
        examples = [str(each).strip() for each in listed[:MOST_EXAMPLES]] if isinstance(listed, list) else []
        single = value_of(record, *self._example)
        distinct: dict[str, None] = dict.fromkeys([*examples, *([single] if single else [])])
        for example in distinct:
            if example:
                yield LabelledText(
                    key=key_of(label, example), title=example, text=example, metadata={"label": label[:500]}
                )
