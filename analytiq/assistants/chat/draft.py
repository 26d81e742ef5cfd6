"""The draft of an answer in the making."""

from collections.abc import Callable, Sequence

from analytiq.assistants.chat.marks import code_restored
from analytiq.assistants.engine.passages import numbered, numbers_of
from analytiq.models.chat import AnswerEnd, ChatCitation, ChatMessage, ChatStep, ChatUsage, StepKind
from analytiq.models.shown_passage import ShownPassage
from analytiq.retrieval.pipeline.request import SearchResult

MOST_REASONING = 100_000
"""Characters of reasoning that an answer stores."""


class Draft:
    """Collects an answer; calls `on_change` at each change."""

    def __init__(self, message: ChatMessage, on_change: Callable[[ChatMessage], None]) -> None:
        self._message = message
        self._on_change = on_change

    @property
    def message(self) -> ChatMessage:
        """Return the answer so far."""
        return self._message

    def add_text(self, text: str) -> None:
        """Append text to the answer."""
        if text:
            self._change(content=self._message.content + text)

    def add_reasoning(self, text: str) -> None:
        """Append text to the model's reasoning."""
        room = MOST_REASONING - len(self._message.reasoning)
        if text and room > 0:
            self._change(reasoning=self._message.reasoning + text[:room])

    def settle(self, begin: int, text: str) -> None:
        """Replace the text from `begin` on, after the end of a round corrected its stream."""
        if self._message.content[begin:] != text:
            self._change(content=self._message.content[:begin] + text)

    def restore_code(self) -> None:
        """Restore the brackets in code, which passages replace so that their own marks cite nothing."""
        restored = code_restored(self._message.content)
        if restored != self._message.content:
            self._change(content=restored)

    def end_by(self, ended_by: AnswerEnd) -> None:
        """Record how the model ended the answer."""
        self._change(ended_by=ended_by)

    def begin_round(self) -> None:
        """Separate a further round from the text before it."""
        if self._message.content and not self._message.content.endswith("\n"):
            self.add_text("\n\n")

    def add_call(self, call_id: str, name: str, arguments: str) -> None:
        """Record a tool call, made by the model or on its behalf."""
        step = ChatStep(
            kind=StepKind.TOOL_CALL, at=len(self._message.content), call_id=call_id, name=name, arguments=arguments
        )
        self._change(steps=(*self._message.steps, step))

    def number(self, results: Sequence[SearchResult]) -> list[ShownPassage]:
        """Return passages numbered to be cited; a chunk that was found before keeps its number and its content."""
        known = {passage.number: passage for passage in self._message.passages}
        passages = numbered(results, numbers_of(self._message.passages))
        return [known.get(passage.number, passage) for passage in passages]

    def add_passages(
        self,
        call_id: str,
        query: str,
        passages: Sequence[ShownPassage],
        *,
        notes: Sequence[str],
        error: str | None = None,
    ) -> None:
        """Record the passages of a call, or its error."""
        step = ChatStep(
            kind=StepKind.PASSAGES,
            at=len(self._message.content),
            call_id=call_id,
            query=query,
            numbers=tuple(passage.number for passage in passages),
            notes=tuple(notes),
            error=error,
        )
        merged = {passage.number: passage for passage in (*self._message.passages, *passages)}
        document_ids = dict.fromkeys((*self._message.document_ids, *(passage.document_id for passage in passages)))
        self._change(
            steps=(*self._message.steps, step),
            passages=tuple(merged[number] for number in sorted(merged)),
            document_ids=tuple(document_ids),
        )

    def name_question(self, question: str) -> None:
        """Record the question as searched."""
        self._change(question=question)

    def add_usage(self, usage: ChatUsage) -> None:
        """Add the usage of a call."""
        self._change(usage=self._message.usage + usage)

    def cite(self, citations: Sequence[ChatCitation]) -> None:
        """Record the citations of the answer."""
        self._change(citations=tuple(citations), is_grounded=bool(citations))

    def _change(self, **changes: object) -> None:
        self._message = self._message.model_copy(update=changes)
        self._on_change(self._message)
