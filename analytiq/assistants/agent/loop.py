"""Makes the moves that `plan` decides, and records each before the next."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from analytiq import clock
from analytiq.assistants.agent.conversation import messages_of
from analytiq.assistants.agent.passages import bounded, numbers_of
from analytiq.assistants.agent.plan import Ask, CallTools, Correct, Fail, Finish, Spent, plan
from analytiq.assistants.agent.search_tool import NAME, SEARCH_TOOL, Refusal, read_call
from analytiq.assistants.prompts.answer_schemas import is_strict
from analytiq.errors import InvalidInputError, LeaseLostError, PermanentError
from analytiq.inference.llm.base import AnswerSchema, Message, Options, ToolCall, ToolChoice
from analytiq.inference.llm.service import ChatService, Purpose
from analytiq.inference.tokens import count_tokens, without_surrogates
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.organization import Organization
from analytiq.models.prompt import PromptConfiguration
from analytiq.models.prompt_run import PromptRun, RecordedCall, RunStep, StepKind
from analytiq.retrieval.filters.parser import parse_filter
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.search.request import SearchResult
from analytiq.retrieval.search.service import Search
from analytiq.storage.repositories.prompt_runs import PromptRunRepository
from analytiq.telemetry import metrics
from analytiq.telemetry.checkpoints import checkpoint
from analytiq.tenancy.metering.counting import counting_spus

log = structlog.get_logger(__name__)

MESSAGE_TOKENS = 8
"""Of what stands around a message, and of each tool's definition, roughly."""
MOST_RECORDED_BYTES = 8_000_000
"""Of a run's steps, before another is made: a row of MongoDB holds twice that, and one step less than half of it."""

MOST_REASONING = 100_000
"""Characters of a step that are kept of what the model thought."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What became of one call: its results, or why there are none."""

    call: RecordedCall
    milliseconds: int
    results: Sequence[SearchResult] = ()
    notes: tuple[str, ...] = ()
    spus: int = 0
    refusal: Refusal | None = None


class AgentLoop:
    """Runs a conversation to its end."""

    def __init__(self, chat: ChatService, search: Search, runs: PromptRunRepository) -> None:
        self._chat = chat
        self._search = search
        self._runs = runs

    async def run(
        self, organization: Organization, run: PromptRun, configuration: PromptConfiguration, first: Sequence[Message]
    ) -> tuple[PromptRun, Finish | Fail]:
        """Go on from the steps that the run has; returns it as it is then, and how it ends.

        Raises:
            LeaseLostError: the run was cancelled, or another worker goes on with it: nothing more may be spent.
            TransientError, QuotaExceededError: something passes; the run goes on later with what is recorded.
            NotFoundError: the knowledge base is gone.
            InvalidInputError, ProviderRefusedError: the model will not be asked, whatever is tried.
        """
        while True:
            messages = messages_of(first, run.steps)
            tokens = await asyncio.to_thread(_tokens_of, messages)
            spent = Spent(run.usage.tokens, run.usage.spus)
            move = plan(configuration, run.steps, spent, conversation_tokens=tokens)
            if isinstance(move, Ask) and await asyncio.to_thread(_recorded_bytes, run.steps) > MOST_RECORDED_BYTES:
                move = _TOO_LONG
            match move:
                case Ask():
                    run = await self._ask(organization, run, configuration, messages, move)
                case CallTools():
                    run = await self._call(organization, run, configuration, move)
                case Correct(text):
                    step = RunStep(kind=StepKind.CORRECTION, text=text, at=clock.now())
                    run = await self._recorded(run, [step])
                case Finish() | Fail():
                    return run, move

    async def _ask(
        self,
        organization: Organization,
        run: PromptRun,
        configuration: PromptConfiguration,
        messages: Sequence[Message],
        move: Ask,
    ) -> PromptRun:
        options = options_for(configuration, move)
        purpose = Purpose(LlmOperation.PROMPT, kb_id=configuration.kb_id, run_id=run.id)
        began = asyncio.get_running_loop().time()
        if move.may_search:
            # A model that may search asks to: what it is paid for that would be lost on a search that is not made.
            await self._search.require_spus(organization)
        await checkpoint("agent.asking")
        answer = await self._chat.complete(organization, messages, options, purpose, model=run.model)
        step = RunStep(
            kind=StepKind.MODEL,
            text=answer.text,
            reasoning=answer.reasoning[:MOST_REASONING],
            at=clock.now(),
            milliseconds=_since(began),
            tool_calls=tuple(_recorded(call) for call in answer.tool_calls),
            is_forced=not move.may_search,
            finish_reason=answer.finish_reason.value,
            prompt_tokens=answer.usage.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens,
            cost_usd=answer.cost_usd,
        )
        metrics.prompt_tokens.labels(direction="asked").inc(answer.usage.prompt_tokens)
        metrics.prompt_tokens.labels(direction="answered").inc(answer.usage.completion_tokens)
        await checkpoint("agent.answered")
        return await self._recorded(run, [step])

    async def _call(
        self, organization: Organization, run: PromptRun, configuration: PromptConfiguration, move: CallTools
    ) -> PromptRun:
        outcomes = await asyncio.gather(
            *(self._find(organization, configuration, call, move) for call in move.calls), return_exceptions=True
        )
        numbers = numbers_of(run.steps)
        found = [outcome for outcome in outcomes if isinstance(outcome, _Found)]
        steps = [await asyncio.to_thread(_step_of, item, move.tokens_each, numbers) for item in found]
        if steps:
            # What was found is paid for: where another call failed, only that one is made again.
            run = await self._recorded(run, steps)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        await checkpoint("agent.searched")
        return run

    async def _find(
        self, organization: Organization, configuration: PromptConfiguration, call: RecordedCall, move: CallTools
    ) -> _Found:
        began = asyncio.get_running_loop().time()
        if call.id in move.refused:
            return _Found(call, 0, refusal=Refusal(*move.refused[call.id]))
        wanted = read_call(call.name, call.arguments, scope=_scope_of(configuration))
        if isinstance(wanted, Refusal):
            return _Found(call, _since(began), refusal=wanted)
        if configuration.kb_id is None:
            return _Found(call, 0, refusal=Refusal("unknown_tool", "there are no tools in this task"))
        with counting_spus() as charged:
            try:
                answer = await self._search.search(organization, configuration.kb_id, wanted.request)
            except (InvalidInputError, PermanentError) as error:
                refusal = Refusal(error.code, error.detail)
                return _Found(call, _since(began), spus=charged.spus, refusal=refusal)
        notes = (*wanted.notes, *(f"{item.step}: {item.detail}" for item in answer.degraded))
        return _Found(call, _since(began), answer.results, notes, charged.spus)

    async def _recorded(self, run: PromptRun, steps: Sequence[RunStep]) -> PromptRun:
        recorded = await self._runs.add_steps(run, steps)
        if recorded is None:
            raise LeaseLostError(f"the run {run.id!r} was cancelled, or another worker goes on with it")
        return recorded


def options_for(configuration: PromptConfiguration, move: Ask) -> Options:
    """How the model is asked.

    The schema is given in the instructions always; to the provider only where no tool is offered, since several take
    either of the two, and only where it is one that strict mode takes.
    """
    has_tool = configuration.kb_id is not None
    schema = configuration.answer_schema
    is_enforced = schema is not None and not move.may_search and is_strict(schema)
    return Options(
        # In the last round too, with the choice of none: some providers refuse earlier calls of tools they do not see.
        tools=[SEARCH_TOOL] if has_tool else [],
        tool_choice=ToolChoice.AUTO if move.may_search else ToolChoice.NONE,
        answer_schema=AnswerSchema("answer", json.loads(schema)) if schema is not None and is_enforced else None,
        temperature=configuration.temperature,
        max_tokens=move.max_tokens,
    )


_TOO_LONG = Fail(
    "run_too_long", "the model has said and found more than a run can hold; ask for less, or lower `max_iterations`"
)


def _recorded_bytes(steps: Sequence[RunStep]) -> int:
    return sum(len(step.model_dump_json().encode()) for step in steps)


def _scope_of(configuration: PromptConfiguration) -> Filter:
    raw = configuration.metadata_filter
    return EVERYTHING if raw is None else parse_filter(json.loads(raw))


def _tokens_of(messages: Sequence[Message]) -> int:
    called = [call.arguments for message in messages for call in message.tool_calls]
    texts = [message.content for message in messages] + called
    tool = count_tokens(json.dumps(dict(SEARCH_TOOL.parameters)))
    return sum(count_tokens(without_surrogates(text)) + MESSAGE_TOKENS for text in texts) + tool


def _recorded(call: ToolCall) -> RecordedCall:
    return RecordedCall(id=call.id, name=call.name, arguments=call.arguments)


def _step_of(found: _Found, max_tokens: int, numbers: dict[tuple[str, int], int]) -> RunStep:
    refusal = found.refusal
    passages, left_out = bounded(found.results, max_tokens=max_tokens, numbers=numbers)
    notes = [*found.notes, *([f"{left_out} further passages did not fit"] if left_out else [])]
    if refusal is None and not passages:
        notes.append("nothing was found")
    return RunStep(
        kind=StepKind.TOOL,
        text=refusal.detail if refusal else "; ".join(notes),
        at=clock.now(),
        milliseconds=found.milliseconds,
        call_id=found.call.id,
        tool_name=found.call.name or NAME,
        error=refusal.code if refusal else None,
        passages=passages,
        spus=found.spus,
    )


def _since(began: float) -> int:
    return round((asyncio.get_running_loop().time() - began) * 1000)
