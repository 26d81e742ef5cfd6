"""The loop of a model that calls tools; a recorder decides its moves and stores their outcomes."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from analytiq.assistants.engine.search_tool import Refusal, read_call
from analytiq.assistants.engine.table_tool import TABLE_TOOL, TableCall
from analytiq.errors import AnalytiqError, ConflictError, NotFoundError
from analytiq.inference.llm.base import AnswerSchema, Options, Tool, ToolCall, ToolChoice
from analytiq.retrieval.filters.tree import Filter
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResponse
from analytiq.tenancy.metering.counting import counting_spus

TOO_MANY_CALLS = "too_many_calls"


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model. Without `may_search` it must answer now; `max_tokens` bounds its answer."""

    may_search: bool
    max_tokens: int | None


@dataclass(frozen=True, slots=True)
class CallTools:
    """Make the tool calls of a round concurrently. `refused`: call id → reason for not making the call.

    `tokens_each`: room for the passages of one call; None leaves it to the recorder.
    """

    calls: tuple[ToolCall, ...]
    refused: Mapping[str, Refusal] = field(default_factory=dict[str, Refusal])
    tokens_each: int | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """End with an answer."""

    answer: str
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """End without an answer."""

    code: str
    detail: str


Move = Ask | CallTools | Finish | Fail


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a tool call: a search's response, or the refusal that goes back to the model.

    `notes` state the server's changes to the call.
    """

    call: ToolCall
    query: str = ""
    response: SearchResponse | None = None
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    table: TableCall | None = None
    spus: int = 0
    milliseconds: int = 0


class Recorder(Protocol):
    """The state of a conversation with a model: decides its moves and stores their outcomes."""

    @property
    def scope(self) -> Filter:
        """The filter on all searches; the model may narrow it, never widen it."""
        ...

    @property
    def refusable(self) -> tuple[type[AnalytiqError], ...]:
        """Errors of a search that are sent to the model; others end the loop."""
        ...

    async def next_move(self) -> Move:
        """Decide the next move from the recorded state."""
        ...

    async def ask(self, move: Ask) -> None:
        """Ask the model and record its answer."""
        ...

    async def search(self, request: SearchRequest) -> SearchResponse:
        """Search for the model."""
        ...

    async def ask_table(self, arguments: str) -> TableCall:
        """Call the tool for tables for the model."""
        ...

    def note_outcome(self, outcome: ToolOutcome) -> None:
        """Record the outcome of a call as soon as it arrives."""
        ...

    async def record_round(self, move: CallTools, outcomes: Sequence[ToolOutcome]) -> None:
        """Record a round's outcomes in the order of its calls; a failed call has none."""
        ...


async def run_to_end(recorder: Recorder) -> Finish | Fail:
    """Make the recorder's moves until one ends the conversation.

    Raises:
        AnalytiqError: the recorder, the model or a search failed, and the error is not sent to the model.
    """
    while True:
        move = await recorder.next_move()
        match move:
            case Ask():
                await recorder.ask(move)
            case CallTools():
                await _call(recorder, move)
            case Finish() | Fail():
                return move


def options_for(
    move: Ask,
    *,
    tool: Tool | None,
    more_tools: Sequence[Tool] = (),
    temperature: float | None,
    answer_schema: AnswerSchema | None = None,
) -> Options:
    """Return the options of one call of the model.

    The last round includes the tool with the choice `none`: some providers refuse earlier calls of tools
    missing from the request.
    """
    return Options(
        tools=[tool, *more_tools] if tool else [],
        tool_choice=ToolChoice.NONE if tool and not move.may_search else ToolChoice.AUTO,
        answer_schema=answer_schema,
        temperature=temperature,
        max_tokens=move.max_tokens,
    )


def refuse_beyond(calls: Sequence[ToolCall], most: int) -> dict[str, Refusal]:
    """Return a refusal for each call beyond the `most` calls of a round."""
    reason = Refusal(TOO_MANY_CALLS, f"At most {most} calls are made in a round. Ask for this one again if needed.")
    return {call.id: reason for call in calls[most:]}


def since(began: float) -> int:
    """Return the milliseconds since `began` on the event loop's clock."""
    return round((asyncio.get_running_loop().time() - began) * 1000)


async def _call(recorder: Recorder, move: CallTools) -> None:
    """Make the calls; if one fails, record the outcomes of the others first, since they are paid for."""
    made = await asyncio.gather(
        *(_outcome(recorder, call, move.refused.get(call.id)) for call in move.calls), return_exceptions=True
    )
    outcomes = [outcome for outcome in made if isinstance(outcome, ToolOutcome)]
    if outcomes:
        await recorder.record_round(move, outcomes)
    for outcome in made:
        if isinstance(outcome, BaseException):
            raise outcome


async def _outcome(recorder: Recorder, call: ToolCall, refusal: Refusal | None) -> ToolOutcome:
    if refusal is not None:
        outcome = ToolOutcome(call, refusal=refusal)
    elif call.name == TABLE_TOOL.name:
        outcome = await _asked_table(recorder, call)
    else:
        outcome = await _searched(recorder, call)
    recorder.note_outcome(outcome)
    return outcome


async def _asked_table(recorder: Recorder, call: ToolCall) -> ToolOutcome:
    began = asyncio.get_running_loop().time()
    try:
        table = await recorder.ask_table(call.arguments)
    except (*recorder.refusable, NotFoundError, ConflictError) as error:
        return ToolOutcome(call, refusal=Refusal(error.code, error.detail), milliseconds=since(began))
    return ToolOutcome(call, table.asked, table=table, milliseconds=since(began))


async def _searched(recorder: Recorder, call: ToolCall) -> ToolOutcome:
    began = asyncio.get_running_loop().time()
    read = read_call(call.name, call.arguments, scope=recorder.scope)
    if isinstance(read, Refusal):
        return ToolOutcome(call, refusal=read, milliseconds=since(began))
    response, refusal = None, None
    with counting_spus() as charged:
        try:
            response = await recorder.search(read.request)
        except recorder.refusable as error:
            refusal = Refusal(error.code, error.detail)
    return ToolOutcome(
        call, read.request.query, response, read.notes, refusal, spus=charged.spus, milliseconds=since(began)
    )
