"""The recorder of a run: every step is stored before the next, so that a run survives its worker."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from analytiq import clock
from analytiq.assistants.engine.loop import Ask, CallTools, Fail, Move, ToolOutcome, options_for, since
from analytiq.assistants.engine.passages import fit_tokens, numbered, numbers_of
from analytiq.assistants.engine.search_tool import NAME, SEARCH_TOOL, search_tool
from analytiq.assistants.engine.table_tool import TableCall, TableTool
from analytiq.assistants.prompts.answer_schemas import is_strict
from analytiq.assistants.prompts.conversation import messages_of
from analytiq.assistants.prompts.plan import RESULT_TOKENS, Correct, Spent, plan
from analytiq.errors import AnalytiqError, InvalidInputError, LeaseLostError, PermanentError
from analytiq.inference.llm.base import AnswerSchema, Message, Tool
from analytiq.inference.llm.service import ChatService, Purpose
from analytiq.inference.tokens import count_tokens, without_surrogates
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.organization import Organization
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import PromptRun, RecordedCall, RunStep, StepKind
from analytiq.models.shown_passage import ShownPassage
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResponse
from analytiq.retrieval.pipeline.search import Search
from analytiq.storage.repositories.prompt_runs import PromptRunRepository
from analytiq.telemetry import metrics
from analytiq.telemetry.checkpoints import checkpoint

MESSAGE_TOKENS = 8
"""Tokens around a message, and around each tool's definition, roughly."""
MOST_RECORDED_BYTES = 8_000_000
"""Most bytes of a run's steps before the next: a MongoDB row holds twice that, and one step takes less than half."""
MOST_REASONING = 100_000
"""Characters of the model's reasoning that a step stores."""
_TOO_LONG = Fail(
    "run_too_long", "the model has said and found more than a run can hold; ask for less, or lower `max_iterations`"
)


@dataclass(frozen=True, slots=True)
class RunServices:
    """The services that a run uses: chat models, search, and the collection of runs."""

    chat: ChatService
    search: Search
    tables: TableTool
    runs: PromptRunRepository


@dataclass(slots=True)
class RunRecorder:
    """A run as a recorder of the engine. `run` is its last stored state; `first` are its opening messages.

    Each move raises, beside errors of its own:
        LeaseLostError: the run was cancelled or another worker took over; nothing more may be spent.
    """

    services: RunServices
    organization: Organization
    run: PromptRun
    configuration: PromptConfiguration
    first: Sequence[Message]
    refusable: tuple[type[AnalytiqError], ...] = (InvalidInputError, PermanentError)

    @property
    def scope(self) -> Filter:
        """Return the filter that the prompt sets on all of its searches."""
        raw = self.configuration.metadata_filter
        return EVERYTHING if raw is None else parse_filter(json.loads(raw))

    async def _tool(self) -> Tool | None:
        kb_id = self.configuration.kb_id
        if kb_id is None:
            return None
        return search_tool(await self.services.search.index_types_of(self.organization.id, [kb_id]))

    async def next_move(self) -> Move:
        """Decide the next move from the recorded steps; fail a run that has outgrown its row before the next call."""
        move = await self._planned()
        while isinstance(move, Correct):
            await self._record([RunStep(kind=StepKind.CORRECTION, text=move.text, at=clock.now())])
            move = await self._planned()
        if isinstance(move, Ask) and await asyncio.to_thread(_recorded_bytes, self.run.steps) > MOST_RECORDED_BYTES:
            return _TOO_LONG
        return move

    async def ask(self, move: Ask) -> None:
        """Ask the model and record its answer."""
        configuration = self.configuration
        tool, kb_id = await self._tool(), configuration.kb_id
        more = await self.services.tables.tools(self.organization.id, [kb_id]) if tool and kb_id else ()
        options = options_for(
            move,
            tool=tool,
            more_tools=more,
            temperature=configuration.temperature,
            answer_schema=_enforced_schema(configuration, move),
        )
        purpose = Purpose(LlmOperation.PROMPT, kb_id=configuration.kb_id, run_id=self.run.id)
        began = asyncio.get_running_loop().time()
        if move.may_search:
            # A model with the search tool tends to search: without SPUs its call would be paid for in vain.
            await self.services.search.require_spus(self.organization)
        await checkpoint("agent.asking")
        messages = messages_of(self.first, self.run.steps)
        answer = await self.services.chat.complete(self.organization, messages, options, purpose, model=self.run.model)
        step = RunStep(
            kind=StepKind.MODEL,
            text=answer.text,
            reasoning=answer.reasoning[:MOST_REASONING],
            at=clock.now(),
            milliseconds=since(began),
            tool_calls=tuple(RecordedCall(id=it.id, name=it.name, arguments=it.arguments) for it in answer.tool_calls),
            is_forced=not move.may_search,
            finish_reason=answer.finish_reason.value,
            prompt_tokens=answer.usage.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens,
            cost_usd=answer.cost_usd,
        )
        metrics.prompt_tokens.labels(direction="asked").inc(answer.usage.prompt_tokens)
        metrics.prompt_tokens.labels(direction="answered").inc(answer.usage.completion_tokens)
        await checkpoint("agent.answered")
        await self._record([step])

    async def search(self, request: SearchRequest) -> SearchResponse:
        """Search the prompt's knowledge base."""
        if self.configuration.kb_id is None:
            raise InvalidInputError("This task has no tools.", code="unknown_tool")
        return await self.services.search.search(self.organization, self.configuration.kb_id, request)

    async def ask_table(self, arguments: str) -> TableCall:
        """Ask the tables of the prompt's knowledge base, within the prompt's filter."""
        kb_id, raw = self.configuration.kb_id, self.configuration.metadata_filter
        if kb_id is None:
            raise InvalidInputError("This task has no tools.", code="unknown_tool")
        scope = EVERYTHING
        if raw is not None:
            scope = await self.services.search.resolve_filter(self.organization, json.loads(raw))
        return await self.services.tables.call(self.organization.id, [kb_id], scope, arguments)

    def note_outcome(self, outcome: ToolOutcome) -> None:
        """Do nothing: the steps of a round are recorded together."""

    async def record_round(self, move: CallTools, outcomes: Sequence[ToolOutcome]) -> None:
        """Record the outcomes of a round as steps; calls without one are made again by the next attempt."""
        numbers = numbers_of(passage for step in self.run.steps for passage in step.passages)
        most = move.tokens_each or RESULT_TOKENS
        steps: list[RunStep] = []
        for outcome in outcomes:
            results = outcome.response.results if outcome.response is not None else ()
            if outcome.table is not None:
                results = outcome.table.rows
            shown = numbered(await asyncio.to_thread(fit_tokens, results, most), numbers)
            steps.append(_step_of(outcome, shown, left_out=len(results) - len(shown)))
        await self._record(steps)
        await checkpoint("agent.searched")

    async def _planned(self) -> Move | Correct:
        steps, usage = self.run.steps, self.run.usage
        tokens = await asyncio.to_thread(_tokens_of, messages_of(self.first, steps))
        return plan(self.configuration, steps, Spent(usage.tokens, usage.spus), conversation_tokens=tokens)

    async def _record(self, steps: Sequence[RunStep]) -> None:
        recorded = await self.services.runs.add_steps(self.run, steps)
        if recorded is None:
            raise LeaseLostError(f"The run {self.run.id!r} was cancelled, or another worker continues it.")
        self.run = recorded


def _enforced_schema(configuration: PromptConfiguration, move: Ask) -> AnswerSchema | None:
    """Return the schema that the provider has to enforce.

    The instructions always contain the schema. The provider receives it only without tools, since several accept
    only one of the two, and only if strict mode supports it.
    """
    schema = configuration.answer_schema
    if schema is None or move.may_search or not is_strict(schema):
        return None
    return AnswerSchema("answer", json.loads(schema))


def _recorded_bytes(steps: Sequence[RunStep]) -> int:
    return sum(len(step.model_dump_json().encode()) for step in steps)


def _tokens_of(messages: Sequence[Message]) -> int:
    called = [call.arguments for message in messages for call in message.tool_calls]
    texts = [message.content for message in messages] + called
    tool = count_tokens(json.dumps(dict(SEARCH_TOOL.parameters)))
    return sum(count_tokens(without_surrogates(text)) + MESSAGE_TOKENS for text in texts) + tool


def _step_of(outcome: ToolOutcome, shown: Sequence[ShownPassage], *, left_out: int) -> RunStep:
    refusal = outcome.refusal
    notes = list(outcome.notes)
    if outcome.response is not None:
        notes += [f"{item.step}: {item.detail}" for item in outcome.response.degraded]
    if outcome.table is not None:
        notes.append(outcome.table.told)
    if left_out:
        notes.append(f"{left_out} further passages did not fit")
    if refusal is None and not shown and outcome.table is None:
        notes.append("nothing was found")
    return RunStep(
        kind=StepKind.TOOL,
        text=refusal.detail if refusal else "; ".join(notes),
        at=clock.now(),
        milliseconds=outcome.milliseconds,
        call_id=outcome.call.id,
        tool_name=outcome.call.name or NAME,
        error=refusal.code if refusal else None,
        passages=tuple(shown),
        spus=outcome.spus,
    )
