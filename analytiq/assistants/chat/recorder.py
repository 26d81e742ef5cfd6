"""The recorder of an answer: it writes every move into a live draft, which readers follow."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from analytiq.assistants.chat import prompting
from analytiq.assistants.chat.draft import Draft
from analytiq.assistants.chat.saying import Said, Seam
from analytiq.assistants.engine.budget import LEAST_ANSWER_TOKENS, TokenBudget
from analytiq.assistants.engine.loop import (
    TOO_MANY_CALLS,
    Ask,
    CallTools,
    Finish,
    ToolOutcome,
    options_for,
    refuse_beyond,
)
from analytiq.assistants.engine.passages import fit_characters
from analytiq.assistants.engine.search_tool import NAME, search_tool
from analytiq.assistants.engine.table_tool import TableCall, TableTool
from analytiq.errors import AnalytiqError, InvalidInputError, QuotaExceededError, StoreLoadingError, TransientError
from analytiq.inference.llm.base import Completion, Message, Options, Role, TokenUsage, Tool
from analytiq.inference.llm.counting import CallCount, counting_calls, requiring_budget
from analytiq.inference.llm.litellm_chat import cost_usd
from analytiq.inference.llm.service import ChatService, Purpose, estimated_usage
from analytiq.models.chat import ChatThread, ChatUsage
from analytiq.models.llm_usage import LlmOperation
from analytiq.models.organization import Organization
from analytiq.models.shown_passage import ShownPassage
from analytiq.retrieval.filters.tree import EVERYTHING, Filter
from analytiq.retrieval.pipeline.request import SearchRequest, SearchResponse, Turn
from analytiq.retrieval.pipeline.search import Search
from analytiq.settings import ChatSettings
from analytiq.tenancy.metering.counting import counting_spus

FIRST_CALL_ID = "question"
TEMPERATURE = 0.1
MAX_CALLS_OF_ROUND = 4
"""Most searches that the model may request in one round."""
LOADING_WAIT_SECONDS = 30.0
"""Longest wait for a knowledge base to be loaded into memory."""
LOADING_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class AnswerServices:
    """The services that an answer uses."""

    chat: ChatService
    search: Search
    tables: TableTool
    settings: ChatSettings


@dataclass(slots=True)
class DraftRecorder:
    """An answer as a recorder of the engine.

    `max_rounds` bounds the calls of the model; the last one may not search. `seam`: the text that the first round
    continues, which models begin by repeating.
    """

    services: AnswerServices
    organization: Organization
    thread: ChatThread
    draft: Draft
    max_rounds: int
    seam: str = ""
    messages: list[Message] = field(default_factory=list[Message])
    completion: Completion = field(default_factory=lambda: Completion(""))
    scope: Filter = EVERYTHING
    refusable: tuple[type[AnalytiqError], ...] = (AnalytiqError,)
    """Errors sent to the model, including a lack of SPUs: already paid for, it answers from earlier passages."""
    _rounds: int = 0
    _are_calls_waiting: bool = False
    _told: dict[str, str] = field(default_factory=dict[str, str])
    """Call id → the result sent to the model, in the present round."""

    async def search_first(self, question: str, history: tuple[Turn, ...]) -> tuple[str, list[ShownPassage]]:
        """Search before the model is asked, so that models without tools answer from passages too.

        Returns:
            The question as it was searched for, and the passages.
        """
        self.draft.add_call(FIRST_CALL_ID, NAME, json.dumps({"query": question}, ensure_ascii=False))
        request = SearchRequest(query=question, top_k=self.thread.top_k, history=history, model=self.thread.model)
        response = await self.search(request)
        searched = response.generated_queries[0] if history and response.generated_queries else question
        self.draft.name_question(searched)
        return searched, self._show(FIRST_CALL_ID, searched, response)

    async def next_move(self) -> Ask | CallTools | Finish:
        """Decide the next move.

        Raises:
            QuotaExceededError: the thread's budget leaves no room for an answer.
        """
        calls = self.completion.tool_calls
        if self._are_calls_waiting:
            return CallTools(calls, refuse_beyond(calls, MAX_CALLS_OF_ROUND))
        if self._rounds and (not calls or self._rounds == self.max_rounds):
            return Finish(self.completion.text)
        asked = estimated_usage(self.messages, "").prompt_tokens
        used = self.draft.message.usage
        require_budget(self.thread, used, asked + LEAST_ANSWER_TOKENS)
        most = self.services.settings.max_answer_tokens
        left = _budget(self.thread, used).left_after(asked)
        return Ask(
            may_search=self.thread.searches_again and self._rounds + 1 < self.max_rounds,
            max_tokens=most if left is None else min(most, left),
        )

    async def ask(self, move: Ask) -> None:
        """Stream the model's answer into the draft."""
        if self._rounds:
            self.draft.begin_round()
        tool = await self._tool()
        more = await self.services.tables.tools(self.organization.id, self.thread.kb_ids) if tool else ()
        options = options_for(move, tool=tool, more_tools=more, temperature=TEMPERATURE)
        completion = self.completion = await self._stream(options)
        self._rounds += 1
        if completion.tool_calls and self._rounds < self.max_rounds:
            self._are_calls_waiting = True
            self.messages.append(Message(Role.ASSISTANT, completion.text, completion.tool_calls))
            for call in completion.tool_calls[:MAX_CALLS_OF_ROUND]:
                self.draft.add_call(call.id, call.name, call.arguments)

    async def _tool(self) -> Tool | None:
        if not self.thread.searches_again:
            return None
        return search_tool(await self.services.search.index_types_of(self.organization.id, self.thread.kb_ids))

    async def search(self, request: SearchRequest) -> SearchResponse:
        """Search the thread's knowledge bases within its budget, and count the use in the draft."""
        thread = self.thread
        wanted = replace(request, score_threshold=thread.score_threshold, include=thread.include)
        with counting_spus() as charged, counting_calls() as made, requiring_budget(self._require_for(made)):
            try:
                return await self._search_loaded(wanted)
            finally:
                if charged.spus:
                    self.draft.add_usage(ChatUsage(spus=charged.spus))
                # A model rewords the question before the search.
                for call in made.calls:
                    self.draft.add_usage(_usage(call.usage, call.cost_usd))

    async def ask_table(self, arguments: str) -> TableCall:
        """Ask the tables of the thread's knowledge bases."""
        if not self.thread.searches_again:
            raise InvalidInputError("This conversation has no tools.", code="unknown_tool")
        return await self.services.tables.call(self.organization.id, self.thread.kb_ids, EVERYTHING, arguments)

    def note_outcome(self, outcome: ToolOutcome) -> None:
        """Write a call's outcome into the draft, so that readers see it at once."""
        call, refusal, response = outcome.call, outcome.refusal, outcome.response
        if response is not None:
            passages = self._show(call.id, outcome.query, response, outcome.notes)
            self._told[call.id] = prompting.found_text(outcome.query, passages, outcome.notes)
        elif outcome.table is not None:
            passages = self.draft.number(outcome.table.rows)
            self.draft.add_passages(call.id, outcome.query, passages, notes=[outcome.table.told])
            self._told[call.id] = prompting.table_text(outcome.table.told, passages)
        elif refusal is not None:
            self._told[call.id] = f"Error ({refusal.code}): {refusal.detail}"
            if refusal.code != TOO_MANY_CALLS:
                self.draft.add_passages(call.id, outcome.query, (), notes=(), error=refusal.detail)

    async def record_round(self, move: CallTools, outcomes: Sequence[ToolOutcome]) -> None:
        """Send a result for every call to the model: providers refuse the next request otherwise."""
        told = [Message(Role.TOOL, self._told[item.call.id], tool_call_id=item.call.id) for item in outcomes]
        self.messages += told
        self._told.clear()
        self._are_calls_waiting = False

    def _show(
        self, call_id: str, query: str, response: SearchResponse, notes: Sequence[str] = ()
    ) -> list[ShownPassage]:
        passages = self.draft.number(fit_characters(response.results, prompting.PASSAGES_CHARACTERS))
        degraded = [f"without {item.step}: {item.detail}" for item in response.degraded]
        self.draft.add_passages(call_id, query, passages, notes=[*notes, *degraded])
        return passages

    async def _search_loaded(self, request: SearchRequest) -> SearchResponse:
        """Search, and wait for vectors that are still being loaded."""
        deadline = asyncio.get_running_loop().time() + LOADING_WAIT_SECONDS
        while True:
            try:
                return await self.services.search.search_several(self.organization, self.thread.kb_ids, request)
            except StoreLoadingError as error:
                pause = error.retry_after or LOADING_PAUSE_SECONDS
                if asyncio.get_running_loop().time() + pause > deadline:
                    raise
                await asyncio.sleep(pause)

    async def _stream(self, options: Options) -> Completion:
        """Ask the model and stream its text into the draft; estimate and count the usage of an interrupted call."""
        thread, model, draft = self.thread, self.draft.message.model, self.draft
        purpose = Purpose(LlmOperation.CHAT, thread.kb_ids[0] if len(thread.kb_ids) == 1 else None, thread.id)
        said = Said(draft, Seam("" if self._rounds else self.seam))
        stream = self.services.chat.stream(self.organization, self.messages, options, purpose, model=model)
        is_answered = False
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    if not isinstance(event, Completion):
                        said.add(event)
                        continue
                    said.settle(event)
                    draft.add_usage(_usage(event.usage, event.cost_usd))
                    is_answered = True
                    return event
        except asyncio.CancelledError:
            draft.add_usage(self._cut_usage(said.everything))
            raise
        except AnalytiqError:
            if said.everything and not is_answered:
                draft.add_usage(self._cut_usage(said.everything))
            raise
        raise TransientError(
            "The provider closed the stream before the response was complete. Try again.", code="stream_cut"
        )

    def _cut_usage(self, text: str) -> ChatUsage:
        model = self.draft.message.model
        used = estimated_usage(self.messages, text)
        return _usage(used, cost_usd(model, used) if model is not None else None)

    def _require_for(self, made: CallCount) -> Callable[[int], None]:
        """Return a budget check for calls within a search; the draft does not yet include those in `made`."""

        def require(tokens: int) -> None:
            used = self.draft.message.usage
            for call in made.calls:
                used += _usage(call.usage, call.cost_usd)
            require_budget(self.thread, used, tokens + LEAST_ANSWER_TOKENS)

        return require


def require_budget(thread: ChatThread, used: ChatUsage, more_tokens: int) -> None:
    """Refuse a call that would take the thread beyond its budget.

    Raises:
        QuotaExceededError: code `budget_exceeded`.
    """
    budget = _budget(thread, used)
    if not budget.allows(more_tokens):
        raise QuotaExceededError(
            f"The thread has used {budget.used} of its {budget.limit} tokens, and the next call needs about"
            f" {more_tokens}. Raise its token_budget, or begin another thread.",
            code="budget_exceeded",
        )


def _budget(thread: ChatThread, used: ChatUsage) -> TokenBudget:
    return TokenBudget(thread.token_budget, thread.usage.tokens + used.tokens)


def _usage(usage: TokenUsage, cost_usd: float | None) -> ChatUsage:
    return ChatUsage(
        calls=1,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=cost_usd or 0.0,
        unpriced_calls=int(cost_usd is None),
        is_estimated=usage.is_estimated,
    )
